"""A database and its host as they are, without changing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lutra_models.catalog.readable import readable
from lutra_models.server import Host, Server
from lutra_models.symptoms import MeasuredWindow

from lutra_agent.clock import Clock
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.place import Place
from lutra_agent.errors import CollectionFailed, NoAnswer, NoConnectionLeft
from lutra_agent.metrics.host import HostProbe
from lutra_agent.metrics.measure import Measure
from lutra_agent.metrics.rates import Discarded

LONGEST_WINDOW_S = 10.0
NONE_LEFT, MUTE = "login.none_left", "login.mute"
"""Metrics of a look: 1 if the server has no free connection, or does not answer."""
ADMITTED = {NONE_LEFT: 0.0, MUTE: 0.0}
UNKNOWN_VERSION = "0"
"""The state of a server that does not answer: it has no settings."""


class SeenDatabase:
    """The engine and its host. `data_dir` is the data folder from the agent's own file."""

    def __init__(self, engine: Engine, clock: Clock, probe: HostProbe, data_dir: Path | None = None) -> None:
        self.engine = engine
        self.clock = clock
        self.probe = probe
        self._data_dir = data_dir
        self.doubt = ""
        """What of this host is not known to be the server's, and the way out."""
        self.unreadable: tuple[str, ...] = ()
        """Why each setting that the server reports and the catalogue cannot read is left as it is."""
        self.settings_read = True
        """Whether the settings of the server that was given last are those of that moment."""
        self._last: Server | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """The facts that were unknown or unreadable when the server was read last, each with its remedy."""
        return (*filter(None, (self.doubt,)), *self.unreadable)

    def place(self) -> Place:
        """Raises DatabaseUnavailable and CollectionFailed."""
        found = self.engine.health.place()
        return replace(found, folder=found.folder_or(self._data_dir))

    def read_server(self) -> Server:
        """The live server, with the settings that can be read. Raises DatabaseUnavailable and CollectionFailed."""
        server = self.engine.server(self._host())
        found = readable(server.engine, server.settings)
        self.unreadable = tuple(f"{why}: the agent does not change this setting" for why in found.unreadable.values())
        self._last, self.settings_read = self._remembered(replace(server, settings=found.settings)), True
        return self._last

    def observed_server(self) -> Server:
        """The live server, for readers that change nothing: settings that cannot be read are those read last, or none.

        Raises DatabaseUnavailable, and CollectionFailed if the server does not identify itself.
        """
        try:
            return self.read_server()
        except CollectionFailed as error:
            settings = {} if self._last is None else self._last.settings
            server, self.settings_read = self.engine.server(self._host(), settings), False
            known = "the agent changes none" if self._last is None else "the agent goes by those that it read last"
            self.unreadable = (f"the settings cannot be read: {error}: {known}",)
            return self._remembered(server)

    def windows(self, seconds: float, *, names: bool = True) -> Iterator[tuple[MeasuredWindow, tuple[str, ...]]]:
        """Windows of at most ten seconds, each with the metrics that could not be read. Raises DatabaseUnavailable."""
        measure = Measure(self.engine.telemetry, self.probe, self.clock, self.place, names=names)
        before, end = measure.sample(), self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            self.clock.sleep(min(left, LONGEST_WINDOW_S))
            after = measure.sample()
            content = measure.window(before, after)
            if not isinstance(content, Discarded):
                length_s = after.monotonic_s - before.monotonic_s
                yield MeasuredWindow(length_s, {**ADMITTED, **content.metrics}, content.texts), tuple(content.problems)
            before = after

    def _remembered(self, server: Server) -> Server:
        """With what was seen of it before, where that is kept."""
        return server

    def _shared(self, host: Host) -> Host:
        """With what others held there before, where that is kept."""
        return host

    def _elsewhere(self, host: Host) -> Host:
        """Of a server that is not known to run on this `host` no more than the bounds of memory and processors."""
        return Host(host.memory_bytes, host.cores)

    def _host(self) -> Host:
        place = self.place()
        self.doubt = place.doubt
        found = self.probe.facts(place.process, place.folder)
        return self._shared(found) if place.here else self._elsewhere(found)


def admits_nobody(
    error: NoConnectionLeft | NoAnswer, engine: str, probe: HostProbe, seconds: float
) -> tuple[Server, MeasuredWindow]:
    """A server that admits nobody, or does not answer, and the window that reports it."""
    how = NONE_LEFT if isinstance(error, NoConnectionLeft) else MUTE
    return Server(engine, UNKNOWN_VERSION, {}, probe.facts(None, None)), MeasuredWindow(seconds, {how: 1.0})
