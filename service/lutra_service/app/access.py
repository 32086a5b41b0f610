"""Who may do what: tokens, their scopes, and the database that a token may be bound to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lutra_models.errors import NotFound

from lutra_service.app.errors import Forbidden, InvalidRequest, Unauthorized
from lutra_service.db.records import Token
from lutra_service.db.store import Unit
from lutra_service.ids import new_secret, secret_hash

Scope = Literal["agent", "read", "operate", "admin"]
SCOPES: tuple[Scope, ...] = ("agent", "read", "operate", "admin")
_IMPLIED: dict[str, frozenset[str]] = {
    "agent": frozenset({"agent"}),
    "read": frozenset({"read"}),
    "operate": frozenset({"read", "operate"}),
    "admin": frozenset({"read", "operate", "admin"}),
}


@dataclass(frozen=True)
class Principal:
    """The bearer of a valid token."""

    token_id: str
    scopes: frozenset[str]
    database_id: str | None = None
    name: str = ""

    def require(self, *scopes: Scope, database_id: str | None = None) -> None:
        """One of `scopes`, for this database. Raises Forbidden.

        A token that is bound to a database reaches no other one, and nothing that belongs to none.
        """
        if self.database_id is not None and self.database_id != database_id:
            raise Forbidden(f"this token is bound to {self.database_id}")
        held = frozenset().union(*(_IMPLIED[s] for s in self.scopes))
        if not held.intersection(scopes):
            raise Forbidden(f"needs scope {' or '.join(scopes)}, this token has {', '.join(sorted(self.scopes))}")


def authenticate(unit: Unit, secret: str | None) -> Principal:
    """The token's bearer. The secret is looked up by its digest, so timing tells nothing of the ones that exist."""
    token = unit.tokens.by_hash(secret_hash(secret)) if secret else None
    if token is None:
        raise Unauthorized("a valid bearer token is needed: Authorization: Bearer lutra_…")
    return Principal(token.id, frozenset(token.scopes), token.database_id, token.name)


def create_token(unit: Unit, name: str, scopes: Sequence[str], database_id: str | None = None) -> tuple[Token, str]:
    """A new token and its secret, which is not stored and never shown again."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise InvalidRequest(f"scopes are {', '.join(SCOPES)}, got {', '.join(unknown) or 'none'}")
    if "agent" in scopes and database_id is None:
        raise InvalidRequest("an agent's token belongs to one database: name it")
    if database_id is not None:
        unit.databases.get(database_id)
    secret = new_secret()
    token = Token(
        unit.new_id("tok"), secret_hash(secret), name, sorted(set(scopes), key=SCOPES.index), database_id, unit.now
    )
    return unit.tokens.add(token), secret


def revoke_token(unit: Unit, database_id: str | None, token_id: str) -> Token:
    """Revoking twice is no error: the token is revoked."""
    token = unit.tokens.get(token_id)
    if token.database_id != database_id:
        raise NotFound(f"no token {token_id!r} here")
    unit.tokens.revoke(token_id, unit.now)
    return replace(token, revoked_at=token.revoked_at or unit.now)
