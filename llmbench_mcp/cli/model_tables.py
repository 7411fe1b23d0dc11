"""One model in full, and how a probe of it went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from llmbench_mcp.cli import figures
from llmbench_mcp.cli.grid import Column
from llmbench_mcp.cli.tables import sentence, slim, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from llmbench_mcp.domain.capability import Capability
    from llmbench_mcp.domain.model import Home, Model, ModelEvent
    from llmbench_mcp.services.health import ProbeReport

_TOOLS = {
    "unknown": "not checked",
    "native": "calls",
    "text": "calls as text: the server does not read them",
    "none": "no call came back",
}

_LABELS = {"parameter_count": "parameters", "size_bytes": "size", "context_length": "context"}


def details(model: Model, history: Sequence[ModelEvent]) -> Iterator[RenderableType]:
    """Facts with their source, homes, history."""
    reason = f" ({model.status_reason})" if model.status_reason else ""
    yield sentence(f"{model.name}: {model.status}{reason}; id {model.id}")
    yield table((Column("Fact"), Column("Value", wraps=True), Column("Source")), list(_facts(model)))
    yield _homes(model)
    if history:
        columns = (Column("When (UTC)"), Column("What"), Column("Value", wraps=True), Column("Why", note=True))
        yield slim("", columns, [_event(event) for event in history], ["Why"])


def _facts(model: Model) -> Iterator[tuple[str, str, str]]:
    values = {
        "family": model.family,
        "parameter_count": model.parameter_count and figures.parameters(model.parameter_count),
        "quantisation": model.quantisation,
        "size_bytes": model.size_bytes and figures.size(model.size_bytes),
        "context_length": model.context_length and f"{model.context_length} tokens",
        "digest": model.digest,
    }
    for name, value in values.items():
        source = "hand" if name in model.pinned else "guessed from the name" if name in model.guessed else "server"
        yield (_LABELS.get(name, name), value or figures.UNKNOWN, source if value else "")
    for fact in model.known_capabilities:
        yield (fact.name, "yes" if fact.present else "no", _source(fact))
    yield ("first seen", model.first_seen or "", "")
    yield ("last seen", model.last_seen or "", "")


def _source(fact: Capability) -> str:
    return "guessed from the name" if fact.source == "name" else fact.source


def _homes(model: Model) -> RenderableType:
    columns = (Column("Offered at"), Column("As"), Column("Now"), Column("Tools", wraps=True), Column("Assigned"))
    return table(columns, [_home_row(model, home) for home in model.homes])


def _home_row(model: Model, home: Home) -> tuple[str, ...]:
    marks = ["listed" if home.present else "not listed"]
    marks = ["registered by hand"] if home.pinned else marks
    marks += ["runs on another machine"] if home.remote else []
    assigned = "yes" if home.endpoint_id == model.assigned_endpoint_id else ""
    return (home.endpoint_name, home.served_name, ", ".join(marks), _TOOLS[home.tools], assigned)


def _event(event: ModelEvent) -> tuple[str, ...]:
    return (event.at[:19].replace("T", " "), event.kind, event.value, event.reason or "")


def probed(report: ProbeReport) -> Iterable[RenderableType]:
    """Every check of a probe, then what is recorded now."""
    columns = (
        Column("Check"),
        Column("Outcome"),
        Column("Time", right=True),
        Column("Asked again", right=True, drop=1),
        Column("Remarks", note=True),
    )
    rows = [
        (check.name, check.outcome, figures.duration(check.seconds), str(check.retries), check.message)
        for check in report.checks
    ]
    yield slim(f"{report.model.name} at {report.endpoint.name}", columns, rows, ["Remarks"])
    change = "" if report.before == report.model.status else f" (was {report.before})"
    reason = f": {report.model.status_reason}" if report.model.status_reason else ""
    yield sentence(f"Status: {report.model.status}{change}{reason}")
