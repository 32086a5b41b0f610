"""A record as a row, and back. The columns are the record's fields, and the fields of the parts that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from lutra_models.aims import Aim
from lutra_models.errors import Failure
from lutra_models.evidence import TurnedDown
from lutra_models.identity import Identity
from lutra_models.metrics import Limit, Objective
from lutra_models.serial import turned_down_from_dict, turned_down_to_dict

from lutra_service.db.schema.columns import Stored
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.outcome import ChangeOutcome

R = TypeVar("R")
Turn = Callable[[Any], Any]
Present = Callable[[Mapping[str, Any]], dict[str, Any]]

FORMS: Mapping[Any, tuple[Turn, Turn]] = {
    Aim: (Aim.to_dict, Aim.from_dict),
    ChangeOutcome: (attrgetter("document"), ChangeOutcome),
    Failure: (Failure.to_dict, Failure.from_dict),
    Identity: (asdict, lambda document: Identity(**document)),
    Judged: (Judged.to_dict, Judged.from_dict),
    TurnedDown: (turned_down_to_dict, turned_down_from_dict),
    tuple[Limit, ...]: (lambda limits: [asdict(x) for x in limits], lambda stored: tuple(Limit(**x) for x in stored)),
}
"""By type, the functions that write a value as a document and read it."""
NAMED: Mapping[type, Mapping[str, Stored]] = {Objective: {"metric": Stored(128), "goal": Stored(10)}}
"""The core's values of several columns, which begin with the field's name: `objective_metric`."""


@dataclass(frozen=True)
class Column:
    """A field that is one column, with its facts in SQL. `write` and `read` are for a value, not for None."""

    field: str
    name: str
    type: Any
    is_required: bool
    is_nullable: bool
    stored: Stored
    write: Turn | None = None
    read: Turn | None = None


@dataclass(frozen=True)
class Part:
    """A field that is several columns."""

    field: str
    type: type
    columns: tuple[Column, ...]
    is_nullable: bool

    @cached_property
    def required(self) -> frozenset[str]:
        """The fields without which it does not exist."""
        return frozenset(c.field for c in self.columns if c.is_required)

    @cached_property
    def present(self) -> Present:
        """Its values in a row."""
        return _present(self.columns)

    def read(self, row: Mapping[str, Any]) -> Any:
        """None if the row lacks a required column of it, or has none of its columns."""
        found = self.present(row)
        return self.type(**found) if found and self.required <= found.keys() else None

    def write(self, part: Any) -> Iterator[tuple[str, Any]]:
        """Every column; without the part, each is None."""
        return ((c.name, None if part is None else _written(c, getattr(part, c.field))) for c in self.columns)


class Rows(Generic[R]):
    """How records of one kind are stored, derived from their fields and the types of these."""

    def __init__(self, record: type[R]) -> None:
        self._record = record
        found = [_field(f, kind) for f, kind in _typed(record)]
        self.columns = {f.field: f for f in found if isinstance(f, Column)}
        self.parts = {f.field: f for f in found if isinstance(f, Part)}
        own = tuple(self.columns.values())
        self._present = _present(own)
        self._missing = dict.fromkeys(f.field for f in own if f.is_required)
        self._is_plain = not self.parts and all(c.read is None for c in own)

    def read(self, row: Mapping[str, Any]) -> R:
        """A field of which the row has no value, or NULL, gets its default."""
        if self._is_plain:
            return self._record(**row)
        stored = dict(row)
        values = {**self._missing, **self._present(stored)}
        for field, part in self.parts.items():
            if (found := part.read(stored)) is not None:
                values[field] = found
        return self._record(**values)

    def all_columns(self) -> Iterator[tuple[Column, bool]]:
        """The columns, including those of its parts, each with whether its value may be missing."""
        yield from ((c, c.is_nullable) for c in self.columns.values())
        for part in self.parts.values():
            yield from ((c, c.is_nullable or part.is_nullable) for c in part.columns)

    def fields(self, record: R) -> dict[str, Any]:
        """The record's values by field."""
        return {name: getattr(record, name) for name in (*self.columns, *self.parts)}

    def written(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of these fields. Raises ValueError for a name that is not one of the record's fields."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            if name in self.parts:
                found.update(self.parts[name].write(value))
            elif name in self.columns:
                found[name] = _written(self.columns[name], value)
            else:
                raise ValueError(f"{name} is not a field of {self._record.__name__}; write the part that it belongs to")
        return found


@cache
def rows_of(record: type[R]) -> Rows[R]:
    """How records of this kind are stored and read."""
    return Rows(record)


def _present(columns: tuple[Column, ...]) -> Present:
    """The values that a row has of these columns, by field."""
    turns = tuple((c.field, c.name, c.read) for c in columns)

    def present(row: Mapping[str, Any]) -> dict[str, Any]:
        return {
            field: value if read is None else read(value)
            for field, name, read in turns
            if (value := row.get(name)) is not None
        }

    return present


def _written(column: Column, value: Any) -> Any:
    return value if value is None or column.write is None else column.write(value)


def _typed(record: type) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(record, include_extras=True)
    return ((f, hints[f.name]) for f in fields(record))


def _field(one: Field[Any], kind: Any) -> Column | Part:
    given = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    nullable, plain = NoneType in given, next(k for k in given if k is not NoneType)
    if is_dataclass(plain) and isinstance(plain, type) and plain not in FORMS:
        return Part(one.name, plain, tuple(_columns_of_part(one.name, plain)), nullable)
    stored = Stored()
    if get_origin(plain) is Annotated:
        plain, stored = get_args(plain)
    required = one.default is MISSING and one.default_factory is MISSING
    column = Column(one.name, one.name, plain, required, nullable, stored)
    if plain in FORMS:
        return replace(column, write=FORMS[plain][0], read=FORMS[plain][1])
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return replace(column, write=str, read=plain)
    return column


def _columns_of_part(name: str, part: type) -> Iterator[Column]:
    own = NAMED.get(part)
    for one, kind in _typed(part):
        column = _field(one, kind)
        if isinstance(column, Column):
            yield column if own is None else replace(column, name=f"{name}_{one.name}", stored=own[one.name])
