"""What counts as changed since the last result, and how it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llmbench_mcp.domain.changes import Standing, changes

LAST = Standing("sha256:" + "a" * 64, "0.12", 2, {"t/1": "h1", "t/2": "h2"}, {"t/1": ("", "3"), "t/2": ("", "1")})
NOW = replace(LAST, graders={"t/1": ("coding", "3"), "t/2": ("exact", "1")})


def test_nothing_has_changed_where_everything_is_equal() -> None:
    assert changes(LAST, NOW) == ()


def test_without_a_result_it_was_never_run() -> None:
    assert changes(None, NOW) == ("never run",)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"digest": "sha256:" + "b" * 64}, ("digest aaaaaaaaaaaa -> bbbbbbbbbbbb",)),
        ({"digest": None}, ("digest aaaaaaaaaaaa -> unknown",)),
        ({"server_version": "0.13"}, ("server 0.12 -> 0.13",)),
        ({"server_version": None}, ()),
        ({"suite_version": 3}, ("suite version 2 -> 3",)),
        ({"tasks": {"t/1": "other", "t/2": "h2"}}, ("1 task changed: t/1",)),
        ({"tasks": {"t/1": "h1", "t/2": "h2", "t/3": "h3"}}, ("1 task not asked yet: t/3",)),
        ({"tasks": {"t/1": "h1"}}, ()),
        ({"attempts": {"t/1": 3, "t/2": 2}}, ("1 task asked less often than wanted: t/1",)),
        ({"graders": {"t/1": ("coding", "4"), "t/2": ("exact", "1")}}, ("validator coding 3 -> 4",)),
        ({"graders": {"t/1": ("coding", "4"), "t/2": ("coding", "2")}},
         ("validator coding 3 -> 4", "validator coding 1 -> 2")),
    ],
)  # fmt: skip
def test_each_change_is_told_with_what_it_was_and_is(change: dict[str, object], told: tuple[str, ...]) -> None:
    assert changes(replace(LAST, attempts={"t/1": 2, "t/2": 2}), replace(NOW, **change)) == told  # type: ignore[arg-type]  # names of fields


def test_a_task_without_a_verdict_has_no_validator_that_could_have_changed() -> None:
    last = replace(LAST, graders={"t/2": ("", "1")})
    assert changes(last, NOW) == ()


def test_a_validator_is_not_named_for_a_task_that_changed_anyway() -> None:
    now = replace(NOW, tasks={"t/1": "other", "t/2": "h2"}, graders={"t/1": ("exam", "9"), "t/2": ("exact", "1")})
    assert changes(LAST, now) == ("1 task changed: t/1",)


def test_many_tasks_are_counted_and_some_named() -> None:
    now = replace(NOW, tasks={f"t/{n}": "new" for n in range(3, 9)}, graders={})
    assert changes(LAST, now) == ("6 tasks not asked yet: t/3, t/4, t/5 ...",)
