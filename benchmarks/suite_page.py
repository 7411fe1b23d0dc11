"""Write docs/suites.md: every shipped suite, its tasks by level, and how well it tells models apart.

::

    python benchmarks/suite_page.py > docs/suites.md
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

from llmbench_mcp.catalog.catalog import Catalog
from llmbench_mcp.domain.reliability import ABILITIES, LOGITS, SITTINGS, Reliability, reliability
from llmbench_mcp.domain.task import Suite, Task

HEAD = f"""# The suites

Made by `benchmarks/suite_page.py` from the tasks themselves. What a task file holds is told in
[writing-tasks.md](writing-tasks.md), how answers are graded in [grading.md](grading.md).

## How reliable is a ranking?

Ten imaginary models sit every suite {SITTINGS} times, one attempt at each task. Their abilities are
{ABILITIES[0]:g} to {ABILITIES[-1]:g} logits, half a logit apart, and a task is an item of the Rasch model whose
difficulty is that of its level: easy {LOGITS["easy"]:g}, medium {LOGITS["medium"]:g}, hard {LOGITS["hard"]:g}.
These are assumptions, not estimates: they say what a suite of this size and spread can do at best, not what it has
done.

* **separation**: the share of the spread of estimated abilities that is real (Wright and Masters 1982).
* **KR-20**: formula 20 of Kuder and Richardson (1937), the inner consistency.
* **tau**: rank correlation of the true and the observed order (Kendall 1945, tau-b).
* **apart**: the share of pairs whose difference the paired test of rankings finds at 5 %, for all pairs and for those
  at least one logit apart; **wrong**: pairs found the wrong way round. More repeats and more tasks raise it.

The same for any suite, your own too: `llmbench-mcp suites NAME --reliability`.
"""


def main() -> None:
    """Print the page."""
    catalog = Catalog.load()
    suites = catalog.suites()
    figures = {
        suite.name: reliability(catalog.tasks_of(suite), {item.task_id: item.weight for item in suite.items})
        for suite in suites
    }
    lines = [HEAD, *_overview(suites, figures)]
    for suite in suites:
        lines += _suite(suite, catalog.tasks_of(suite))
    sys.stdout.write("\n".join(lines).rstrip() + "\n")


def _overview(suites: tuple[Suite, ...], figures: dict[str, Reliability | None]) -> Iterator[str]:
    yield "| suite | tasks | easy / medium / hard | separation | KR-20 | tau | apart, all | apart, 1 logit | wrong |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for suite in suites:
        yield f"| [{suite.name}](#{suite.name}) | {len(suite.items)} | {_figures(figures[suite.name])} |"
    yield ""


def _figures(found: Reliability | None) -> str:
    if found is None:
        return " | ".join(["speed, not score", *["-"] * 6])
    levels = " / ".join(str(found.levels.get(level, 0)) for level in LOGITS)
    shares = (found.told_apart, found.told_apart_1, found.reversed)
    told = [f"{found.separation:.2f}", f"{found.kr20:.2f}", f"{found.tau:.2f}", *(f"{share:.0%}" for share in shares)]
    return " | ".join([levels, *told])


def _suite(suite: Suite, tasks: tuple[Task, ...]) -> Iterator[str]:
    yield f"## {suite.name}\n"
    yield f"**{suite.title}**, version {suite.version}. {' '.join(suite.description.split())}\n"
    kinds = Counter(task.category for task in tasks)
    if len(kinds) > 1:
        yield f"Made of: {', '.join(f'{kind} {count}' for kind, count in kinds.items())}.\n"
        return
    yield "| task | level | tags |"
    yield "|---|---|---|"
    for task in tasks:
        made = ", generated" if task.template else ""
        yield f"| {task.title} (`{task.id}`){made} | {task.difficulty} | {', '.join(task.tags)} |"
    yield ""


if __name__ == "__main__":
    main()
