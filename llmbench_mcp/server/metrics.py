"""``/metrics``: figures in Prometheus' format. Names from outside are escaped and cut; labels are bounded in number."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from llmbench_mcp import __version__
from llmbench_mcp.domain.hardware import Device
from llmbench_mcp.domain.text import one_line
from llmbench_mcp.server.holder import AppHolder
from llmbench_mcp.server.http_limits import Traffic
from llmbench_mcp.services.metrics import Figures

_LABEL_LIMIT = 120
_MOST_ENDPOINTS = 200
_MOST_DEVICES = 64
_PAIR = ("endpoint", "model")
_DEVICE = ("device", "name")

DEVICE_GAUGES: dict[str, tuple[str, Callable[[Device], float | None]]] = {
    "llmbench_device_memory_total_bytes": ("Memory of the device", lambda d: d.memory_total_bytes),
    "llmbench_device_memory_used_bytes": ("Memory in use", lambda d: d.memory_used_bytes),
    "llmbench_device_utilisation_ratio": ("Share of time at work", lambda d: _share(d.utilisation_pct)),
    "llmbench_device_temperature_celsius": ("Temperature", lambda d: d.temperature_c),
    "llmbench_device_power_watts": ("Power drawn", lambda d: d.power_w),
}
"""What is unknown of a device is left out."""


class MetricsPage:
    """Renders the page, each time anew, from a registry of its own."""

    def __init__(self, holder: AppHolder, traffic: Traffic) -> None:
        self._holder = holder
        self._traffic = traffic

    async def render(self, accept: str) -> tuple[bytes, str]:
        """The page and its content type, in the format that ``accept`` asks for."""
        figures = await (await self._holder.get()).metrics.look()
        registry = CollectorRegistry()
        registry.register(_Page(figures, self._traffic))
        ProcessCollector(registry=registry)
        encode, kind = choose_encoder(accept)
        return encode(registry), kind


class _Page(Collector):
    def __init__(self, figures: Figures, traffic: Traffic) -> None:
        self._figures = figures
        self._traffic = traffic

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("llmbench_build", "This program", {"version": __version__})
        yield from _queue(self._figures)
        yield from _totals(self._figures)
        yield from _speeds(self._figures)
        yield from _endpoints(self._figures)
        yield from _devices(self._figures.devices[:_MOST_DEVICES])
        yield from _http(self._traffic)


def _queue(figures: Figures) -> Iterator[Metric]:
    look = figures.look
    runs = GaugeMetricFamily("llmbench_runs", "Open runs", labels=("state",))
    for state in ("queued", "running", "paused"):
        runs.add_metric((state,), look.runs.get(state, 0))
    yield runs
    jobs = GaugeMetricFamily("llmbench_jobs", "Jobs of open runs", labels=("state",))
    for state in ("pending", "loading", "running", "blocked"):
        jobs.add_metric((state,), sum(job.is_open and job.state == state for job in look.jobs))
    yield jobs
    waiting = sum(max(0, job.planned - job.done - job.errors) for job in look.jobs if job.is_open)
    yield GaugeMetricFamily("llmbench_attempts_waiting", "Attempts of open runs without a result", waiting)
    yield GaugeMetricFamily("llmbench_attempts_in_flight", "Attempts being asked or graded", look.in_flight)
    yield GaugeMetricFamily("llmbench_executor_up", "Whether an executor works", int(figures.executor_alive))


def _totals(figures: Figures) -> Iterator[Metric]:
    totals = figures.totals
    attempts = CounterMetricFamily("llmbench_attempts", "Attempts with a result", labels=(*_PAIR, "outcome"))
    for (endpoint, model, outcome), count in totals.attempts.items():
        attempts.add_metric((_label(endpoint), _label(model), outcome), count)
    yield attempts
    tokens = CounterMetricFamily("llmbench_tokens", "Tokens of prompts and answers", labels=_PAIR)
    for pair, count in totals.tokens.items():
        tokens.add_metric(tuple(map(_label, pair)), count)
    yield tokens
    failures = CounterMetricFamily("llmbench_failures", "Attempts by failure", labels=("endpoint", "failure"))
    for (endpoint, failure), count in totals.failures.items():
        failures.add_metric((_label(endpoint), _label(failure)), count)
    yield failures


def _speeds(figures: Figures) -> Iterator[Metric]:
    decode = SummaryMetricFamily("llmbench_decode_tokens_per_second", "Decode speed of attempts", labels=_PAIR)
    first = SummaryMetricFamily("llmbench_ttft_seconds", "Time to the first token of attempts", labels=_PAIR)
    for pair, sums in figures.totals.speeds.items():
        labels = tuple(map(_label, pair))
        decode.add_metric(labels, count_value=sums.decode_n, sum_value=sums.decode_sum)
        first.add_metric(labels, count_value=sums.ttft_n, sum_value=sums.ttft_sum)
    yield decode
    yield first


def _endpoints(figures: Figures) -> Iterator[Metric]:
    up = GaugeMetricFamily("llmbench_endpoint_up", "Whether it answered last time", labels=("endpoint", "backend"))
    for endpoint in figures.endpoints[:_MOST_ENDPOINTS]:
        if endpoint.reachable is not None:
            up.add_metric((_label(endpoint.name), endpoint.backend), int(endpoint.reachable))
    yield up


def _devices(devices: Iterable[Device]) -> Iterator[Metric]:
    shown = [((_label(device.id), _label(device.name)), device) for device in devices]
    for name, (meaning, value_of) in DEVICE_GAUGES.items():
        gauge = GaugeMetricFamily(name, meaning, labels=_DEVICE)
        for labels, device in shown:
            if (value := value_of(device)) is not None:
                gauge.add_metric(labels, value)
        yield gauge
    energy = CounterMetricFamily("llmbench_device_energy_joules", "The device's own counter", labels=_DEVICE)
    for labels, device in shown:
        if device.energy_j is not None:
            energy.add_metric(labels, device.energy_j)
    yield energy


def _http(traffic: Traffic) -> Iterator[Metric]:
    yield GaugeMetricFamily("llmbench_http_sessions", "Connected clients before 2026", traffic.open_sessions())
    work = GaugeMetricFamily("llmbench_http_requests_in_work", "Requests in work", labels=("kind",))
    for kind in ("call", "stream", "look"):
        work.add_metric((kind,), traffic.kinds[kind])
    yield work
    answered = CounterMetricFamily("llmbench_http_requests", "Requests answered", labels=("route", "status"))
    for (route, status), count in traffic.answered.items():
        answered.add_metric((route, status), count)
    yield answered
    refused = CounterMetricFamily("llmbench_http_refused", "Requests over a limit", labels=("reason",))
    for reason, count in traffic.refused.items():
        refused.add_metric((reason,), count)
    yield refused


def _label(text: str) -> str:
    """Harmless and short; marked where that took something away, or two names could become one series."""
    shown = one_line(text, _LABEL_LIMIT)
    return shown if shown == text else f"{shown}~{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
