"""The SQL facts about a field of a record that its Python type does not say, and the types of columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, get_origin

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    Double,
    ForeignKey,
    Integer,
    String,
    TypeDecorator,
    bindparam,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import False_
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from lutra_service.db.schema.storable import Unstorable

DOCUMENT = JSON(none_as_null=True)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC on every database; SQLite keeps no zone of its own."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        try:
            return None if value is None else value.astimezone(UTC)
        except OverflowError:
            raise Unstorable(f"{value} is not a moment in UTC") from None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


TYPES: dict[type, TypeEngine[Any]] = {bool: Boolean(), datetime: UtcDateTime(), float: Double(), int: Integer()}
"""The column type by the type of a value; a text has a length, and every other value is stored as a document."""


@dataclass(frozen=True)
class Stored:
    """The annotation of a field. `length` is the length of a text, and `of` the column to which it refers.

    `default` is the SQL value of a row that was stored without one.
    """

    length: int | None = None
    of: str | None = None
    is_key: bool = False
    is_unique: bool | None = None
    is_indexed: bool | None = None
    is_big: bool = False
    default: str | False_ | None = None

    def column(self, name: str, kind: Any, is_nullable: bool) -> Column[Any]:
        """The column of a field of this type. Raises ValueError for a text without a length."""
        return Column(
            name,
            ForeignKey(self.of) if self.of else self._type(name, kind),
            primary_key=self.is_key,
            nullable=is_nullable and not self.is_key,
            unique=self.is_unique,
            index=self.is_indexed,
            server_default=self.default,
        )

    def _type(self, name: str, kind: Any) -> TypeEngine[Any]:
        if kind is str or get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, StrEnum)):
            if self.length is None:
                raise ValueError(f"{name}: a text has a length: annotate it as Stored(40)")
            return String(self.length)
        if self.is_big:
            return BigInteger().with_variant(Integer(), "sqlite") if self.is_key else BigInteger()
        return TYPES.get(kind, DOCUMENT)


Id = Annotated[str, Stored(40, is_key=True)]
OfDatabase = Annotated[str, Stored(of="databases.id")]
OfSession = Annotated[str, Stored(of="sessions.id")]
OfRecommendation = Annotated[str, Stored(of="recommendations.id")]


class Among(FunctionElement[bool]):
    """A server gets the list as one array, and so can keep the statement's plan; SQLite gets its values."""

    type = Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Any:
        """A condition in its plain form: SQLite would not use an index if it were compared with 1."""
        return self


def among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Whether the text in `column` is in the list that is bound to `name`."""
    return Among(column, bindparam(name, type_=String))


@compiles(Among, "sqlite")
def _as_values(element: Among, compiler: SQLCompiler, **more: Any) -> str:
    column, given = element.clauses
    return compiler.process(column.in_(bindparam(given.key, expanding=True)), **more)


@compiles(Among)
def _as_array(element: Among, compiler: SQLCompiler, **more: Any) -> str:
    column, given = element.clauses
    array: ColumnElement[Any] = bindparam(given.key, type_=ARRAY(String))
    return f"{compiler.process(column, **more)} = ANY ({compiler.process(array, **more)})"
