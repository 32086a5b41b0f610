"""A column among the values of a list parameter: one text of the statement, however long the list is."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ARRAY, Boolean, ColumnElement, String, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


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
