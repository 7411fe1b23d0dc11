import asyncio
import hmac
import json
import re
import time


def make_app(secrets, handler, *, clock=time.time, max_body=65536, tolerance=300, remember=1000):
    finished = {}
    pending = {}

    def reply(status, word, extra=()):
        return status, json.dumps({"status": word}).encode("utf-8"), list(extra)

    def authentic(signatures, signed):
        digests = [hmac.new(secret, signed, "sha256").hexdigest() for secret in secrets]
        matched = False
        for item in signatures.split(","):
            match = re.fullmatch(r"v1=([0-9a-f]{64})", item.strip())
            if match:
                matched = any([hmac.compare_digest(match[1], digest) for digest in digests]) or matched
        return matched

    async def handle(delivery, body):
        while delivery in pending:
            await asyncio.wait([pending[delivery]])
        if delivery in finished:
            return reply(200, "duplicate")
        try:
            payload = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            return reply(400, "bad_request")
        if type(payload) is not dict:
            return reply(400, "bad_request")
        pending[delivery] = asyncio.get_running_loop().create_future()
        try:
            await handler(payload)
        except Exception:
            return reply(500, "error")
        else:
            finished[delivery] = True
            while len(finished) > remember:
                finished.pop(next(iter(finished)))
            return reply(202, "accepted")
        finally:
            pending.pop(delivery).set_result(None)

    async def process(scope, receive):
        if scope["path"] != "/hook":
            return reply(404, "not_found")
        if scope["method"] != "POST":
            return reply(405, "method_not_allowed", [(b"allow", b"POST")])
        headers = {}
        for name, value in scope["headers"]:
            headers[name.decode("latin-1").lower()] = value.decode("latin-1")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return reply(415, "unsupported_media_type")
        length = headers.get("content-length", "")
        if re.fullmatch("[0-9]{1,4000}", length) and int(length) > max_body:
            return reply(413, "too_large")
        body, more = b"", True
        while more:
            event = await receive()
            if event["type"] == "http.disconnect":
                return None
            body += event.get("body", b"")
            if len(body) > max_body:
                return reply(413, "too_large")
            more = event.get("more_body", False)
        delivery, stamp = headers.get("x-hook-id", ""), headers.get("x-hook-timestamp", "")
        if not delivery or not re.fullmatch("[0-9]+", stamp):
            return reply(400, "bad_request")
        signed = f"{delivery}.{stamp}.".encode("latin-1") + body
        if not authentic(headers.get("x-hook-signature", ""), signed):
            return reply(401, "unauthorised")
        if len(stamp) > 20 or abs(clock() - int(stamp)) > tolerance:
            return reply(401, "unauthorised")
        return await handle(delivery, body)

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while True:
                event = (await receive())["type"]
                await send({"type": event + ".complete"})
                if event == "lifespan.shutdown":
                    return
        if scope["type"] != "http":
            raise ValueError(scope["type"])
        outcome = await process(scope, receive)
        if outcome is None:
            return
        status, body, extra = outcome
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *extra]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return app
