"""Repository of what guards reported."""

from __future__ import annotations

from datetime import datetime

from lutra_service.db.repositories.repository import Repository
from lutra_service.db.schema.records import Event
from lutra_service.db.schema.tables import EventRow


class Events(Repository[Event]):
    row = EventRow
    record = Event
    noun = "event"

    def add_once(self, event: Event) -> bool:
        """Whether it is new."""
        c = self.table.c
        new = self._one(c.database_id == event.database_id, c.agent_event == event.agent_event) is None
        if new:
            self.add(event)
        return new

    def listed(self, database_id: str, limit: int, after: str | None, since: datetime | None = None) -> list[Event]:
        """Newest first: those that happened after `since`."""
        c = self.table.c
        later = [] if since is None else [c.at > since]
        return self.page(c.database_id == database_id, *later, limit=limit, after=after, newest_first=True)

    def of_session(self, session_id: str, limit: int = 20) -> list[Event]:
        """The newest first."""
        return self.page(self.table.c.session_id == session_id, limit=limit, newest_first=True)

    def of_recommendation(self, recommendation_id: str) -> list[Event]:
        return self.page(self.table.c.recommendation_id == recommendation_id, limit=20, newest_first=True)
