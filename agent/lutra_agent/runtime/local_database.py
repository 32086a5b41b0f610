"""The database beside which the agent runs, and everything that the agent keeps of it on this host."""

from __future__ import annotations

from dataclasses import replace

from lutra_models.server import Host, Server

from lutra_agent.admission.bounds import Bounds, Pace
from lutra_agent.changes.executor import DirectiveExecutor
from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.clock import Clock
from lutra_agent.config.types import Config
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import DatabaseUnavailable, HeldDown, LoginRefused
from lutra_agent.guardrails.monitor import GuardrailMonitor
from lutra_agent.guardrails.service_rules import ServiceRules
from lutra_agent.metrics.host import HostProbe
from lutra_agent.runtime.seen_database import SeenDatabase
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.maxima import OthersMemory, PeakConnections
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, store_snapshots, stored_snapshots
from lutra_agent.state.store import State

ASSUMED = (
    "the memory and the processors of this host count as the server's, and values that depend on them may be wrong: "
    'write those of the server into [agent] of the agent\'s file, such as memory = "2GB" and cores = 2'
)


class LocalDatabase(SeenDatabase):
    """Includes the commands that control it, and the state folder with earlier observations."""

    def __init__(
        self,
        config: Config,
        clock: Clock,
        engine: Engine,
        state: State,
        changes: ChangeStore,
        control: ServerControl,
        probe: HostProbe,
    ) -> None:
        super().__init__(engine, clock, probe, config.restart.data_dir)
        self.config = config
        self.state = state
        self.control = control
        self.changes = changes
        self._assumed = False
        """Whether this host's memory or processors count as those of a server that is not known to run here."""
        self._peak = PeakConnections(state)
        self._others = OthersMemory(state)
        self.rules = ServiceRules(state, config.guard)
        self.monitor = GuardrailMonitor(state, changes, self.rules.guardrails, config.guard)
        self.executor = DirectiveExecutor(engine, state, changes, control, clock, self.read_server, self.bounds)

    def _remembered(self, server: Server) -> Server:
        return replace(server, peak_connections=self._peak.with_seen(server.peak_connections))

    def _shared(self, host: Host) -> Host:
        self._assumed = False
        return self._others.with_seen(host, self.clock.now())

    @property
    def problems(self) -> tuple[str, ...]:
        return (*super().problems, *((ASSUMED,) if self._assumed else ()))

    def _elsewhere(self, host: Host) -> Host:
        agent = self.config.agent
        self._assumed = None in (agent.memory, agent.cores)
        return Host(agent.memory or host.memory_bytes, agent.cores or host.cores)

    @property
    def has_last_known_good(self) -> bool:
        return stored_snapshots(self.state, LAST_KNOWN_GOOD) is not None

    def store_last_known_good(self, server: Server) -> None:
        """A configuration under which a window was measured can be restored, if the server reports it."""
        if server.settings and self.settings_read:
            store_snapshots(self.state, LAST_KNOWN_GOOD, take_snapshots(self.engine, server))

    def why_down(self, error: Exception) -> str:
        """The reason why the server is held down with this error, and the steps that wait for it; empty if there is
        none.
        """
        if not isinstance(error, DatabaseUnavailable | HeldDown) or isinstance(error, LoginRefused):
            return ""
        try:
            self.control.require_not_held()
        except HeldDown as held:
            error = held
        if not isinstance(error, HeldDown):
            return ""
        changes = self.changes.load()
        waiting = " and ".join(c.directive for c in (changes.in_hand, changes.watched) if c is not None)
        return f"{error}; {waiting or 'every change'} waits until the server is up again"

    def bounds(self) -> Bounds:
        """The limits of a directive at this moment."""
        agent, restart = self.config.agent, self.config.restart
        change = self.changes.load().provisional
        return Bounds(
            mode=agent.mode,
            paused=self.state.paused,
            memory_fraction=agent.memory_fraction,
            memory_count=agent.memory_count,
            windows=self.rules.current.maintenance_windows,
            firing=self.monitor.firing,
            unconfirmed=change.directive if change else None,
            confirm_s=self.config.guard.confirm_s,
            baseline=self.monitor.has_baseline,
            durability=agent.durability,
            driver=self.config.driver is not None,
            own_windows=restart.maintenance_windows,
            by_catalogue=agent.ranges == "catalogue",
            pace=Pace(agent.changes_per_hour, restart.per_hour),
        )
