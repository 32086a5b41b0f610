"""The settings of a server of the family: what MySQL and MariaDB have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lutra_models.catalog import Change, load
from lutra_models.catalog.rows import KnobRow
from lutra_models.catalog.statements import FileLine, Step, renderer
from lutra_models.errors import ApplyCode
from lutra_models.server import SERVER, ServerSetting

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.source import Backing, Permissions, Scope
from lutra_agent.engines.mysql.server import grants, replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.session import Details, Session
from lutra_agent.engines.mysql.sources.changing import Changing
from lutra_agent.errors import ApplyRefused, CollectionFailed


class Store(Protocol):
    """The place where a server keeps changed settings over a restart: MySQL and MariaDB differ in it."""

    def settings(
        self, connection: Connection, rows: Sequence[KnobRow], details: Details
    ) -> dict[str, ServerSetting]: ...

    def restarts(self, connection: Connection, row: KnobRow) -> bool:
        """Whether a setting takes a new value only at the start."""
        ...

    def file(self, data_dir: Path | None) -> Path | None:
        """The file that keeps settings over a restart, of a server that has its data there."""
        ...

    def file_of(self, place: Place) -> Path | None:
        """The same of a server that runs; None if it is not proven to be its own."""
        ...

    def rewritten(self, content: bytes, texts: Mapping[str, str | None], now_s: float) -> bytes:
        """That file's content with these texts. Raises ValueError for other content."""
        ...

    def file_says(self, content: bytes) -> Mapping[str, str]:
        """Setting → text."""
        ...

    def permissions(self, held: frozenset[str], account: str, names: Mapping[str, bool], place: Place) -> Permissions:
        """`held` are the account's privileges. `names` are settings, and whether each needs a restart."""
        ...


class StoreFile(Backing):
    read_at_start_alone = True

    def __init__(self, session: Session, store: Store, now_s: Callable[[], float]) -> None:
        self._session = session
        self._store = store
        self._now_s = now_s

    def settings_file(self) -> Path | None:
        return self._store.file_of(self._session.details().place)

    def settings_file_in(self, data_dir: Path | None) -> Path | None:
        return self._store.file(data_dir)

    def rewritten(self, content: bytes, texts: Mapping[str, str | None]) -> bytes:
        return self._store.rewritten(content, texts, self._now_s())

    def says(self, content: bytes) -> Mapping[str, str]:
        return self._store.file_says(content)


class MysqlSource:
    name = SERVER
    scope: Scope = "server"

    def __init__(self, session: Session, store: Store, changing: Changing, now_s: Callable[[], float]) -> None:
        self.catalogue = session.product.family
        self._renderer = renderer(self.catalogue)
        self._session = session
        self._store = store
        self.backing = StoreFile(session, store, now_s)
        self.activation = self._changing = changing

    @understood("settings")
    def read(self) -> dict[str, ServerSetting]:
        rows = tuple(self._rows().values())
        return self._store.settings(self._session.connection, rows, self._session.details())

    @understood("rights")
    def permissions(self, names: Iterable[str]) -> Permissions:
        place = self._session.details().place
        connection = self._session.connection
        held, account = grants.read(connection)
        found = self._store.permissions(held, account, {n: self._restarts(n) for n in names}, place)
        try:
            replica.channels(connection)
        except CollectionFailed as error:
            return replica.unseen(found, connection.server_version, account, str(error))
        return found

    def plan(self, change: Change, restart: bool) -> tuple[Step, ...]:
        # A live server may take minutes to shrink a buffer pool full of changed pages; one that starts does not.
        return self._renderer.change(change.name, change.value_text, restart or change.applies == "restart")

    def undo(self, name: str, text: str | None, active: str, restart: bool) -> tuple[Step, ...]:
        return self._renderer.undo(name, text, active, restart or self._restarts(name))

    def execute(self, steps: Sequence[Step]) -> None:
        place = self._session.details().place
        if any(isinstance(s, FileLine) for s in steps) and self._store.file_of(place) is None:
            raise ApplyRefused(
                ApplyCode.INSUFFICIENT_PRIVILEGE, place.doubt or "database.include_file is not configured"
            )
        self._changing.execute(steps)

    def _rows(self) -> dict[str, KnobRow]:
        return {r.name: r for r in load(self.catalogue).rows_for(self._session.details().version)}

    def _restarts(self, name: str) -> bool:
        row = self._rows().get(name)
        try:
            return row is not None and self._store.restarts(self._session.connection, row)
        except CollectionFailed:  # without room for a temporary table, say: the catalogue knows as well
            return row is not None and row.applies == "restart"
