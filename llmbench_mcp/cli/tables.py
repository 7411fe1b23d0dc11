"""Tables for people. Every cell is literal text on one line, whatever a server or model put into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.grid import CELL, Column, Grid, Paragraph
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from llmbench_mcp.domain.attempt import AttemptRecord
    from llmbench_mcp.domain.leaderboard import Entry
    from llmbench_mcp.domain.model import DiscoveryReport, Model
    from llmbench_mcp.domain.run import Job, ListedRun
    from llmbench_mcp.services.endpoints import EndpointView
    from llmbench_mcp.services.suites import SuiteView


_FEW = 3


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], title: str = "") -> Grid:
    """A table; every row has one cell for every column."""
    return Grid(columns, list(rows), title)


def slim(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], optional: Sequence[str]) -> Grid:
    """A table without those ``optional`` columns that say the same in every row; the title says it once."""
    shown, told = [], [title] if title else []
    for index, column in enumerate(columns):
        cells = {row[index] for row in rows}
        below_its_row = column.note and len(rows) == 1 and any(cells)
        if column.name in optional and len(cells) <= 1 and not below_its_row:
            told += [f"{column.name}: {cell}" for cell in cells if cell not in ("", figures.UNKNOWN)]
        else:
            shown.append(index)
    return Grid([columns[i] for i in shown], [[row[i] for i in shown] for row in rows], ". ".join(told))


def literal(text: str) -> Text:
    """Text that rich shows as it stands, on one line."""
    from rich.text import Text

    return Text(one_line(text, CELL))


def sentence(text: str) -> Paragraph:
    """What stands outside tables, as it is."""
    return Paragraph(text)


def endpoints(views: Sequence[EndpointView]) -> Grid:
    """Endpoints with their state."""
    columns = (
        Column("Name"),
        Column("Backend", drop=3),
        Column("Address"),
        Column("Device", drop=1),
        Column("State", wraps=True),
        Column("At once", right=True, drop=4),
        Column("May unload", drop=5),
        Column("Loaded now", wraps=True, drop=2),
        Column("Error", note=True),
    )
    return slim("", columns, [_endpoint_row(view) for view in views], ["Error"])


def _endpoint_row(view: EndpointView) -> tuple[str, ...]:
    found = view.endpoint
    states = {"reachable": "reachable", "unreachable": "unreachable", "no_access": "no access"}
    error = (view.error or found.last_error or "") if found.reachable is False else ""
    loaded = "unknown" if view.residents is None else ", ".join(r.served_name for r in view.residents) or "nothing"
    version = f" {found.server_version}" if found.server_version else ""
    return (
        found.name,
        found.backend + version,
        found.url,
        found.device,
        states.get(found.state, "not looked at"),
        str(found.concurrency),
        "anything" if found.evict == "any" else "its own",
        loaded,
        error,
    )


def discovered(reports: Sequence[DiscoveryReport]) -> Grid:
    """What discovery changed, one endpoint a row."""
    changes = ("New", "Changed", "Missing", "Removed", "Back")
    columns = (
        Column("Endpoint"),
        Column("Models", right=True),
        *(Column(name, wraps=True) for name in changes),
        Column("Remarks", note=True),
    )
    return slim("", columns, [_report_row(report) for report in reports], [*changes, "Remarks"])


def _report_row(report: DiscoveryReport) -> tuple[str, ...]:
    found = (report.added, report.changed, report.missing, report.removed, report.back)
    remarks = [f"found on this machine and added, taken to be on {report.new_on}"] if report.new_on else []
    remarks += report.warnings
    if report.error:
        remarks.append(f"failed: {report.error} {report.next_step}")
    return (report.endpoint_name, str(report.seen), *(", ".join(names) for names in found), "; ".join(remarks))


def models(found: Sequence[Model]) -> Grid:
    """Models with where they are offered."""
    columns = (
        Column("Model"),
        Column("Status", drop=6),
        Column("Parameters", right=True, drop=3),
        Column("Quant.", drop=4),
        Column("Size", right=True, drop=2),
        Column("Context", right=True, drop=1),
        Column("Offered at", wraps=True, drop=5),
        Column("Assigned to", wraps=True),
    )
    return table(columns, [_model_row(model) for model in found])


def _model_row(model: Model) -> tuple[str, ...]:
    homes = ", ".join(home.endpoint_name for home in model.homes if home.present) or "nowhere now"
    assigned = model.home_at(model.assigned_endpoint_id) if model.assigned_endpoint_id else None
    return (
        model.name,
        model.status,
        _guess(model, "parameter_count", figures.parameters(model.parameter_count)),
        _guess(model, "quantisation", model.quantisation or figures.UNKNOWN),
        figures.size(model.size_bytes),
        figures.number(model.context_length),
        homes,
        assigned.endpoint_name if assigned else figures.UNKNOWN,
    )


def _guess(model: Model, field: str, cell: str) -> str:
    """The cell, with a question mark where it was read out of the model's name."""
    return f"{cell} ?" if field in model.guessed else cell


def suites(views: Sequence[SuiteView]) -> Grid:
    """Suites, one a row."""
    rows = [(v.suite.name, str(v.suite.version), str(len(v.suite.items)), v.suite.description) for v in views]
    columns = (
        Column("Suite"),
        Column("Version", right=True, drop=1),
        Column("Tasks", right=True),
        Column("Description", wraps=True),
    )
    return table(columns, rows)


def suite_tasks(view: SuiteView) -> Grid:
    """The tasks of one suite."""
    rows = [(t.id, t.difficulty, figures.number(view.weights[t.id]), t.title or t.prompt) for t in view.tasks]
    title = f"{view.suite.title} ({view.suite.name}, version {view.suite.version})"
    columns = (
        Column("Task"),
        Column("Difficulty"),
        Column("Weight", right=True, drop=1),
        Column("What it asks", cut=True, drop=2),
    )
    return slim(title, columns, rows, ["Weight"])


def runs(found: Sequence[ListedRun]) -> Grid:
    """Runs, newest first."""
    columns = (
        Column("Run"),
        Column("State"),
        Column("Models", wraps=True, drop=2),
        Column("Suites", wraps=True, drop=1),
        Column("Graded", right=True),
        Column("Passed", right=True),
        Column("Errors", right=True),
        Column("Created (UTC)", drop=3),
        Column("Reason", note=True),
    )
    return slim("", columns, [_run_row(listed) for listed in found], ["Reason"])


def _run_row(listed: ListedRun) -> tuple[str, ...]:
    run, made = listed.run, listed.run.created_at[:16].replace("T", " ")
    counts = (f"{run.done}/{run.planned}", str(run.passed), str(run.errors))
    return (run.id, run.state, _some(listed.models), _some(listed.suites), *counts, made, run.reason or "")


def _some(names: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(one_line(name, 60) for name in names[:_FEW]) + more


def jobs(found: Sequence[Job], told: str | None = None) -> Grid:
    """The jobs of a run; a reason that was ``told`` already is not repeated."""
    columns = (
        Column("Model"),
        Column("Endpoint", drop=1),
        Column("Suite"),
        Column("Parameters"),
        Column("State"),
        Column("Graded", right=True),
        Column("Passed", right=True),
        Column("Errors", right=True),
        Column("Step or reason", note=True),
    )
    rows = [
        (
            job.model,
            job.endpoint,
            job.suite,
            job.sampling.told(),
            job.state,
            f"{job.done}/{job.planned}",
            str(job.passed),
            str(job.errors),
            (job.reason if job.reason != told else None) or job.step or "",
        )
        for job in found
    ]
    return slim("", columns, rows, ["Endpoint", "Suite", "Parameters", "Step or reason"])


def attempts(found: Sequence[AttemptRecord], title: str = "") -> Grid:
    """Attempts: what was asked, how it went and why."""
    columns = (
        Column("No", right=True),
        Column("Model"),
        Column("Task"),
        Column("Parameters", wraps=True),
        Column("Result"),
        Column("Score", right=True, drop=3),
        Column("Why", note=True),
        Column("Tokens", right=True, drop=1),
        Column("Time", right=True, drop=2),
    )
    return slim(title, columns, [_attempt_row(record) for record in found], ["Model", "Parameters"])


def _attempt_row(record: AttemptRecord) -> tuple[str, ...]:
    facts = record.facts
    score = facts.get("score")
    task = record.task_id if record.repeat == 1 else f"{record.task_id} #{record.repeat}"
    marks = [f"try {facts['try']}"] if "try" in facts else []
    marks += [] if facts.get("counted", True) else ["in no score"]
    return (
        str(record.number),
        record.model,
        f"{task} ({', '.join(marks)})" if marks else task,
        facts.get("parameters", ""),
        result_word(record),
        figures.number(score),
        "" if facts.get("passed") else why(record),
        figures.number(facts.get("completion_tokens")),
        figures.duration(facts.get("e2e_s")),
    )


def result_word(record: AttemptRecord) -> str:
    """One word for how an attempt ended or stands."""
    if record.state == "done":
        return "passed" if record.facts.get("passed") else "failed"
    return record.state


def why(record: AttemptRecord) -> str:
    """The failure word and what the validator or server said."""
    parts = (record.facts.get("failure"), record.facts.get("message"))
    return ": ".join(one_line(str(part), 120) for part in parts if part)


def leaderboard(entries: Sequence[Entry], title: str) -> Grid:
    """Ranked rows; a range of ranks means that the evidence leaves the order open."""
    columns = (
        Column("Rank"),
        Column("Model"),
        Column("Endpoint", wraps=True, drop=5),
        Column("Parameters", wraps=True),
        Column("Score", right=True),
        Column("Passed", right=True, drop=3),
        Column("Passed, 95 %", drop=4),
        Column("Tok/s p50", right=True, drop=2),
        Column("TTFT p50", right=True, drop=1),
        Column("Remarks", note=True),
    )
    return slim(title, columns, [_entry_row(ranked) for ranked in entries], ["Endpoint", "Parameters", "Remarks"])


def _entry_row(ranked: Entry) -> tuple[str, ...]:
    graded = f"{ranked.tasks_graded} of {ranked.tasks_in_suite} tasks" if ranked.coverage < 1 else ""
    errors = figures.count(ranked.errors, "error") if ranked.errors else ""
    without = f"{figures.count(ranked.left_out, 'attempt')} left out" if ranked.left_out else ""
    words = (ranked.note or graded, errors, without, _repeats(ranked), ranked.speed_note)
    return (
        figures.rank(ranked.rank_low, ranked.rank_high),
        ranked.row.model,
        f"{ranked.row.endpoint} ({ranked.row.device})",
        ranked.row.parameters,
        figures.percent(ranked.score),
        figures.percent(ranked.pass_rate),
        figures.interval(ranked.interval) if ranked.tasks_graded else figures.UNKNOWN,
        figures.number(ranked.decode_tps),
        figures.duration(ranked.ttft_p50_s),
        "; ".join(word for word in words if word),
    )


def _repeats(ranked: Entry) -> str:
    """How often any and all of so many attempts at a task are right."""
    if ranked.pass_at_k is None:
        return ""
    any_right, all_right = figures.percent(ranked.pass_at_k), figures.percent(ranked.pass_hat_k)
    return f"of {ranked.repeats} attempts any right {any_right}, all {all_right}"
