"""The common part of the service's verbs: an error that an operator can correct ends with one line."""

from __future__ import annotations

from typing import Any

import click


class Verb(click.Command):
    """An error that an operator can correct ends with one line, without a traceback."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except Exception as error:
            told = _correctable(error)
            if told is None:
                raise
            raise click.ClickException(told) from error


class Verbs(click.Group):
    """A group of such verbs."""

    command_class = Verb


def _correctable(error: Exception) -> str | None:
    from pydantic import ValidationError
    from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

    from lutra_service.db.migrate import UnknownSchema
    from lutra_service.db.schema.dialects import URLS
    from lutra_service.db.schema.engine import UnusableUrl

    if isinstance(error, ValidationError):
        return "; ".join(f"LUTRA_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
    if isinstance(error, OperationalError) or type(error) is DatabaseError:  # the latter: a file that is no database
        return f"the database of LUTRA_DATABASE_URL: {error.orig}"
    if isinstance(error, UnusableUrl | UnknownSchema):
        return f"LUTRA_DATABASE_URL: {error}"
    if isinstance(error, ArgumentError):  # its message holds the URL, and that a password
        return f"LUTRA_DATABASE_URL is not a database URL; it must begin with {URLS}"
    return None
