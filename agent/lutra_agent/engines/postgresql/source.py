"""The settings of a PostgreSQL server: ALTER SYSTEM, postgresql.auto.conf and a reload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lutra_models.catalog import Change, load
from lutra_models.catalog.statements import Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, ServerSetting

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.source import Activation, Backing, Permissions, Scope
from lutra_agent.engines.postgresql.permissions import read_permissions
from lutra_agent.engines.postgresql.server.session import Session
from lutra_agent.engines.postgresql.settings import SETTINGS_FILE, parse_settings_file, read_settings, rewritten
from lutra_agent.errors import ApplyRefused, CollectionFailed


class AutoConf(Backing):
    """`postgresql.auto.conf` in the folder of the data."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def settings_file(self) -> Path | None:
        return self.settings_file_in(self._session.details().data_dir)

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return None if data_dir is None else data_dir / SETTINGS_FILE

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return rewritten(content.decode(errors="surrogateescape"), texts).encode(errors="surrogateescape")

    def says(self, content: bytes) -> Mapping[str, str]:
        return parse_settings_file(content.decode(errors="replace"))


class ReloadsFile(Activation):
    """The server reads its files again, asynchronously."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def reload(self) -> None:
        try:
            self._session.connection.row("SELECT pg_reload_conf()")
        except CollectionFailed as error:
            raise ApplyRefused(ApplyCode.INSUFFICIENT_PRIVILEGE, f"pg_reload_conf(): {error}") from error


class PostgresSource:
    name = SERVER
    scope: Scope = "server"

    def __init__(self, session: Session, catalogue: str) -> None:
        self.catalogue = catalogue
        self._renderer = renderer(catalogue)
        self._session = session
        self.backing = AutoConf(session)
        self.activation = ReloadsFile(session)

    @understood("settings")
    def read(self) -> dict[str, ServerSetting]:
        details = self._session.details()
        names = tuple(r.name for r in load(self.catalogue).rows_for(details.version))
        return read_settings(self._session.connection, names, self.backing.settings_file_in(details.data_dir))

    @understood("rights")
    def permissions(self, names: Iterable[str]) -> Permissions:
        details = self._session.details()
        file = self.backing.settings_file_in(details.data_dir)
        return read_permissions(self._session.connection, details.major, tuple(names), file)

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        return self._renderer.change(change.name, change.value_text, restart)

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return self._renderer.undo(name, text, active, restart)

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            try:
                self._session.connection.change(step.text)
            except CollectionFailed as error:
                raise ApplyRefused(_code(str(error)), f"{step.setting}: {error}") from error


def _code(text: str) -> ApplyCode:
    return ApplyCode.INSUFFICIENT_PRIVILEGE if "[42501]" in text else ApplyCode.INVALID_VALUE
