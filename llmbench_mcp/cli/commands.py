"""The command tree: every group in its module, usage errors told here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from llmbench_mcp import __version__
from llmbench_mcp.cli import (
    compare,
    credential,
    demo,
    devices,
    doctor,
    endpoints,
    executor,
    exit_codes,
    failures,
    leaderboard,
    model_commands,
    models,
    probe,
    report,
    residency,
    results,
    runs,
    schedule,
    score,
    serve,
    suite_import,
    suites,
    task_author,
    tasks,
)
from llmbench_mcp.cli.invocation import Invocation
from llmbench_mcp.cli.session import Session
from llmbench_mcp.cli.usage import UsageError

PROGRAM = "llmbench-mcp"
_ANYWHERE = "--json and --data-dir may stand before or after the command."


def execute(call: Invocation) -> int:
    """Run the command that the arguments name; returns its exit code."""
    _quiet_libraries()
    if any("\udc80" <= char <= "\udcff" for word in call.argv for char in word):
        failures.tell("usage", "The arguments hold bytes that are not text.", f"See: {PROGRAM} --help", call.as_json)
        return exit_codes.USAGE
    try:
        code = build()(args=runs.with_open_wait(call.argv), prog_name=PROGRAM, standalone_mode=False, obj=Session(call))
    except typer.Abort:
        return exit_codes.INTERRUPTED
    except UsageError as error:
        return _tell_usage(error, call)
    return code if isinstance(code, int) else exit_codes.OK


def _quiet_libraries() -> None:
    """What libraries log is no output of a command; ``executor run`` sets up its own log."""
    import logging

    logging.getLogger().addHandler(logging.NullHandler())


def _tell_usage(error: Exception, call: Invocation) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    told = getattr(error, "format_message", error.__str__)
    what = str(told())
    failures.tell("usage", what, f"See: {path} --help", call.as_json)
    return exit_codes.USAGE


def build() -> typer.Typer:
    """The whole tree."""
    root = _typer("Benchmark language models; called without a command, serve MCP over stdio.")
    root.callback(invoke_without_command=True, epilog=f"{_ANYWHERE} {exit_codes.epilog()}")(_root)
    endpoint = _typer("Inference servers: add, set, list, probe, remove.")
    for name, command in {**endpoints.COMMANDS, "probe": probe.probe}.items():
        endpoint.command(name, epilog=_ANYWHERE)(command)
    keys = _typer("API keys of inference servers: set, list, status, forget.")
    for name, command in credential.COMMANDS.items():
        keys.command(name, epilog=_ANYWHERE)(command)
    run = _typer("Benchmark runs: start, follow, read, cancel.")
    for name, command in runs.COMMANDS.items():
        run.command(name, epilog=_ANYWHERE)(command)
    work = _typer("The background process that does the work.")
    for name, command in executor.COMMANDS.items():
        work.command(name, epilog=_ANYWHERE)(command)
    memory = _typer("What servers have loaded: list, load, unload.")
    for name, command in residency.COMMANDS.items():
        memory.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(endpoint, name="endpoint")
    root.add_typer(keys, name="credential")
    _add_models(root)
    root.add_typer(memory, name="residency")
    root.add_typer(run, name="run")
    orders = _typer("Suites run again at set times: add, list, show, run now, remove.")
    for name, command in schedule.COMMANDS.items():
        orders.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(orders, name="schedule")
    _add_results(root)
    root.command("leaderboard", epilog=_ANYWHERE)(leaderboard.leaderboard)
    root.command("compare", epilog=_ANYWHERE)(compare.compare)
    root.command("gpu", epilog=_ANYWHERE)(devices.gpu)
    root.command("score", epilog=_ANYWHERE)(score.score)
    task = _typer("Task files: new, check, run-reference, schema.")
    task.command("check", epilog=_ANYWHERE)(tasks.check)
    for name, command in task_author.COMMANDS.items():
        task.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(task, name="task")
    group = _typer("Suites: import public benchmarks or your own table, list, remove.")
    for name, command in suite_import.COMMANDS.items():
        group.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(group, name="suite")
    root.add_typer(work, name="executor")
    root.command("doctor", epilog=_ANYWHERE)(doctor.doctor)
    root.command("demo", epilog=_ANYWHERE)(demo.demo)
    root.command("serve", epilog=_ANYWHERE)(serve.serve)
    return root


def _add_models(root: typer.Typer) -> None:
    root.command("discover", epilog=_ANYWHERE)(models.discover)
    group = _typer("Models: list them, or show, probe or change one.")
    group.callback(invoke_without_command=True, epilog=_ANYWHERE)(models.list_models)
    for name, command in model_commands.COMMANDS.items():
        group.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(group, name="models")
    root.command("assign", epilog=_ANYWHERE)(models.assign)
    root.command("suites", epilog=_ANYWHERE)(suites.suites)


def _add_results(root: typer.Typer) -> None:
    stored = _typer("Results: write them to a file, or remove them.")
    for name, command in results.COMMANDS.items():
        stored.command(name, epilog=_ANYWHERE)(command)
    root.add_typer(stored, name="results")
    root.command("report", epilog=_ANYWHERE)(report.report)


def _typer(purpose: str) -> typer.Typer:
    return typer.Typer(help=purpose, add_completion=False, pretty_exceptions_enable=False, no_args_is_help=False)


def _root(
    context: typer.Context,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout; score prints JSON lines.")
    ] = False,
    data_dir: Annotated[str | None, typer.Option(help="Folder of the database and logs.", metavar="PATH")] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Serve only tools that change nothing.")] = False,
    toolsets: Annotated[str | None, typer.Option(help="Serve only these sets of tools.", metavar="A,B")] = None,
) -> None:
    if version:
        sys.stdout.write(f"{__version__}\n")
        raise typer.Exit
    if read_only or toolsets is not None:
        raise UsageError("--read-only and --toolsets go with serving MCP and with no command.", context)
    if context.invoked_subcommand is None:
        raise UsageError("A command is missing.", context)
