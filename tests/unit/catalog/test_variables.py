"""The VARIABLES section and the load of a task file, and suites made of suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.catalog.source import Source
from llmbench_mcp.catalog.suites import parse_suites
from llmbench_mcp.catalog.tasks import parse_task
from llmbench_mcp.domain.errors import TaskFormatError
from llmbench_mcp.domain.task import Load, SpeedLimits, Suite, SuiteItem, Task

BODY = """PROMPT:
{{who}} has {{n}} boxes of {{each}}: {{n * each}}? {{join(order, '-')}} {{a.name}}

VALIDATION:
```yaml
type: reasoning
expected_answer: "{{n * each}}"
```
"""


def task(variables: str, body: str = BODY, front: str = "") -> Task:
    text = f"{front}VARIABLES:\n```yaml\n{variables}\n```\n\n{body}"
    return parse_task("own/boxes", Source("own/boxes.md", text))


GOOD = """n: {from: 3, to: 9}
each: {from: n + 1, to: 2 * n, step: 1}
who: {choice: [Mira, Jon]}
order: {shuffle: [1, 2, 3]}
two: {sample: [{name: x}, {name: y}, {name: z}], count: 2}
a: {value: "two[0]"}
require: [n * each % 2 == 0]"""


def test_the_default_variant_is_drawn_when_the_file_is_read_and_others_on_request() -> None:
    first = task(GOOD)
    assert first.template is not None
    assert first == first.template.draw(0)
    drawn = first.template.draw(11)
    n, each = int(drawn.prompt.split()[2]), int(drawn.prompt.split()[5].strip(":"))
    assert drawn.validation["expected_answer"] == n * each
    assert n * each % 2 == 0
    assert n < each <= 2 * n
    assert "{{" not in drawn.prompt


def test_a_task_without_variables_keeps_its_braces() -> None:
    plain = parse_task("own/plain", Source("f.md", "PROMPT:\nWhat does {{x}} mean?\n\nEXPECTED:\nA place.\n"))
    assert plain.prompt == "What does {{x}} mean?"
    assert plain.template is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ("n: 3", "own/boxes.md:3: variable n must be a mapping"),
        ("N: {from: 1, to: 2}", "own/boxes.md:3: 'N' cannot be a variable's name."),
        ("n: {form: 1, to: 2}", "own/boxes.md:3: variable n has none of the kinds."),
        ("n: {from: 1}", "own/boxes.md:3: a range lacks to."),
        ("n: {from: 1, to: 2, by: 3}", "own/boxes.md:3: variable n has an unknown key 'by'."),
        ("n: {choice: []}", "own/boxes.md:3: a variable has no values to choose from."),
        ("n: {sample: [1, 2], count: 3}", "own/boxes.md:3: count is 3, but there are 2 values."),
        ("n: {value: 1 +}", "own/boxes.md:3: '1 +' is no expression."),
        ("n: {generator: nobody}", "own/boxes.md:3: there is no generator 'nobody'."),
        ("n: {generator: haystack}", "own/boxes.md:1: own/boxes, drawn with seed 0: the generator 'haystack' failed"),
        ("n: {from: 9, to: 3}", "own/boxes.md:1: own/boxes, drawn with seed 0: the range from 9 to 3 is empty."),
        ("n: {from: 1, to: 2}", "own/boxes.md:1: own/boxes, drawn with seed 0: 'who': there is no variable 'who'"),
        ("require: [true]", "own/boxes.md:3: VARIABLES names no variable."),
        ("", "own/boxes.md:2: the VARIABLES block is empty."),
    ],
)
def test_a_fault_is_told_with_its_line(variables: str, message: str) -> None:
    with pytest.raises(TaskFormatError) as caught:
        task(variables)
    assert str(caught.value).startswith(message)


def test_a_task_may_say_how_it_is_asked_to_measure_speed() -> None:
    front = "---\nload: {concurrency: 4, requests: 12, warm_up: 2}\n---\n"
    found = task(GOOD, front=front)
    assert found.load == Load(4, 12, 2)
    assert found.content_hash() != task(GOOD).content_hash()


@pytest.mark.parametrize("load", ["{concurrency: 0}", "{concurrency: 500}", "{requests: 5000}", "{at_once: 3}", "[]"])
def test_a_load_that_makes_no_sense_is_refused(load: str) -> None:
    with pytest.raises(TaskFormatError, match=r"own/boxes.md:2: "):
        task(GOOD, front=f"---\nload: {load}\n---\n")


HEAD = "  title: T\n  description: D.\n  version: 1\n"
TWO = f"- name: a\n{HEAD}  tasks: [x/1, x/2, {{task: x/3, weight: 2}}]\n- name: b\n{HEAD}  tasks: [y/1]\n"
KNOWN = ("x/1", "x/2", "x/3", "y/1")


def suites(text: str, others: dict[str, Suite] | None = None) -> dict[str, Suite]:
    return {suite.name: suite for suite in parse_suites(Source("s.yaml", text), KNOWN, others)}


def test_an_included_suite_has_its_share_however_many_tasks_it_has() -> None:
    both = suites(TWO + f"- name: all\n{HEAD}  includes: [{{suite: a, weight: 3}}, b]\n")["all"]
    weights = {item.task_id: item.weight for item in both.items}
    assert weights == {"x/1": 0.75, "x/2": 0.75, "x/3": 1.5, "y/1": 1.0}
    assert sum(weights.values()) == len(weights)


def test_an_included_suite_may_stand_below() -> None:
    found = suites(f"- name: all\n{HEAD}  includes: [b]\n" + TWO)
    assert list(found) == ["all", "a", "b"]
    assert found["all"].items == found["b"].items


def test_a_suite_cannot_include_itself_or_in_a_ring() -> None:
    for other in ("all", "more"):
        with pytest.raises(TaskFormatError, match="there is no suite"):
            suites(TWO + f"- name: all\n{HEAD}  includes: [{other}]\n- name: more\n{HEAD}  includes: [all]\n")


def test_a_task_of_two_included_suites_has_both_weights_and_stands_there_once() -> None:
    twice = suites(TWO + f"- name: c\n{HEAD}  tasks: [x/1]\n- name: all\n{HEAD}  includes: [a, c]\n")["all"]
    assert [item.task_id for item in twice.items] == ["x/1", "x/2", "x/3"]
    assert twice.items[0].weight == pytest.approx(2.5)


def test_a_suite_of_another_folder_may_be_included() -> None:
    shipped = suites(TWO)
    assert suites(f"- name: mine\n{HEAD}  includes: [b]\n", shipped)["mine"].items == (SuiteItem("y/1"),)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("  includes: [nobody]\n", "s.yaml:15: there is no suite 'nobody' to include."),
        ("  includes: [a, {suite: a, weight: 2}]\n", "s.yaml:15: suite 'a' is included already."),
        ("  includes: []\n", "s.yaml:15: the suite includes nothing."),
        ("  includes: [{weight: 2}]\n", "s.yaml:15: an entry of includes lacks suite."),
        ("  includes: [{suite: a, weight: 0}]\n", "s.yaml:15: weight must be above 0"),
        ("  includes: [a]\n  tasks: [x/1]\n", "s.yaml:11: the suite needs either tasks or includes."),
        ("", "s.yaml:11: the suite lacks tasks."),
        ("  tasks: [x/1]\n  limits: {ttft_s: -1}\n", "s.yaml:16: ttft_s must be above 0"),
        ("  tasks: [x/1]\n  limits: {tpot_s: 1}\n", "s.yaml:16: limits has an unknown key 'tpot_s'."),
    ],
)
def test_a_fault_in_a_suite_of_suites_is_told_with_its_line(entry: str, message: str) -> None:
    with pytest.raises(TaskFormatError) as caught:
        suites(TWO + f"- name: all\n{HEAD}{entry}")
    assert str(caught.value).startswith(message)


def test_a_suite_has_limits_of_its_own_or_the_usual_ones() -> None:
    limited = suites(f"- name: a\n{HEAD}  tasks: [x/1]\n  limits: {{ttft_s: 0.5}}\n")["a"]
    assert limited.limits == SpeedLimits(0.5, 0.1)


def test_a_folder_of_ones_own_may_generate_tasks(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "boxes.md").write_text(f"VARIABLES:\n```yaml\n{GOOD}\n```\n\n{BODY}", encoding="utf-8")
    assert Catalog.load([tmp_path]).task("own/boxes").template is not None
