"""The server's settings, which it keeps in a file of its own: `SET` writes there, `UNSET` takes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.errors import ApplyRefused
from lutra_models.catalog import Change, load
from lutra_models.catalog.statements import Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, ServerSetting

from toykv.engine import conf
from toykv.engine.client import Client, Refused
from toykv.engine.health import ToykvHealth

FILE = "kept.conf"


class KeptFile(Backing):
    read_at_start_alone = True

    def __init__(self, health: ToykvHealth) -> None:
        self._health = health

    def settings_file(self) -> Path | None:
        return self.settings_file_in(self._health.place().folder)

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return None if data_dir is None else data_dir / FILE

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return conf.rewritten(content, texts)

    def says(self, content: bytes) -> Mapping[str, str]:
        return conf.says(content)


class ToykvSettings:
    name = SERVER
    catalogue = "toykv"
    scope: Scope = "server"
    activation = Activation()
    """Everything that needs no restart is active with its command."""

    def __init__(self, client: Client, health: ToykvHealth) -> None:
        self._client = client
        self._renderer = renderer(self.catalogue)
        self.backing = KeptFile(health)

    def read(self) -> Mapping[str, ServerSetting]:
        rows = {r.name for r in load(self.catalogue).rows}
        settings = (_setting(line.split("|")) for line in self._client.ask("SETTINGS"))
        return {name: setting for name, setting in settings if name in rows}

    def permissions(self, names: Iterable[str]) -> Permissions:
        self._client.ask("PING")
        return Permissions(frozenset(names), may_reload=True)

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return self._renderer.change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return self._renderer.undo(name, text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            try:
                self._client.ask(step.text)
            except Refused as error:
                raise ApplyRefused(ApplyCode.INVALID_VALUE, f"{step.setting}: {error}") from error


def _setting(fields: list[str]) -> tuple[str, ServerSetting]:
    name, value, kind, unit, low, high, options, applies, kept, waits = fields
    return name, ServerSetting(
        value=value,
        unit=unit,
        kind=kind,  # type: ignore[arg-type]
        low=float(low) if low else None,
        high=float(high) if high else None,
        options=tuple(options.split(",")) if kind == "enum" else (),
        applies=applies,  # type: ignore[arg-type]
        source="kept file" if kept else "default",
        persisted=kept or None,
        pending_restart=bool(waits),
    )
