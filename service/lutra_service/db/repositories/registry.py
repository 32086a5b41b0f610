"""Repositories of databases, their settings, tokens and idempotency keys."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from lutra_models.errors import NotFound
from sqlalchemy import insert, or_, select, update

from lutra_service.common.documents import Document
from lutra_service.db.repositories.repository import Condition, Repository, remembered
from lutra_service.db.schema.columns import among
from lutra_service.db.schema.records import Answer, Database, Token
from lutra_service.db.schema.tables import DatabaseRow, IdempotencyRow, SettingsRow, TokenRow

_BY_HASHES = select(TokenRow.__table__).where(among(TokenRow.__table__.c.hash, "hashes"))


class Databases(Repository[Database]):
    row = DatabaseRow
    record = Database
    noun = "database"

    def add(self, record: Database) -> Database:
        """Registration does not count against the quota, because an operator does it."""
        self._forget()
        self._db.execute(insert(self.table).values(self._values(record)))
        self._news.note_new(record)
        return record

    def named(self, name: str) -> Database | None:
        return self._one(self.table.c.name == name)

    def lock(self, id_: str) -> Database:
        """The database, its row held until the transaction ends: changes to one database come one after another."""
        self._forget(every_table=True)  # what was read before the lock may have changed until it was taken
        rows = self._many(select(self.table).where(self.table.c.id == id_).with_for_update())
        if not rows:
            raise NotFound(f"no database {id_!r}")
        return rows[0]

    def count(self, id_: str, what: str) -> None:
        """Count one more occurrence. The caller holds the database's row."""
        counts = self.get(id_).counts or {}
        self.change(id_, counts={**counts, what: counts.get(what, 0) + 1})

    def listed(
        self, limit: int, after: str | None, only: str | None = None, name: str | None = None, retired: bool = False
    ) -> list[Database]:
        c = self.table.c
        where: list[Condition] = [c.retired_at.is_not(None) if retired else c.retired_at.is_(None)]
        where += [] if only is None else [c.id == only]
        where += [] if name is None else [self.table.c.name == name]
        return self.page(*where, limit=limit, after=after)

    def to_look_at(self, before: datetime, limit: int) -> list[str]:
        """The databases that reported since their last check for findings, if that was earlier than `before`; the
        longest waiting first.
        """
        c = self.table.c
        due = or_(c.looked_at.is_(None), (c.looked_at < before) & (c.last_report_at > c.looked_at))
        asked = select(c.id).where(c.retired_at.is_(None), c.last_window_end.is_not(None), due)
        return list(
            self._db.execute(asked.order_by(c.looked_at.is_not(None), c.looked_at, c.id).limit(limit)).scalars()
        )

    def silent_or_back(self, before: datetime) -> list[str]:
        """Those in use whose last report came earlier, unless that was noticed; those that report after a silence."""
        c = self.table.c
        silent = c.silent_since.is_(None) & (c.last_report_at < before)
        back = c.silent_since.is_not(None) & (c.last_report_at > c.silent_since)
        return list(self._db.execute(select(c.id).where(c.retired_at.is_(None), or_(silent, back))).scalars())

    @remembered
    def settings(self, id_: str, hash_: str | None) -> Document | None:
        table = SettingsRow.__table__
        found = self._db.execute(
            select(table.c.settings).where(table.c.database_id == id_, table.c.hash == hash_)
        ).scalar()
        return found if isinstance(found, dict) else None

    @remembered
    def unreadable(self, id_: str, hash_: str | None) -> dict[str, str]:
        """Setting → the reason why it was left out of those settings."""
        c = SettingsRow.__table__.c
        found = self._db.execute(select(c.unreadable).where(c.database_id == id_, c.hash == hash_)).scalar()
        return dict(found) if isinstance(found, dict) else {}

    def add_settings(self, id_: str, hash_: str, settings: Document, unreadable: Document, now: datetime) -> None:
        """Stored once; again if some could not be read, because a newer catalogue may read them."""
        c = SettingsRow.__table__.c
        values: Document = {"settings": settings, "unreadable": unreadable or None}
        if self.settings(id_, hash_) is None:
            row = {"database_id": id_, "hash": hash_, "first_seen_at": now, **values}
            self._forget()
            self._db.execute(insert(SettingsRow).values(row))
        elif self.unreadable(id_, hash_):
            self._forget()
            self._db.execute(update(SettingsRow).where(c.database_id == id_, c.hash == hash_).values(values))
        else:
            return
        if self._ledger is not None:
            self._ledger.add(id_, values)


class Tokens(Repository[Token]):
    row = TokenRow
    record = Token
    noun = "token"

    def by_hashes(self, hashes: Collection[str]) -> dict[str, Token]:
        """The tokens by their digest, including revoked and expired ones."""
        return {token.hash: token for token in self._many(_BY_HASHES, {"hashes": sorted(hashes)})}

    def listed(self, database_id: str | None, limit: int, after: str | None) -> list[Token]:
        where = [] if database_id is None else [self.table.c.database_id == database_id]
        return self.page(*where, limit=limit, after=after)

    def revoke(self, id_: str, now: datetime) -> bool:
        return self.change(id_, self.table.c.revoked_at.is_(None), revoked_at=now)

    def used(self, ids: Collection[str], now: datetime, before: datetime) -> None:
        """Store that they were used `now`, if the last known use was earlier than `before`."""
        c = self.table.c
        self._forget()
        late = or_(c.last_used_at.is_(None), c.last_used_at < before)
        held = select(c.id).where(c.id.in_(ids), late).order_by(c.id).with_for_update()
        found = list(self._db.execute(held).scalars())
        self._update(c.id.in_(found), last_used_at=now)


class Answers(Repository[Answer]):
    row = IdempotencyRow
    record = Answer
    noun = "idempotency key"

    def given(self, token_id: str, key: str) -> Answer | None:
        return self._one(self.table.c.token_id == token_id, self.table.c.key == key)

    def complete(self, token_id: str, key: str, response: Document) -> None:
        self._update(self.table.c.token_id == token_id, self.table.c.key == key, response=response)
