import asyncio
import json

SUPPORTED = ["2025-06-18", "2025-03-26"]
TYPES = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: type(v) is int,
    "number": lambda v: type(v) in (int, float),
    "boolean": lambda v: type(v) is bool,
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


class ToolError(Exception):
    pass


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Server:
    def __init__(self, name, version):
        self.name, self.version = name, version
        self.registry = {}

    def tool(self, name, description, schema, handler):
        if name in self.registry:
            raise ValueError(name)
        self.registry[name] = (description, schema, handler)

    async def serve(self, read, write):
        state = {"ready": False}
        running = {}
        outbox = asyncio.Queue()
        main = asyncio.current_task()
        failure = []

        async def pump():
            while (line := await outbox.get()) is not None:
                try:
                    await write(line)
                except Exception as error:
                    failure.append(error)
                    main.cancel()
                    return

        def answer(number, **what):
            outbox.put_nowait(json.dumps({"jsonrpc": "2.0", "id": number, **what}))

        def fail(number, code, message):
            answer(number, error={"code": code, "message": message})

        async def invoke(number, handler, arguments):
            try:
                try:
                    value = await handler(arguments)
                    text = value if isinstance(value, str) else json.dumps(value, allow_nan=False)
                    failed = False
                except ToolError as error:
                    text, failed = str(error), True
                running.pop(number, None)
                answer(number, result={"content": [{"type": "text", "text": text}], "isError": failed})
            except Exception:
                running.pop(number, None)
                fail(number, -32603, "internal error")
            finally:
                running.pop(number, None)

        def dispatch(number, method, params):
            if number in running:
                raise RpcError(-32600, "id in use")
            if method == "ping":
                return {}
            if method == "initialize":
                if state["ready"]:
                    raise RpcError(-32600, "already initialized")
                if (
                    type(params.get("protocolVersion")) is not str
                    or type(params.get("capabilities")) is not dict
                    or type(params.get("clientInfo")) is not dict
                ):
                    raise RpcError(-32602, "bad initialize")
                state["ready"] = True
                version = params["protocolVersion"]
                return {
                    "protocolVersion": version if version in SUPPORTED else SUPPORTED[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": self.name, "version": self.version},
                }
            if not state["ready"]:
                raise RpcError(-32602, "not initialized")
            if method == "tools/list":
                return {
                    "tools": [
                        {"name": n, "description": d, "inputSchema": s} for n, (d, s, _) in self.registry.items()
                    ]
                }
            if method == "tools/call":
                name, arguments = params.get("name"), params.get("arguments", {})
                if not isinstance(name, str) or name not in self.registry:
                    raise RpcError(-32602, "no such tool")
                if not isinstance(arguments, dict):
                    raise RpcError(-32602, "arguments must be an object")
                _, schema, handler = self.registry[name]
                validate(arguments, schema)
                running[number] = asyncio.create_task(invoke(number, handler, arguments))
                return None
            raise RpcError(-32601, "no such method")

        def handle(line):
            try:
                message = json.loads(line, parse_constant=lambda name: json.loads("!"))
            except (ValueError, RecursionError):
                fail(None, -32700, "not JSON")
                return
            if not isinstance(message, dict):
                fail(None, -32600, "not an object")
                return
            if "method" not in message and ("result" in message or "error" in message):
                return
            number = message.get("id")
            good_id = type(number) in (str, int)
            method = message.get("method")
            silent = "id" not in message and isinstance(method, str)
            params = message.get("params", {})
            if (
                message.get("jsonrpc") != "2.0"
                or not isinstance(method, str)
                or ("id" in message and not good_id)
                or not isinstance(params, dict)
            ):
                if not silent:
                    fail(number if good_id else None, -32600, "invalid request")
                return
            if silent:
                target = params.get("requestId")
                if method == "notifications/cancelled" and type(target) in (str, int) and target in running:
                    running.pop(target).cancel()
                return
            try:
                result = dispatch(number, method, params)
            except RpcError as error:
                fail(number, error.code, str(error))
            else:
                if result is not None:
                    answer(number, result=result)

        writer = asyncio.create_task(pump())
        started = []
        try:
            while (line := await read()) is not None:
                if line.strip():
                    handle(line)
                    started = [t for t in (*started, *running.values()) if not t.done()]
            while pending := list(running.values()):
                await asyncio.wait(pending)
            outbox.put_nowait(None)
            await writer
            if failure:
                raise failure[0]
        except asyncio.CancelledError:
            if failure:
                main.uncancel()
                raise failure[0] from None
            raise
        finally:
            tasks = [writer, *running.values(), *started]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def validate(arguments, schema):
    properties = schema.get("properties") or {}
    for name in schema.get("required") or []:
        if name not in arguments:
            raise RpcError(-32602, f"missing argument {name!r}")
    for name, value in arguments.items():
        if name not in properties:
            if schema.get("additionalProperties") is False:
                raise RpcError(-32602, f"unexpected argument {name!r}")
            continue
        check = TYPES.get(properties[name].get("type"))
        if check is not None and not check(value):
            raise RpcError(-32602, f"argument {name!r} has the wrong type")
