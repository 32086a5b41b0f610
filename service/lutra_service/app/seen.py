"""What a database's agent has told: its settings and its windows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lutra_models.catalog.facts import ServerSetting
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Domain, Value

from lutra_service.app.errors import InvalidRequest
from lutra_service.app.live import Live
from lutra_service.db.records import StoredReport
from lutra_service.db.store import Unit

_CURSOR = re.compile(r"[0-9]{1,18}")  # a longer number fits into no column


@dataclass(frozen=True)
class Setting:
    """A live setting. `domain` is where it is searched now, None where it stays as it is."""

    name: str
    value: Value
    text: str
    reported: ServerSetting
    domain: Domain | None


def settings(at: Live) -> list[Setting]:
    """Every setting of the catalogue that the server has, in the catalogue's order."""
    try:
        domains = {knob.name: knob.domain for knob in at.space}
    except InvalidConfiguration:  # the policy leaves nothing to move
        domains = {}
    return [
        Setting(n, v, at.catalog.text(n, v, at.server.settings[n].unit), at.server.settings[n], domains.get(n))
        for n, v in at.active.items()
    ]


def windows(unit: Unit, database_id: str, limit: int, after: str | None) -> list[StoredReport]:
    """Newest first. Raises NotFound and InvalidRequest."""
    unit.databases.get(database_id)
    if after is not None and not _CURSOR.fullmatch(after):
        raise InvalidRequest(f"after: {after!r} is no cursor of this list")
    return unit.reports.windows(database_id, limit, None if after is None else int(after))
