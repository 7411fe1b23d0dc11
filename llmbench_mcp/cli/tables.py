"""Tables for people. Every cell is literal text on one line, whatever a server or model put into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.domain.text import one_line

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from llmbench_mcp.domain.attempt import AttemptRecord
    from llmbench_mcp.domain.leaderboard import Entry
    from llmbench_mcp.domain.model import DiscoveryReport, Model
    from llmbench_mcp.domain.run import Job, Run
    from llmbench_mcp.services.devices import DeviceView
    from llmbench_mcp.services.endpoints import EndpointView
    from llmbench_mcp.services.suites import SuiteView

_CELL, _SENTENCE = 160, 2_000


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table; a column whose name starts with ``>`` is aligned right, with ``!`` never folded."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    grid.title = sentence(title) if title else None
    for name in columns:
        right, rigid = name.startswith(">"), name.startswith((">", "!"))
        label = literal(name.lstrip(">!"))
        grid.add_column(label, justify="right" if right else "left", no_wrap=rigid, overflow="fold")
    for row in rows:
        grid.add_row(*(literal(cell) for cell in row))
    return grid


def slim(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str]) -> Table:
    """A table without those ``optional`` columns that say the same in every row; the title says it once."""
    shown, told = [], [title] if title else []
    for index, name in enumerate(columns):
        cells = {row[index] for row in rows}
        if name in optional and len(cells) <= 1:
            told += [f"{name.lstrip('!>')}: {cell}" for cell in cells if cell not in ("", figures.UNKNOWN)]
        else:
            shown.append(index)
    return table(". ".join(told), [columns[i] for i in shown], [[row[i] for i in shown] for row in rows])


def literal(text: str) -> Text:
    """Text that rich shows as it stands, on one line."""
    from rich.text import Text

    return Text(one_line(text, _CELL))


def sentence(text: str) -> Text:
    """As ``literal``, for what stands outside tables and may be longer."""
    from rich.text import Text

    return Text(one_line(text, _SENTENCE))


def endpoints(views: Sequence[EndpointView]) -> Table:
    """Endpoints with their state."""
    columns = ("!Name", "Backend", "Address", "!Device", "State", "Loaded now")
    return table("", columns, [_endpoint_row(view) for view in views])


def _endpoint_row(view: EndpointView) -> tuple[str, ...]:
    found = view.endpoint
    states = {True: "reachable", False: f"unreachable: {view.error or found.last_error or ''}", None: "not looked at"}
    loaded = "unknown" if view.residents is None else ", ".join(r.served_name for r in view.residents) or "nothing"
    version = f" {found.server_version}" if found.server_version else ""
    return (found.name, found.backend + version, found.url, found.device, states[found.reachable], loaded)


def discovered(reports: Sequence[DiscoveryReport]) -> Table:
    """What discovery changed, one endpoint a row."""
    columns = ("!Endpoint", ">Models", "New", "Missing", "Back", "Remarks")
    return table("", columns, [_report_row(report) for report in reports])


def _report_row(report: DiscoveryReport) -> tuple[str, ...]:
    changes = [", ".join(names) for names in (report.added, report.missing, report.back)]
    remarks = "; ".join(report.warnings)
    if report.error:
        remarks = f"failed: {report.error} {report.next_step}"
    return (report.endpoint_name, str(report.seen), *changes, remarks)


def models(found: Sequence[Model]) -> Table:
    """Models with where they are offered."""
    columns = ("Model", "!Status", ">Parameters", "!Quant.", ">Size", ">Context", "Offered at", "Assigned to")
    return table("", columns, [_model_row(model) for model in found])


def _model_row(model: Model) -> tuple[str, ...]:
    homes = ", ".join(home.endpoint_name for home in model.homes if home.present) or "nowhere now"
    assigned = model.home_at(model.assigned_endpoint_id) if model.assigned_endpoint_id else None
    return (
        model.name,
        model.status,
        figures.parameters(model.parameter_count),
        model.quantisation or figures.UNKNOWN,
        figures.size(model.size_bytes),
        figures.number(model.context_length),
        homes,
        assigned.endpoint_name if assigned else figures.UNKNOWN,
    )


def suites(views: Sequence[SuiteView]) -> Table:
    """Suites, one a row."""
    rows = [(v.suite.name, str(v.suite.version), str(len(v.tasks)), v.suite.description) for v in views]
    return table("", ("!Suite", ">Version", ">Tasks", "Description"), rows)


def suite_tasks(view: SuiteView) -> Table:
    """The tasks of one suite."""
    rows = [(t.id, t.difficulty, figures.number(view.weights[t.id]), t.prompt) for t in view.tasks]
    title = f"{view.suite.title} ({view.suite.name}, version {view.suite.version})"
    return table(title, ("!Task", "!Difficulty", ">Weight", "Prompt"), rows)


def runs(found: Sequence[Run]) -> Table:
    """Runs, newest first."""
    columns = ("!Run", "!State", ">Done", ">Passed", ">Errors", "!Created", "Reason")
    rows = [
        (r.id, r.state, f"{r.done}/{r.planned}", str(r.passed), str(r.errors), r.created_at, r.reason or "")
        for r in found
    ]
    return table("", columns, rows)


def jobs(found: Sequence[Job]) -> Table:
    """The jobs of a run."""
    columns = ("Model", "Endpoint", "Suite", "!State", ">Done", ">Passed", ">Errors", "Step or reason")
    rows = [
        (
            job.model,
            job.endpoint,
            job.suite,
            job.state,
            f"{job.done}/{job.planned}",
            str(job.passed),
            str(job.errors),
            job.reason or job.step or "",
        )
        for job in found
    ]
    return slim("", columns, rows, ["Endpoint", "Suite", "Step or reason"])


def attempts(found: Sequence[AttemptRecord], title: str = "") -> Table:
    """Attempts: what was asked, how it went and why."""
    columns = (">No", "Model", "!Task", "!Result", ">Score", "Why", ">Tokens", ">Time")
    return slim(title, columns, [_attempt_row(record) for record in found], ["Model"])


def _attempt_row(record: AttemptRecord) -> tuple[str, ...]:
    facts = record.facts
    score = facts.get("score")
    task = record.task_id if record.repeat == 1 else f"{record.task_id} #{record.repeat}"
    return (
        str(record.number),
        record.model,
        task,
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


def leaderboard(entries: Sequence[Entry], title: str) -> Table:
    """Ranked rows; a range of ranks means that the intervals leave the order open."""
    columns = ("!Rank", "Model", "Endpoint", ">Score", ">Passed", "!95 % interval", ">Tokens/s", ">TTFT", "Remarks")
    return slim(title, columns, [_entry_row(ranked) for ranked in entries], ["Endpoint", "Remarks"])


def _entry_row(ranked: Entry) -> tuple[str, ...]:
    graded = f"{ranked.tasks_graded} of {ranked.tasks_in_suite} tasks" if ranked.coverage < 1 else ""
    errors = figures.count(ranked.errors, "error") if ranked.errors else ""
    remarks = "; ".join(word for word in (ranked.note or graded, errors) if word)
    return (
        figures.rank(ranked.rank_low, ranked.rank_high),
        ranked.row.model,
        f"{ranked.row.endpoint} ({ranked.row.device})",
        figures.percent(ranked.score),
        figures.percent(ranked.pass_rate),
        figures.interval(ranked.interval),
        figures.number(ranked.decode_tps),
        figures.duration(ranked.ttft_p50_s),
        remarks,
    )


def devices(views: Sequence[DeviceView]) -> Table:
    """Devices with what is unknown about them."""
    columns = ("!Device", "Name", ">Used", ">Total", ">Load", ">Temp.", ">Power", "Endpoints", "Unknown")
    return table("", columns, [_device_row(view) for view in views])


def _device_row(view: DeviceView) -> tuple[str, ...]:
    device = view.device
    return (
        device.id,
        device.name,
        figures.size(device.memory_used_bytes),
        figures.size(device.memory_total_bytes),
        _with_unit(device.utilisation_pct, "%"),
        _with_unit(device.temperature_c, "°C"),
        _with_unit(device.power_w, "W"),
        ", ".join(view.endpoints),
        "; ".join(device.unknown),
    )


def _with_unit(value: float | None, unit: str) -> str:
    return figures.UNKNOWN if value is None else f"{figures.number(value)} {unit}"
