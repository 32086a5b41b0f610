"""The reports of a database's agent: its settings and its windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lutra_models.errors import InvalidConfiguration
from lutra_models.judgement import busy_among
from lutra_models.knobs import Domain, Value
from lutra_models.server import ServerSetting

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.databases.loaded import loaded
from lutra_service.app.errors import InvalidRequest
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import UnitOfWork

LARGEST_ROW = 2**63 - 1
BESIDE = 60
"""The maximum number of windows before one that define the usual level on its host."""


@dataclass(frozen=True)
class Setting:
    """A live setting. `domain` is its searched range, None if it does not move.

    `not_active` is the different value in the settings file, in words.
    """

    name: str
    value: Value
    text: str
    reported: ServerSetting
    domain: Domain | None
    not_active: str | None = None


def settings(context: ServerContext) -> list[Setting]:
    """Every setting of the catalogue that the server has, in the catalogue's order."""
    try:
        domains = {knob.name: knob.domain for knob in context.space}
    except InvalidConfiguration:  # the policy leaves nothing to move
        domains = {}
    return [
        Setting(n, v, context.live.text(n, v), context.server.settings[n], domains.get(n), context.live.not_active(n))
        for n, v in context.active.items()
    ]


def windows(
    unit: UnitOfWork,
    database_id: str,
    limit: int,
    after: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[StoredReport]:
    """Newest first: those that ended after `since` and began before `until`. Raises NotFound and InvalidRequest."""
    unit.databases.get(database_id)
    return unit.reports.windows(database_id, limit, None if after is None else _row_number(after), since, until)


def busy(unit: UnitOfWork, database_id: str, newest_first: Sequence[StoredReport]) -> list[float]:
    """For each of the windows the share of its processor time that something else on the host took, beyond the usual
    level of the windows before it; 0 if none did, or if the host does not show it.
    """
    if not newest_first:
        return []
    read = [*newest_first, *unit.reports.windows(database_id, BESIDE, after=newest_first[-1].id)]
    windows = loaded(read)
    return [busy_among(windows[i], windows[i : i + BESIDE + 1]) for i in range(len(newest_first))]


def _row_number(cursor: str) -> int:
    """Raises InvalidRequest for what no row can have as its number."""
    if not re.fullmatch(r"\d{1,19}", cursor, re.ASCII) or int(cursor) > LARGEST_ROW:
        raise InvalidRequest(
            f"after: {cursor[:64]!r} is not a cursor of this list; use the `next` of the previous page"
        )
    return int(cursor)
