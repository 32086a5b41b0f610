"""Rights: tokens, their scopes, and the database to which a token may be bound."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Literal, get_args

from lutra_models.errors import NotFound

from lutra_service.app.access import audit
from lutra_service.app.errors import Forbidden, InvalidRequest, Unauthorized
from lutra_service.common.documents import Document
from lutra_service.common.ids import new_secret, secret_hash
from lutra_service.db.schema.records import Token
from lutra_service.db.store import Store, StoreAway, UnitOfWork

log = logging.getLogger(__name__)

NOTED_EVERY = timedelta(minutes=1)
EVERY_S = 1.0
SHARE = 0.1
"""The shortest interval between writes of uses, and their largest share of the time: with thousands of agents, writes
wait for each other, and many uses at once take less time than one after another.
"""

GivenScope = Literal["agent", "read", "models", "propose", "operate", "admin"]
Scope = Literal[GivenScope, "enrol"]
SCOPES: tuple[GivenScope, ...] = get_args(GivenScope)
"""The scopes that a person can give to a token. `enrol` is only for the token of an enrolment, which is used once."""
_IMPLIED: dict[str, frozenset[str]] = {
    "agent": frozenset({"agent"}),
    "enrol": frozenset({"enrol"}),
    "read": frozenset({"read"}),
    "models": frozenset({"read", "models"}),
    "propose": frozenset({"read", "propose"}),
    "operate": frozenset({"read", "propose", "operate"}),
    "admin": frozenset({"read", "models", "propose", "operate", "admin"}),
}

USED = "this enrolment's token was used or revoked: create a new one with `lutra add URL --elsewhere`"


@dataclass(frozen=True)
class Principal:
    """The bearer of a valid token."""

    token_id: str
    scopes: frozenset[str]
    database_id: str | None = None
    name: str = ""
    last_used_at: datetime | None = None

    @property
    def is_agent(self) -> bool:
        """Whether it has exactly an agent's rights."""
        return "agent" in self.scopes and not self.scopes & {"operate", "admin"}

    @property
    def decides(self) -> bool:
        """Whether it may approve, reject and roll back."""
        return "operate" in self.held

    @property
    def held(self) -> frozenset[str]:
        """Its scopes, and those that they include."""
        return frozenset().union(*(_IMPLIED[s] for s in self.scopes))

    def require(self, *scopes: Scope, database_id: str | None = None) -> None:
        """One of `scopes`, for this database. Raises Forbidden.

        A token that is bound to a database reaches no other one, and no data that belong to none.
        """
        if self.database_id is not None and self.database_id != database_id:
            raise Forbidden(f"this token is bound to {self.database_id}")
        if not self.held.intersection(scopes):
            raise Forbidden(f"needs scope {' or '.join(scopes)}, this token has {', '.join(sorted(self.scopes))}")


def bearers(unit: UnitOfWork, digests: Sequence[str]) -> list[Principal | Unauthorized]:
    """The bearers of these tokens, looked up by the digests of their secrets, so that timing reveals nothing about
    existing secrets.

    A refusal is returned, not raised.
    """
    tokens = unit.tokens.by_hashes(digests)
    found: list[Principal | Unauthorized] = []
    for digest in digests:
        try:
            found.append(_bearer(tokens.get(digest), unit.now))
        except Unauthorized as refusal:
            found.append(refusal)
    return found


def _bearer(token: Token | None, now: datetime) -> Principal:
    """Raises Unauthorized."""
    if token is None:
        raise Unauthorized("a valid bearer token is needed: Authorization: Bearer lutra_…")
    _check_valid(token, now)
    return Principal(token.id, frozenset(token.scopes), token.database_id, token.name, token.last_used_at)


def still_valid(unit: UnitOfWork, who: Principal) -> None:
    """Raise Unauthorized if the token ended after its bearer was admitted: a waiting bearer is checked again before it
    acts.
    """
    _check_valid(unit.tokens.get(who.token_id), unit.now)


def _check_valid(token: Token, now: datetime) -> None:
    if token.revoked_at is not None and "enrol" in token.scopes:
        raise Unauthorized(USED)
    if token.revoked_at is not None:
        raise Unauthorized("this token was revoked; a valid one is needed: Authorization: Bearer lutra_…")
    if token.expires_at is not None and token.expires_at <= now:
        expired = token.expires_at.isoformat(timespec="seconds")
        raise Unauthorized(f"this token expired at {expired}: ask an administrator to rotate it or to create a new one")


def create_token(
    unit: UnitOfWork,
    name: str,
    scopes: Sequence[str],
    database_id: str | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """A new token and its secret, which is not stored and never shown again."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise InvalidRequest(f"scopes are {', '.join(SCOPES)}, got {', '.join(unknown) or 'none'}")
    if "agent" in scopes and database_id is None:
        raise InvalidRequest("an agent's token belongs to one database: name it")
    if database_id is not None:
        unit.databases.get(database_id)
    made, secret = _new(unit, name, sorted(set(scopes), key=SCOPES.index), database_id, expires_at)
    audit.record(unit, "token.create", made.id, None, _shown(made), database_id=database_id)
    return made, secret


def create_enrolment(unit: UnitOfWork, database_id: str, lifetime: timedelta) -> tuple[Token, str]:
    """A token by which one agent enrols for the database, once, and its secret."""
    unit.databases.get(database_id)
    made, secret = _new(unit, "an enrolment", ["enrol"], database_id, unit.now + lifetime)
    audit.record(unit, "enrolment.create", made.id, None, _shown(made), database_id=database_id)
    return made, secret


def enrol(unit: UnitOfWork, who: Principal) -> tuple[Token, str]:
    """The agent's own token and its secret, in exchange for an enrolment's. Raises Unauthorized if that was used
    before.

    The enrolment's token is revoked by one conditional update: of several agents at the same time, even at several
    services, only one gets a token.
    """
    used = unit.tokens.get(who.token_id)
    if not unit.tokens.revoke(used.id, unit.now):
        raise Unauthorized(USED)
    made, secret = _new(unit, "its agent", ["agent"], used.database_id, None)
    audit.record(unit, "enrolment.use", used.id, _shown(used), {"new": _shown(made)}, database_id=used.database_id)
    return made, secret


def rotate_token(
    unit: UnitOfWork,
    token_id: str,
    grace: timedelta,
    expires_at: datetime | None = None,
    database_id: str | None = None,
) -> tuple[Token, str]:
    """A token of the same name, scopes and database with a new secret; the old one remains valid for `grace`.

    Without `expires_at` it has the lifetime of the old one. Raises InvalidRequest for a token that is no longer valid.
    """
    old = token_of(unit, token_id, database_id)
    if "enrol" in old.scopes:
        raise InvalidRequest(f"{old.id} is an enrolment's token: create a new enrolment")
    if old.revoked_at is not None or (old.expires_at is not None and old.expires_at <= unit.now):
        raise InvalidRequest(f"{old.id} is revoked or has expired: create a new one")
    if expires_at is None and old.expires_at is not None:
        expires_at = unit.now + (old.expires_at - old.created_at)
    made, secret = _new(unit, old.name, old.scopes, old.database_id, expires_at)
    if grace > timedelta(0):
        ends = min(old.expires_at or unit.now + grace, unit.now + grace)
        unit.tokens.change(old.id, expires_at=ends)
    else:
        unit.tokens.revoke(old.id, unit.now)
    before, after = _shown(old), {"new": _shown(made), "old": _shown(unit.tokens.get(old.id))}
    audit.record(unit, "token.rotate", old.id, before, after, database_id=old.database_id)
    return made, secret


def revoke_token(unit: UnitOfWork, token_id: str, database_id: str | None = None) -> Token:
    """A second revocation is not an error: the token is revoked."""
    token = token_of(unit, token_id, database_id)
    if unit.tokens.revoke(token_id, unit.now):
        audit.record(unit, "token.revoke", token_id, _shown(token), {"revoked": True}, database_id=token.database_id)
    return replace(token, revoked_at=token.revoked_at or unit.now)


def token_of(unit: UnitOfWork, token_id: str, database_id: str | None) -> Token:
    """Any token, or one that is bound to the named database. Raises NotFound."""
    token = unit.tokens.get(token_id)
    if database_id is not None and token.database_id != database_id:
        raise NotFound(f"no token {token_id!r} here")
    return token


def _new(
    unit: UnitOfWork, name: str, scopes: list[str], database_id: str | None, expires_at: datetime | None
) -> tuple[Token, str]:
    if expires_at is not None and expires_at <= unit.now:
        raise InvalidRequest(f"expires_at: {expires_at.isoformat()} is past")
    secret = new_secret()
    token = Token(unit.new_id("tok"), secret_hash(secret), name, scopes, database_id, unit.now, expires_at=expires_at)
    return unit.tokens.add(token), secret


def _shown(token: Token) -> Document:
    ends = token.expires_at and token.expires_at.isoformat(timespec="seconds")
    return {"id": token.id, "name": token.name, "scopes": token.scopes, "expires_at": ends}


class TokenUse:
    """May be called from any thread. A use that cannot be stored does not refuse the request."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._unwritten: set[str] = set()
        self._next_at = 0.0
        self._lock = Lock()

    def note(self, bearers: Iterable[Principal]) -> None:
        """Record that these bearers use their tokens now."""
        now = self._store.now()
        due = {b.token_id for b in bearers if b.last_used_at is None or now - b.last_used_at >= NOTED_EVERY}
        with self._lock:
            self._unwritten |= due
            late = bool(self._unwritten) and self._clock() >= self._next_at
        if late:
            self.write()

    def write(self) -> None:
        """Store all pending uses: before they are read, and before the service stops."""
        with self._lock:
            writing, self._unwritten = self._unwritten, set()
            self._next_at = float("inf")
        began = self._clock()
        try:
            if writing:
                self._store.write(lambda unit: unit.tokens.used(writing, unit.now, unit.now - NOTED_EVERY))
        except StoreAway:
            pass
        except Exception:
            log.exception("the last use of %d tokens could not be stored", len(writing))
        finally:
            ended = self._clock()
            self._next_at = ended + max(EVERY_S, (ended - began) / SHARE)
