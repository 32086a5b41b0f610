"""The surroundings of `lutra-agent tune`: the lock decides whether it works or watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lutra_models.catalog.statements import Step, to_paste
from lutra_models.server import ServerSetting

from lutra_agent.clock import Clock, SystemClock
from lutra_agent.config.types import Config
from lutra_agent.drivers import build_loads
from lutra_agent.engines.common.source import source_of
from lutra_agent.errors import ConfigError, ServiceUnavailable
from lutra_agent.reporting.transport import Transport
from lutra_agent.runtime.compose import local_database, running
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.loop import Loop
from lutra_agent.runtime.signals import DeferredSignals, Stopped
from lutra_agent.state.snapshot import BASELINE, active_in, stored_snapshots
from lutra_agent.state.store import State

GOALS = {"qps": "maximize", "tps": "maximize", "p99_ms": "minimize"}
OPEN = ("running", "settled", "paused")
WATCH_S = 2.0
SENT_S = 30.0


def run_session(config: Config, request: SessionRequest) -> Iterator[str]:
    """Yields the session's lines. Raises ConfigError if the agent's file does not allow a lab session."""
    if config.agent.mode != "lab" or config.driver is None:
        raise ConfigError("a tuning session needs agent.mode = 'lab' and a [driver] section")
    request = _with_loads(config, config.driver, request)
    clock = SystemClock()
    transport = Transport(config.service, config.service.token())
    signals = DeferredSignals()
    signals.install()
    try:
        if not _free(config):
            yield "an agent is already running here: watching its session"
            yield from Session(transport, None, clock, request).lines()
        else:
            with running(config, clock, signals) as loop:
                yield from Session(transport, loop, clock, request).lines()
        yield from _statements(config)
    except Stopped:
        yield "ended; the session is still open on the service"
    finally:
        transport.close()


def _with_loads(config: Config, driver: Mapping[str, Any], request: SessionRequest) -> SessionRequest:
    """Under the loads that were asked for; without any, under all that the agent's file names."""
    known = build_loads(driver, config.database)
    if unknown := [name for name in request.loads if name not in known]:
        raise ConfigError(f"--load {unknown[0]}: the file's [[driver.loads]] has {', '.join(known) or 'none'}")
    return request if request.loads else replace(request, loads=dict.fromkeys(known, 1.0))


def _statements(config: Config) -> Iterator[str]:
    """What is active now and was not before the agent's first change, as statements."""
    database = local_database(config, SystemClock())
    baseline = stored_snapshots(database.state, BASELINE)
    try:
        if baseline is not None:
            settings, before = database.read_server().settings, active_in(baseline)
            changed = [n for n, s in settings.items() if s.value != before.get(n, s.value)]
            yield f"active now, {len(changed)} settings different from the baseline:"
            yield from (f"  {line}" for line in to_paste(s for n in changed for s in _steps(database, n, settings[n])))
    finally:
        database.engine.health.close()


def _steps(database: LocalDatabase, name: str, setting: ServerSetting) -> tuple[Step, ...]:
    source = source_of(database.engine.sources, name)
    return source.undo(name, setting.persisted, setting.value, restart=False)


def _free(config: Config) -> bool:
    state = State(config.agent.state_dir)
    free = state.lock()
    state.unlock()
    return free


@dataclass(frozen=True)
class SessionRequest:
    """The options of the session; `metric` is one of GOALS."""

    metric: str
    trials: int
    verification_rounds: int
    seed: int
    limits: tuple[Mapping[str, Any], ...] = ()
    max_changes: int | None = None
    """The maximum number of settings that may change; None for any."""
    loads: Mapping[str, float] = field(default_factory=dict)
    """The weights of the loads under which each trial is measured, by name; empty for the driver's own load."""
    aim: str = "weighted"

    def body(self) -> dict[str, Any]:
        loads = [{"name": name, "weight": weight} for name, weight in self.loads.items()]
        return {
            "objective": {"metric": self.metric, "goal": GOALS[self.metric]},
            "limits": [dict(limit) for limit in self.limits],
            "mode": "lab",
            "approval": "automatic",
            "max_trials": self.trials,
            "verification_rounds": self.verification_rounds,
            **({} if self.max_changes is None else {"max_changes": self.max_changes}),
            **({"loads": loads, "aim": self.aim} if loads else {}),
            "seed": self.seed,
        }


@dataclass
class Session:
    """One tuning session, followed over REST. `loop` carries its directives out; None if a running agent does."""

    transport: Transport
    loop: Loop | None
    clock: Clock
    request: SessionRequest
    _shown: set[int] = field(default_factory=set)

    def lines(self) -> Iterator[str]:
        """Start the session and yield a line per trial, then the result. Raises ServiceRefused for a bad request."""
        if self.loop is not None:
            self.loop.cycle()
            self.loop.sent(SENT_S)  # the service must know the database before it can make a session for it
        session = self.transport.start_session(self.request.body())
        yield f"session {session['id']}: {self.request.trials} trials"
        while session["state"] in OPEN:
            if self.loop is not None:
                self.loop.cycle()
            else:
                self.clock.sleep(WATCH_S)
            session, trials = self._fetch(session)
            yield from self._new_trials(trials)
        yield from self._result(session)

    def _fetch(self, session: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        try:
            found = self.transport.get(f"/v1/sessions/{session['id']}")
            return found, self.transport.get(f"/v1/sessions/{session['id']}/trials")["items"]
        except ServiceUnavailable:
            return session, []  # the trial goes on without the service; ask again after the next cycle

    def _new_trials(self, trials: list[dict[str, Any]]) -> Iterator[str]:
        for trial in trials:
            measured, failed = trial.get("measured"), trial.get("failed")
            if trial["trial"] in self._shown or not (measured or failed):
                continue
            self._shown.add(trial["trial"])
            changes = ", ".join(f"{c['setting']} → {c['after_text']}" for c in trial.get("changes") or ())
            told = failed or _bound(trial) or self._figures(measured or {})
            yield f"trial {trial['trial']}: {told}  {changes}".rstrip()

    def _result(self, session: dict[str, Any]) -> Iterator[str]:
        yield f"session {session['id']} is {session['state']} {session.get('message') or ''}".rstrip()
        handover = session.get("handover")
        if not handover:
            return
        best = self.transport.get(f"/v1/recommendations/{handover}")
        yield f"handed over: {self._figures(best.get('measured') or {})}".rstrip()
        if session.get("measured_under"):
            yield session["measured_under"]

    def _figures(self, measured: Mapping[str, Any]) -> str:
        """Without several loads the targets; else the aim, and the targets under each load."""
        if not self.request.loads:
            return figures(measured)
        aim = f"aim.{self.request.metric}"
        told = [f"aim {measured[aim]:.3f}"] if aim in measured else []
        each = ((load, figures(measured, f".{load}")) for load in self.request.loads)
        return "  ".join([*told, *(f"[{load}] {shown}" for load, shown in each if shown)])


def _bound(trial: Mapping[str, Any]) -> str:
    """What a window says that was ended early; empty for any other."""
    ended = trial.get("ended_early")
    if not ended:
        return ""
    side = "at most" if GOALS.get(ended["metric"]) == "maximize" else "at least"
    return f"{ended['metric']} {side} {ended['bound']:,.2f}: ended early"


def figures(measured: Mapping[str, Any], load: str = "") -> str:
    """`load` is the suffix of the targets' names if they were measured under one of several loads."""
    return "  ".join(f"{m} {measured[m + load]:,.2f}" for m in ("qps", "tps", "p99_ms") if m + load in measured)


def weight(text: str) -> tuple[str, float]:
    """`many` or `many=2`: a load's name and its weight. Raises ValueError."""
    name, given, number = text.partition("=")
    return name.strip(), float(number) if given else 1.0


def limit(text: str) -> dict[str, Any]:
    """`p99_ms<=20` or `qps>=900` in the service's form. Raises ValueError."""
    for sign, side in (("<=", "at_most"), (">=", "at_least")):
        metric, found, bound = text.partition(sign)
        if found:
            return {"metric": metric.strip(), side: float(bound)}
    raise ValueError(f"expected METRIC<=NUMBER or METRIC>=NUMBER, got {text!r}")
