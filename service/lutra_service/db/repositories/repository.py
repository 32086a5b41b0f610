"""The operations of every repository: read records, insert them, and change rows on a condition. It never commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, cast

from lutra_models.errors import LutraError, NotFound
from sqlalchemy import ColumnElement, CursorResult, delete, insert, select, update
from sqlalchemy import Table as SqlTable
from sqlalchemy.orm import Session

from lutra_service.db.repositories.ledger import Ledger
from lutra_service.db.schema.rows import Rows, rows_of
from lutra_service.db.schema.tables import Table
from lutra_service.db.schema.transitions import News

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
import base64
import json
import zlib

from lutra_service.common.documents import Document

PACKED = "packed"

R = TypeVar("R", bound="DataclassInstance")
Condition = ColumnElement[bool]
Self = TypeVar("Self", bound="Repository[Any]")
Asked = ParamSpec("Asked")
Answered = TypeVar("Answered")
REMEMBERED = "lutra_remembered"


def remembered(
    read: Callable[Concatenate[Self, Asked], Answered],
) -> Callable[Concatenate[Self, Asked], Answered]:
    """Decorate a reading method: a transaction runs the same query once, until it writes to the table or takes
    a lock.
    """

    @wraps(read)
    def once(self: Self, /, *args: Asked.args, **more: Asked.kwargs) -> Answered:
        known = self.read_before
        key = (read.__name__, args, tuple(more.items()))
        if key not in known:
            known[key] = read(self, *args, **more)
        return cast(Answered, known[key])

    return once


class RowMoved(LutraError):
    """A row is no longer in the state in which it was read."""

    code = "conflict"


class Repository(Generic[R]):
    row: ClassVar[type[Table]]
    record: type[R]
    noun: ClassVar[str] = "row"
    reserve: ClassVar[int] = 0
    """The bytes that an added row counts in addition to its documents, if later updates fill it."""

    def __init__(self, db: Session, news: News, ledger: Ledger | None = None) -> None:
        """With a `ledger`, what is added counts against the quota of the record's database."""
        self._db = db
        self._news = news
        self._ledger = ledger

    @property
    def table(self) -> SqlTable:
        return cast(SqlTable, self.row.__table__)

    @property
    def rows(self) -> Rows[R]:
        """How its records are stored."""
        return rows_of(self.record)

    @property
    def read_before(self) -> dict[Any, Any]:
        """The rows of the table that this transaction has read."""
        known: dict[str, dict[Any, Any]] = self._db.info.setdefault(REMEMBERED, {})
        return known.setdefault(self.table.name, {})

    def _forget(self, every_table: bool = False) -> None:
        if every_table:
            self._db.info.pop(REMEMBERED, None)
        else:
            self.read_before.clear()

    def add(self, record: R) -> R:
        self._forget()
        values = self._values(record)
        self._db.execute(insert(self.table).values(values))
        self._news.note_new(record)
        owner = None if self._ledger is None else self._database_of(record)
        if self._ledger is not None and owner is not None:
            self._ledger.add(owner, values, self.reserve)
        return record

    @remembered
    def find(self, id_: str) -> R | None:
        return self._one(self.table.c.id == id_)

    def get(self, id_: str) -> R:
        """Raises NotFound."""
        found = self.find(id_)
        if found is None:
            raise NotFound(f"no {self.noun} {id_!r}")
        return found

    def change(self, id_: str, *conditions: Condition, **values: Any) -> bool:
        """Set `values`, fields of the record, on the row where every condition still holds; whether it did."""
        changed = self._update(self.table.c.id == id_, *conditions, **self._stored(values)) == 1
        if changed:
            self._news.note(id_)
        return changed

    def page(self, *where: Condition, limit: int, after: str | None = None, newest_first: bool = False) -> list[R]:
        """Up to `limit` records in the order of their ids, which is the order of their creation."""
        ids = self.table.c.id
        statement = select(self.table).where(*where).order_by(ids.desc() if newest_first else ids).limit(limit)
        if after is not None:
            statement = statement.where(ids < after if newest_first else ids > after)
        return self._many(statement)

    def _values(self, record: R) -> dict[str, Any]:
        """The row as it is stored."""
        return self._stored(self.rows.fields(record))

    def _stored(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of these fields."""
        return self.rows.written(values)

    def _as_record(self, row: Mapping[Any, Any]) -> R:
        """The row as a record."""
        return self.rows.read(row)

    def _database_of(self, record: R) -> str | None:
        """Whose quota the row counts against; None for what belongs to no database."""
        owner: str | None = getattr(record, "database_id")  # noqa: B009
        return owner

    def _one(self, *where: Condition) -> R | None:
        rows = self._many(select(self.table).where(*where).limit(1))
        return rows[0] if rows else None

    def _many(self, statement: Any, parameters: Mapping[str, Any] | None = None) -> list[R]:
        return [self._as_record(row) for row in self._db.execute(statement, parameters).mappings()]

    def _update(self, *where: Condition, **values: Any) -> int:
        self._forget()
        done = cast("CursorResult[Any]", self._db.execute(update(self.table).where(*where).values(**values)))
        return done.rowcount

    def _delete(self, *where: Condition) -> int:
        self._forget()
        return cast("CursorResult[Any]", self._db.execute(delete(self.table).where(*where))).rowcount


def pack(document: Mapping[str, object], plain: tuple[str, ...] = ()) -> Document:
    """A document that holds the other one. The parts named in `plain` stay readable beside it."""
    content = base64.b85encode(zlib.compress(json.dumps(document).encode(), 6)).decode()
    return {**{name: document[name] for name in plain if name in document}, PACKED: content}


def unpack(stored: Document) -> Document:
    """The value that was passed to `pack`."""
    found = json.loads(zlib.decompress(base64.b85decode(stored[PACKED])))
    assert isinstance(found, dict)
    return found
