"""The current knowledge about a database: the catalogue combined with its live server, and the operator's limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lutra_models.catalog import LiveSettings
from lutra_models.errors import InvalidConfiguration
from lutra_models.history import Mode
from lutra_models.knobs import Configuration, KnobSpace, Refusal, Value
from lutra_models.maintenance import MaintenanceWindow
from lutra_models.server import Policy, Server

from lutra_service.db.schema.records import Database


@dataclass(frozen=True)
class ServerContext:
    """A database's settings as they are `live`, and what its `policy` and `mode` allow.

    `waits` is the reason why a restart has to wait, None if it does not. `known` are settings under which the server
    ran, in addition to the current ones: those at its session's start.
    """

    database: Database
    live: LiveSettings
    policy: Policy
    mode: Mode
    windows: tuple[MaintenanceWindow, ...] = ()
    waits: str | None = None
    known: tuple[Mapping[str, Value], ...] = ()

    @property
    def server(self) -> Server:
        return self.live.server

    @property
    def active(self) -> Configuration:
        """Every setting of the catalogue that the server has."""
        return self.live.values

    @cached_property
    def space(self) -> KnobSpace:
        """The settings that the search may move. Raises InvalidConfiguration if none is left."""
        return self.live.space(self.policy, known=self.known)

    def space_for(self, names: Iterable[str]) -> KnobSpace:
        """The space, with settings of `names` that are searched only if evidence recommends them, as far as they may
        move.

        If an operator names the movable settings, no others are added.
        """
        if self.policy.movable is not None:
            return self.space
        rows = (self.live.rows[n] for n in names if n in self.live.rows and n in self.live.values)
        safe = {r.name for r in rows if self.policy.admits(r.risk)}
        if safe <= set(self.space.names):
            return self.space
        return self.live.space(replace(self.policy, movable=frozenset({*self.space.names, *safe})))

    def space_with(self, names: Iterable[str]) -> KnobSpace:
        """The space with further settings that an operator names and that are not searched by default."""
        movable = frozenset(self.space.names).union(names)
        return self.live.space(replace(self.policy, movable=movable), known=self.known)

    def memory_refusal(self, configuration: Mapping[str, Value]) -> Refusal | None:
        """The reason why the memory does not allow these settings over the current ones; None if it does."""
        return self.live.memory_refusal(self.policy, configuration, self.known)

    def parse(self, settings: Mapping[str, Any]) -> dict[str, Value]:
        """Texts with units or plain values, as the server's own numbers. Raises InvalidConfiguration."""
        for name, value in settings.items():
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                raise InvalidConfiguration(f"{name}: {value!r} is neither a number nor a text")
        return {name: self.live.parse(name, value) for name, value in settings.items()}
