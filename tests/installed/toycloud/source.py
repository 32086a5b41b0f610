"""A parameter group as the setting source of its server: no file of this host, and values that are active later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from lutra_agent.engines.common.source import Activation, Permissions, Scope
from lutra_agent.errors import ApplyRefused
from lutra_models.catalog import Change, load
from lutra_models.catalog.statements import Renderer, Statement, Step
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, ServerSetting

from toycloud.api import Api, ApiError

CATALOGUE = resources.files(__package__) / "toycloud.toml"


def change(name: str, text: str, _restart: bool) -> tuple[Step, ...]:
    return (Statement(name, f"modify-parameter {name} {text}", wanted=text),)


def undo(name: str, text: str | None, _active: str, restart: bool) -> tuple[Step, ...]:
    return (Statement(name, f"reset-parameter {name}"),) if text is None else change(name, text, restart)


RENDERER = Renderer("toycloud", change, undo)


class Delivery(Activation):
    """The cloud gives the server each value by itself, some seconds later."""

    settle_s = 60.0

    def __init__(self, api: Api) -> None:
        self._api = api

    def settled(self) -> bool:
        return self._api.in_sync()


class ParameterGroup:
    name = SERVER
    catalogue = "toycloud"
    scope: Scope = "server"
    backing = None

    def __init__(self, api: Api) -> None:
        self._api = api
        self.activation = Delivery(api)

    def read(self) -> Mapping[str, ServerSetting]:
        rows, found = {r.name: r for r in load(self.catalogue).rows}, dict[str, ServerSetting]()
        for name, (text, active, waits) in self._api.describe().items():
            row, origin = rows[name], "default" if text is None else "group"
            found[name] = ServerSetting(
                active, row.unit, row.kind, applies=row.applies, source=origin, persisted=text, pending_restart=waits
            )
        return found

    def permissions(self, names: Iterable[str]) -> Permissions:
        return Permissions(frozenset(names), may_reload=True)

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return RENDERER.change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return RENDERER.undo(name, text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            try:
                self._api.modify(step.setting, step.wanted if isinstance(step, Statement) else None)
            except ApiError as error:
                raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{step.setting}: {error}") from error
