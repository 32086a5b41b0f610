"""The database beside which the agent runs, and all that the agent holds of it on this host."""

from __future__ import annotations

from dataclasses import replace

from lutra_models.catalog.readable import readable
from lutra_models.server import Host, Server

from lutra_agent.admission.bounds import Bounds
from lutra_agent.admission.pace import Pace
from lutra_agent.changes.executor import DirectiveExecutor
from lutra_agent.clock import Clock
from lutra_agent.config.types import Config
from lutra_agent.control.server import ServerControl
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.place import Place
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable, HeldDown, LoginRefused
from lutra_agent.guardrails.monitor import GuardrailMonitor
from lutra_agent.guardrails.service_rules import ServiceRules
from lutra_agent.metrics.host import HostProbe
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.others_memory import OthersMemory
from lutra_agent.state.peak_connections import PeakConnections
from lutra_agent.state.store import State


class LocalDatabase:
    """The engine, its host, the commands that control it, and the state folder."""

    def __init__(
        self, config: Config, clock: Clock, engine: Engine, state: State, control: ServerControl, probe: HostProbe
    ) -> None:
        self.config = config
        self.clock = clock
        self.engine = engine
        self.state = state
        self.control = control
        self.probe = probe
        self.changes = ChangeStore(state)
        self._peak = PeakConnections(state)
        self._others = OthersMemory(state)
        self.rules = ServiceRules(state, config.guard)
        self.monitor = GuardrailMonitor(state, self.rules.guardrails, config.guard)
        self.doubt = ""
        """The parts of this host that are not known to be the server's, and the remedy."""
        self.unreadable: tuple[str, ...] = ()
        """Why each setting that the server reports and the catalogue cannot read is left as it is."""
        self.settings_read = True
        """Whether the settings of the server that was given last are those of that moment."""
        self._last: Server | None = None
        self.executor = DirectiveExecutor(engine, state, control, clock, self.read_server, self.bounds)

    @property
    def problems(self) -> tuple[str, ...]:
        """The facts that were unknown or unreadable when the server was read last, each with its remedy."""
        return (*filter(None, (self.doubt,)), *self.unreadable)

    def place(self) -> Place:
        """Raises DatabaseUnavailable and CollectionFailed."""
        found = self.engine.health.place()
        return replace(found, folder=found.folder_or(self.config.restart.data_dir))

    def read_server(self) -> Server:
        """The live server, with the settings that can be read. Raises DatabaseUnavailable and CollectionFailed."""
        server = self.engine.server(self._host())
        found = readable(server.engine, server.settings)
        self.unreadable = tuple(f"{why}: the agent does not change this setting" for why in found.unreadable.values())
        self._last, self.settings_read = self._with_peak(replace(server, settings=found.settings)), True
        return self._last

    def observed_server(self) -> Server:
        """The live server, for callers that change nothing: settings that cannot be read are those read last, or none.

        Raises DatabaseUnavailable, and CollectionFailed if the server does not say who it is.
        """
        try:
            return self.read_server()
        except CollectionFailed as error:
            settings = {} if self._last is None else self._last.settings
            server, self.settings_read = self.engine.server(self._host(), settings), False
            known = "the agent changes none" if self._last is None else "the agent goes by those that it read last"
            self.unreadable = (f"the settings cannot be read: {error}: {known}",)
            return self._with_peak(server)

    def _with_peak(self, server: Server) -> Server:
        return replace(server, peak_connections=self._peak.with_seen(server.peak_connections))

    def _host(self) -> Host:
        """Of a server elsewhere no more than the bounds of memory and processors, which are this host's."""
        place = self.place()
        self.doubt = place.doubt
        found = self.probe.facts(place.process, place.folder)
        if not place.here:
            return Host(found.memory_bytes, found.cores)
        return self._others.with_seen(found, self.clock.now())

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
