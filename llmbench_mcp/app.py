"""The composition root: builds every part once and closes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from llmbench_mcp.config import Settings
from llmbench_mcp.credentials.keys import Keys, Shelf
from llmbench_mcp.credentials.page import open_page
from llmbench_mcp.credentials.places import Places
from llmbench_mcp.domain.clock import SystemClock
from llmbench_mcp.domain.ports import (
    BackendFactory,
    Clock,
    CredentialChecker,
    DeviceReader,
    EnergyCounter,
    ProcessOwners,
)
from llmbench_mcp.engine import residency
from llmbench_mcp.engine.chores import Chore
from llmbench_mcp.engine.energy import EnergyMeter, NoCounter
from llmbench_mcp.engine.executor import Executor, Parts
from llmbench_mcp.engine.sampler import DeviceSampler
from llmbench_mcp.scoring.grader import Grader
from llmbench_mcp.services.clearing import Clearing
from llmbench_mcp.services.comparison import Comparisons
from llmbench_mcp.services.credential_requests import CredentialRequests
from llmbench_mcp.services.credentials import Credentials
from llmbench_mcp.services.devices import Devices
from llmbench_mcp.services.discovery import Discovery
from llmbench_mcp.services.endpoints import Endpoints
from llmbench_mcp.services.executors import SCOPE, Executors
from llmbench_mcp.services.exports import Exports
from llmbench_mcp.services.health import Health
from llmbench_mcp.services.leaderboard import Leaderboards
from llmbench_mcp.services.metrics import Metrics
from llmbench_mcp.services.models import Models
from llmbench_mcp.services.planning import Planner
from llmbench_mcp.services.quiet_looks import QuietLooks
from llmbench_mcp.services.reports import Reports
from llmbench_mcp.services.residencies import Residencies
from llmbench_mcp.services.retests import Retests
from llmbench_mcp.services.runs import GIVEN_UP_LOOK_S, Runs, RunStores
from llmbench_mcp.services.schedules import DUE_LOOK_S, Schedules
from llmbench_mcp.services.speeds import Speeds
from llmbench_mcp.services.suites import CatalogView, Suites
from llmbench_mcp.services.upkeep import LOOK_S, Upkeep
from llmbench_mcp.store.attempts import AttemptStore
from llmbench_mcp.store.clearing import ClearingStore
from llmbench_mcp.store.credentials import CredentialStore
from llmbench_mcp.store.database import Database, open_database
from llmbench_mcp.store.endpoints import EndpointStore
from llmbench_mcp.store.events import EventStore
from llmbench_mcp.store.exports import ExportStore
from llmbench_mcp.store.leaderboard import LeaderboardStore
from llmbench_mcp.store.leases import LeaseStore
from llmbench_mcp.store.metrics import MetricsStore
from llmbench_mcp.store.models import ModelStore
from llmbench_mcp.store.residency import ResidencyStore
from llmbench_mcp.store.retention import RetentionStore
from llmbench_mcp.store.retries import RetryStore
from llmbench_mcp.store.runs import RunStore
from llmbench_mcp.store.samples import SampleStore
from llmbench_mcp.store.schedules import ScheduleStore
from llmbench_mcp.store.speed import SpeedStore
from llmbench_mcp.store.summaries import SummaryStore


@dataclass(frozen=True, slots=True)
class App:
    """Everything a front end calls."""

    settings: Settings
    endpoints: Endpoints
    credentials: Credentials
    credential_requests: CredentialRequests
    models: Models
    suites: Suites
    runs: Runs
    leaderboards: Leaderboards
    comparisons: Comparisons
    speeds: Speeds
    reports: Reports
    exports: Exports
    clearing: Clearing
    devices: Devices
    metrics: Metrics
    health: Health
    residencies: Residencies
    schedules: Schedules
    upkeep: Upkeep
    executors: Executors
    executor: Executor
    """The executor of this data directory; only ``executor run`` runs it."""


@dataclass(frozen=True, slots=True)
class Doors:
    """What tests replace: the outside world."""

    clock: Clock
    backends: BackendFactory
    devices: DeviceReader
    check_credential: CredentialChecker
    spawns_executors: bool = True
    """False where the caller runs ``App.executor`` itself."""
    energy: EnergyCounter = field(default_factory=NoCounter)
    owners: ProcessOwners | None = None
    keys: Keys | None = None
    """What ``backends`` resolve references with; None where tests need none."""


def real_doors(settings: Settings | None = None) -> Doors:
    """The real clock, backends and devices; without settings, no other machine's."""
    from llmbench_mcp.backends.registry import EntryPointBackends
    from llmbench_mcp.credentials.environment import check_reference
    from llmbench_mcp.credentials.known import known
    from llmbench_mcp.gpu.reader import MachineDevices

    clock = SystemClock()
    keys = Keys()
    backends = EntryPointBackends(
        resolve_secret=keys.resolve,
        redact=known().redact_known,
        clock=clock,
        agents_stay_near=settings is None or not settings.agent_any_address,
    )
    devices = MachineDevices(exporters=settings.exporters if settings else ())
    return Doors(clock, backends, devices, check_reference, energy=devices, owners=devices, keys=keys)


@asynccontextmanager
async def open_app(settings: Settings, doors: Doors | None = None) -> AsyncIterator[App]:
    """Open the data directory and build the services on it.

    Raises:
        StorageError: the data directory or database cannot be used.
    """
    outside = doors or real_doors(settings)
    async with open_database(settings.database_path) as database:
        app = _build(database, settings, outside)
        async with aclosing(app.credential_requests):
            yield app


def _build(database: Database, settings: Settings, outside: Doors) -> App:
    endpoint_store = EndpointStore(database, outside.clock)
    lease_store = LeaseStore(database, outside.clock)
    grader = Grader(min_isolation=settings.min_isolation)
    model_store = ModelStore(database, outside.clock)
    suites = Suites(lambda: _load_catalog(settings))
    credentials = _credentials(database, endpoint_store, settings, outside)
    endpoints = Endpoints(endpoint_store, outside.backends, outside.devices, credentials, settings)
    discovery = Discovery(model_store, endpoint_store, endpoints, outside.backends, settings, outside.clock)
    models = Models(model_store, endpoints, discovery)
    executors = Executors(lease_store, settings, outside.spawns_executors)
    planner = Planner(models, endpoints, suites, outside.backends, grader)
    rooms = _rooms(database, endpoint_store, settings, outside)
    samples = SampleStore(database)
    sampler = DeviceSampler(outside.devices, samples, outside.clock, settings)
    runs = Runs(_run_stores(database, outside.clock), planner, executors, settings, outside.clock)
    reports, exports = _leaving(database, runs, settings, outside.clock)
    looks = QuietLooks(discovery, endpoint_store, lease_store, settings, outside.clock)
    schedule_store = ScheduleStore(database, outside.clock)
    retests = Retests(schedule_store, planner, models, grader, settings)
    schedules = Schedules(schedule_store, retests, runs, executors, looks, outside.clock)
    upkeep = Upkeep(RetentionStore(database, outside.clock), SummaryStore(database), models, settings, outside.clock)
    chores = _chores(settings, schedules, upkeep, runs, lambda: models.keep_discovering(looks.look))
    meter = EnergyMeter(outside.energy)
    parts = Parts(database, lease_store, model_store, grader, rooms, meter, sampler, chores)
    return App(
        settings=settings,
        endpoints=endpoints,
        credentials=credentials,
        credential_requests=CredentialRequests(credentials, endpoints, open_page),
        models=models,
        suites=suites,
        runs=runs,
        leaderboards=Leaderboards(LeaderboardStore(database), suites),
        comparisons=Comparisons(LeaderboardStore(database), suites, models, runs),
        speeds=Speeds(SpeedStore(database), suites),
        reports=reports,
        exports=exports,
        clearing=Clearing(ClearingStore(database), runs, executors, outside.clock),
        devices=Devices(outside.devices, endpoint_store, samples, outside.clock, outside.owners),
        metrics=Metrics(MetricsStore(database), endpoint_store, outside.devices, executors, outside.clock),
        health=Health(model_store, models, rooms, lease_store),
        residencies=Residencies(rooms, lease_store, endpoints, models),
        schedules=schedules,
        upkeep=upkeep,
        executors=executors,
        executor=Executor(parts, outside.clock, SCOPE),
    )


def _credentials(database: Database, endpoints: EndpointStore, settings: Settings, outside: Doors) -> Credentials:
    rows, places = CredentialStore(database), Places(settings.credential_dir, settings.credential_store)
    if outside.keys is not None:
        outside.keys.open(Shelf(rows, places, outside.clock))
    return Credentials(rows, endpoints, places, outside.check_credential, outside.clock)


def _rooms(database: Database, endpoints: EndpointStore, settings: Settings, outside: Doors) -> residency.Parts:
    loads = ResidencyStore(database, outside.clock)
    return residency.Parts(outside.clock, outside.backends, endpoints, outside.devices, loads, settings)


def _run_stores(database: Database, clock: Clock) -> RunStores:
    return RunStores(
        RunStore(database, clock), AttemptStore(database), RetryStore(database, clock), EventStore(database)
    )


def _leaving(database: Database, runs: Runs, settings: Settings, clock: Clock) -> tuple[Reports, Exports]:
    """What writes results down for others; keys known by then are taken out of them."""
    from llmbench_mcp.credentials.known import known

    store = ExportStore(database)

    def redactor() -> Callable[[str], str]:
        return known().redact_known

    reports = Reports(store, LeaderboardStore(database), runs, redactor, clock)
    return reports, Exports(store, reports, runs, redactor, settings, clock)


def _chores(
    settings: Settings,
    schedules: Schedules,
    upkeep: Upkeep,
    runs: Runs,
    keep_discovering: Callable[[], Awaitable[None]],
) -> tuple[Chore, ...]:
    """What an executor does beside its work."""
    return (
        Chore("ending half-written runs", GIVEN_UP_LOOK_S, runs.end_given_up),
        Chore("keeping schedules", DUE_LOOK_S, schedules.start_due),
        Chore("discovery", settings.discover_every_s, keep_discovering),
        Chore("upkeep", LOOK_S, upkeep.look),
    )


def _load_catalog(settings: Settings) -> CatalogView:
    from llmbench_mcp.catalog.catalog import Catalog

    return Catalog.load_readable((settings.tasks_dir,) if settings.tasks_dir else (), settings.imports_dir)
