"""Every deliberate error becomes text an agent can act on; every other one stays hidden."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from llmbench_mcp.domain import errors
from llmbench_mcp.server.errors import NEXT_CALL, explain, tool_error
from llmbench_mcp.server.tools import every_tool


def every_class(base: type[errors.BenchError] = errors.BenchError) -> Iterator[type[errors.BenchError]]:
    yield base
    for child in base.__subclasses__():
        yield from every_class(child)


def test_every_error_class_has_its_next_call() -> None:
    ours = {cls for cls in every_class() if cls.__module__ == errors.__name__}
    assert set(NEXT_CALL) == ours


@pytest.mark.parametrize("kind", NEXT_CALL)
def test_an_error_is_told_with_what_failed(kind: type[errors.BenchError]) -> None:
    told = str(tool_error("run_start", kind("The thing broke."), []))
    assert told.startswith("The thing broke.")
    assert NEXT_CALL[kind] in told


def test_the_next_call_follows_a_next_step_that_names_none() -> None:
    told = explain(errors.UnreachableError("Nothing listens there.", "Start the server."))
    assert told == "Nothing listens there. Start the server. Then call endpoint_list."


def test_a_next_step_that_names_a_tool_stands_alone() -> None:
    told = explain(errors.UnreachableError("Nothing listens there.", "Call models_discover."))
    assert told == "Nothing listens there. Call models_discover."


def test_the_nearest_names_are_told_once() -> None:
    error = errors.NotFoundError("There is no model 'x'.", "Nearest: a.", ["a", "b"])
    assert explain(error) == "There is no model 'x'. Nearest: a. Nearest: b."


def test_outside_text_in_an_error_is_escaped_and_cut() -> None:
    told = explain(errors.ServerFault("The server said: \x1b[31m" + "x" * 10_000))
    assert "\x1b" not in told
    assert "\\x1b[31m" in told
    assert len(told) <= 1_500


def test_what_looks_like_a_key_is_not_told() -> None:
    told = explain(errors.ServerFault("http://127.0.0.1/?api_key=sk-0123456789 refused Bearer abcdef0123456789."))
    assert "0123456789" not in told


def test_a_bug_is_logged_and_hidden(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        told = str(tool_error("run_start", ValueError("inner detail"), []))
    assert "inner detail" not in told
    assert "report" in told
    assert "inner detail" in caplog.text


def test_an_error_out_of_a_task_group_is_told_as_itself() -> None:
    group = ExceptionGroup("tasks", [ExceptionGroup("inner", [errors.StorageBusy("Locked.")])])
    assert str(tool_error("endpoint_list", group, [])) == f"Locked. {NEXT_CALL[errors.StorageBusy]}"


def test_a_tool_error_is_told_as_it_is() -> None:
    assert str(tool_error("run_start", ToolError("As it is."), [])) == "As it is."


def test_a_subclass_of_an_error_from_elsewhere_is_told_too() -> None:
    class Special(errors.AuthError):
        pass

    told = str(tool_error("run_start", Special("No."), []))
    assert told == f"No. {NEXT_CALL[errors.AuthError]}"


def test_next_calls_name_only_real_tools() -> None:
    names = {spec.name for spec in every_tool()}
    words = {word.strip(",.;") for step in NEXT_CALL.values() for word in step.split()}
    assert {word for word in words if "_" in word} <= names | {"credential_ref"}
