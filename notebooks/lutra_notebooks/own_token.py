"""A token that lives as long as JupyterLab does: made and revoked over REST, with an administrator's token."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal

from lutra_client import Client
from lutra_models.errors import LutraError

Scope = Literal["read", "models"]
LONGEST = timedelta(days=7)
"""How long the token is valid where nothing could revoke it: this machine lost power, say."""


class NoToken(RuntimeError):
    """None could be made; the message says why."""


@contextmanager
def own_token(scope: Scope) -> Iterator[str]:
    """A new token's secret, revoked on exit. Raises NoToken."""
    name = f"lutra notebook {secrets.token_hex(4)}"
    try:
        client = Client.from_environment()
    except ValueError as error:
        raise NoToken(str(error)) from error
    with client:
        try:
            made = client.tokens.create_global(name=name, scopes=[scope], expires_at=datetime.now(UTC) + LONGEST)
        except LutraError as error:
            raise NoToken(str(error)) from error
        try:
            yield made["token"] or ""
        finally:
            client.tokens.revoke_any(made["id"])
