"""`lutra-agent check`: what the agent sees, what it may change, and what is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from lutra_models.catalog import LiveSettings, meet
from lutra_models.catalog.limits import Limited
from lutra_models.server import Host, Policy, Server

from lutra_agent.clock import Clock, SystemClock
from lutra_agent.commands.service_check import ask_service
from lutra_agent.config.types import Config, DatabaseConfig, PrometheusConfig, RestartConfig
from lutra_agent.drivers import build, build_loads
from lutra_agent.engines.common.source import Permissions, by_source, lacks_copy
from lutra_agent.engines.common.source import permissions as permissions_of
from lutra_agent.engines.common.telemetry import Telemetry, Visible
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.metrics.rates import Discarded, span
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase

SECONDS = 1.0
MINUTE = timedelta(minutes=1)
TARGETS = ("qps", "tps")


@dataclass(frozen=True)
class MeasuredOnce:
    """`targets` are in their metric's unit; `problems` name what could not be read."""

    targets: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if not self.targets:
            return "neither qps nor tps"
        return ", ".join(f"{name} {value:.0f}" for name, value in self.targets.items())


def measure_once(telemetry: Telemetry, clock: Clock, prometheus: PrometheusConfig | None) -> MeasuredOnce:
    """Raises DatabaseUnavailable."""
    clock.sleep(SECONDS)  # what the agent asked until now has reached the server's counters by then
    before = telemetry.sample(clock.now(), clock.monotonic())
    clock.sleep(SECONDS)
    after = telemetry.sample(clock.now(), clock.monotonic())
    problems = [f"this cannot be read: {problem}" for problem in after.problems]
    if prometheus is not None:
        try:
            Prometheus(prometheus).latency(clock.now() - MINUTE, clock.now())
        except CollectionFailed as error:
            problems.append(f"prometheus.query returns no p99: {error}")
    both = span(before, after)
    if isinstance(both, Discarded):
        return MeasuredOnce({}, (*problems, f"no figures: {both.reason}"))
    problems += both.problems
    found = telemetry.targets(both.before, both.after).metrics
    return MeasuredOnce({name: found[name] for name in TARGETS if name in found}, tuple(problems))


@dataclass(frozen=True)
class Examination:
    """`complete`: the agent can do everything that the configured mode allows, and the service accepts its reports.

    `movable` are the settings that the mode moves by default. Rights to the rest are not checked: a directive with such
    a setting is refused with the statement that is missing.
    """

    server: Server
    mode: str
    connection: str
    visible: tuple[Visible, ...]
    p99: str
    measured: MeasuredOnce
    permissions: Permissions
    shadowed: dict[str, str]
    memory: dict[str, int]
    limits: tuple[Limited, ...]
    movable: tuple[str, ...]
    missing: tuple[str, ...]
    service: str

    @property
    def complete(self) -> bool:
        return not self.missing


def examine(config: Config) -> Examination:
    """Raises DatabaseUnavailable and CollectionFailed, because there is then nothing to examine."""
    clock = SystemClock()
    database = local_database(config, clock)
    try:
        database.engine.health.ping()
        server = database.observed_server()
        live = meet(server)
        movable = _movable(live, config)
        permissions = permissions_of(by_source(database.engine.sources, movable))
        visible = database.engine.telemetry.visible()
        policy = Policy(memory_fraction=config.agent.memory_fraction, memory_count=config.agent.memory_count)
        found = live.memory(policy, {})
        measured = measure_once(database.engine.telemetry, clock, config.prometheus)
        service = ask_service(config.service)
        lacks = [*_missing(config, database, permissions, movable, visible), *measured.problems, *database.problems]
        lacks += [*missing_programs(config), *filter(None, (service.remedy,))]
        return Examination(
            server=server,
            mode=config.agent.mode,
            connection=connection(config.database),
            visible=visible,
            p99=_p99(config, visible),
            measured=measured,
            permissions=permissions,
            shadowed={n: s.shadowed for n, s in server.settings.items() if s.shadowed},
            memory={
                "counted_bytes": found.total_bytes,
                "worst_case_bytes": found.worst_case_bytes,
                "limit_bytes": live.memory_limit(policy),
            },
            limits=live.limited({}),
            movable=movable,
            missing=tuple(dict.fromkeys(lacks)),
            service=service.said,
        )
    except DatabaseUnavailable as error:
        raise DatabaseUnavailable("; ".join(filter(None, (str(error), database.why_down(error))))) from error
    finally:
        database.engine.health.close()


def _movable(live: LiveSettings, config: Config) -> tuple[str, ...]:
    policy = Policy(durability=config.agent.durability, host=config.host.settings)
    applies = ("immediate", "reload") if config.agent.mode == "reload_only" else ("immediate", "reload", "restart")
    reported = live.server.settings
    allowed = [r.name for r in live.rows.values() if r.tune and policy.admits(r.risk)]
    searched = [n for n in allowed if n in reported]
    return tuple(n for n in searched if reported[n].applies in applies and not reported[n].shadowed)


def show(found: Examination, as_json: bool) -> str:
    return json.dumps(_document(found), indent=1) if as_json else "\n".join(_lines(found))


def _missing(
    config: Config,
    database: LocalDatabase,
    permissions: Permissions,
    movable: Sequence[str],
    visible: Sequence[Visible],
) -> Iterator[str]:
    """What the configured mode still lacks, each with its remedy."""
    yield from (v.remedy for v in visible if v.remedy and not v.available)
    if config.agent.mode == "observe":
        return
    yield from permissions.remedies
    if permissions.explanation and len(permissions.changeable) < len(movable):
        yield permissions.explanation
    if config.agent.mode in ("restart_in_window", "lab"):
        if not config.restart.command:
            yield "restart.command is not configured: settings that need a restart stay as they are"
        if lacks_copy(database.engine.sources):
            yield "run the agent under an account that may write the data directory: a restart needs a copy to restore"


def connection(database: DatabaseConfig) -> str:
    """The connection of the agent to the server, and the privacy of its password there."""
    if database.by_socket:
        return "by the server's socket"
    if database.tls_ca is not None:
        return "encrypted, to a server verified by database.tls_ca"
    how = "the server's socket as database.host is better"
    return (
        f"by a port of this host, which any account can take while the server is down: no password in clear text; {how}"
    )


def _p99(config: Config, visible: Sequence[Visible]) -> str:
    if config.driver is not None:
        loads = ", ".join(build_loads(config.driver, config.database))
        return f"the driver ({config.driver.get('kind')}{f', loads {loads}' if loads else ''})"
    if config.prometheus is not None:
        return "the Prometheus query"
    given = next((v.p99 for v in visible if v.p99 and v.available), None)
    return given or "none: no driver, no Prometheus query, no statement statistics"


def _lines(examination: Examination) -> Iterator[str]:
    server, memory = examination.server, examination.memory
    host = f"{_size(server.host.memory_bytes)} of memory, {server.host.cores:g} cores"
    yield f"{server.engine} {server.version}, {server.role}; the database may use {host}; mode {examination.mode}"
    yield f"connected {examination.connection}"
    yield ""
    width = max(len(v.name) for v in examination.visible)
    for item in examination.visible:
        yield f"  {'yes' if item.available else 'no ':3}  {item.name:{width}}  {item.detail}".rstrip()
    yield ""
    yield f"measured over a second: {examination.measured.words}"
    yield f"p99 comes from: {examination.p99}"
    known, tuned, changeable = len(server.settings), len(examination.movable), len(examination.permissions.changeable)
    yield f"settings: {known} known; of the {tuned} that it may tune, this account may change {changeable}"
    for name, by in examination.shadowed.items():
        yield f"  {name} is overridden by {by}"
    for name, setting in server.settings.items():
        if setting.unreached:
            yield f"  {name}: {setting.unreached} have their own values, which a change does not reach"
    counted, worst, limit = (_size(memory[f"{part}_bytes"]) for part in ("counted", "worst_case", "limit"))
    if server.settings:
        yield f"memory: {counted} counted, {worst} in the worst case, limit {limit}"
    else:
        yield "memory: unknown, because the server reports no settings"
    yield f"others: {_others(server.host)}"
    yield from (
        f"limit: {limit.told}{f'; too little: {limit.row.remedy}' if limit.exceeded else ''}"
        for limit in examination.limits
    )
    yield f"service: {examination.service}"
    yield ""
    yield "nothing is missing" if examination.complete else "missing:"
    yield from (f"  {remedy}" for remedy in examination.missing)


def _others(host: Host) -> str:
    """What is known of the memory of others on the server's host."""
    if host.others_bytes is None:
        why = "the agent does not see the server's process and its host's memory"
        return f"unknown, as {why}; the limit is a share of {_size(host.memory_bytes)} and leaves out what others hold"
    share = f"hold up to {_size(host.others_bytes)} of {_size(host.memory_bytes)}"
    return f"{share}, the kernel included; the server's processes hold {_size(host.resident_bytes or 0)} now"


def _document(examination: Examination) -> dict[str, Any]:
    return {
        "engine": examination.server.engine,
        "version": examination.server.version,
        "role": examination.server.role,
        "mode": examination.mode,
        "connection": examination.connection,
        "host": asdict(examination.server.host),
        "visible": [asdict(v) for v in examination.visible],
        "p99": examination.p99,
        "measured": dict(examination.measured.targets),
        "settings": len(examination.server.settings),
        "movable": list(examination.movable),
        "changeable": sorted(examination.permissions.changeable),
        "may_reload": examination.permissions.may_reload,
        "shadowed": examination.shadowed,
        "unreached": {n: s.unreached for n, s in examination.server.settings.items() if s.unreached},
        "memory": examination.memory,
        "limits": [
            {"name": n.row.name, "has": n.has, "needs": n.needs, "what": n.row.what, "remedy": n.row.remedy}
            for n in examination.limits
        ],
        "missing": list(examination.missing),
        "service": examination.service,
        "complete": examination.complete,
    }


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def missing_programs(config: Config) -> Iterator[str]:
    """A line with its remedy for each. Raises ConfigError for a driver that cannot be built."""
    if config.driver is not None:
        drivers = {"driver": build(config.driver, config.database)}
        drivers |= {f"driver.loads, {n}": d for n, d in build_loads(config.driver, config.database).items()}
        for place, driver in drivers.items():
            yield from _unless_there(place, getattr(driver, "program", ""), "install it, or name it with its folder")
    yield from missing_commands(config.restart)


def missing_commands(restart: RestartConfig) -> Iterator[str]:
    for key, command in (("command", restart.command), ("start_command", restart.start_command)):
        if command:
            yield from _unless_there(f"restart.{key}", command[0], "name an existing program, with its folder")


def _unless_there(place: str, program: str, remedy: str) -> Iterator[str]:
    if program and shutil.which(program) is None:
        yield f"{place}: this account cannot find a program {program!r} that it may run: {remedy}"
