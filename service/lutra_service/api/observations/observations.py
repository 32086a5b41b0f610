"""All observations as data sets: of a session, of a database, of the fleet."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from lutra_models.metrics import P99Of, P99Source
from lutra_models.wire import Name

from lutra_service.api.databases.schemas import Values
from lutra_service.api.http.access import allow
from lutra_service.api.http.body import Answer
from lutra_service.api.http.deps import Bearer, Exports, StoreDep
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.observations.export import Export, JsonLines
from lutra_service.app.access import tokens
from lutra_service.app.access.tokens import Principal
from lutra_service.app.observations.selection import require_known, selected
from lutra_service.app.observations.tables import Format, encoded
from lutra_service.db.schema.records import Selection
from lutra_service.db.store import Store
from lutra_service.edge.limits import Places

MEDIA: dict[Format, str] = {
    "jsonl": "application/jsonl",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
As = Annotated[Format, Query(alias="format", description="The format of the answer.")]
Engine = Annotated[str | None, Query(max_length=40, description="Only databases of this engine.")]
DatabaseId = Annotated[str | None, Query(max_length=40, description="Only this database.")]
SessionId = Annotated[str | None, Query(max_length=40, description="Only this session.")]


class ObservationAnswer(Answer):
    """A window, or a failure, with the settings that were active. In a table each entry of `settings`, `metrics`,
    `context` and `bounds` is a column: `setting.…`, `metric.…`, `context.…`, `bound.…`."""

    id: str
    """The id of its window."""
    database: str
    """The id of its database."""
    engine: str
    """Its database's engine."""
    engine_version: str | None
    """The server's version, as its agent last reported it."""
    memory_bytes: int | None
    """The memory of the server's host, as its agent last reported it."""
    cores: float | None
    """The cores of the server's host, as its agent last reported them."""
    session: str | None
    """The tuning session that was open then."""
    recommendation: str | None
    """The recommendation whose settings it measured."""
    start: datetime | None
    """When its window began; null for a failure."""
    end: datetime | None
    """When its window ended; null for a failure."""
    received_at: datetime
    """When it was reported."""
    windows: int
    """The number of windows that were merged into it: 1 for an original window."""
    failure: str | None
    """Why nothing was measured."""
    p99_source: P99Source | None
    """The source of `p99_ms`."""
    p99_of: P99Of | None
    """The unit of work whose latency `p99_ms` is."""
    settings: Values
    """The settings that were active, in the server's own units."""
    metrics: dict[str, float]
    """The measured values, in the unit of the name."""
    context: Values
    """The circumstances: the load and the like."""
    bounds: dict[str, float]
    """For a window that was ended early, the bound that the whole window would not have exceeded."""


router = APIRouter(route_class=GuardedRoute, tags=["observations"], default_response_class=JsonLines)
TABLES: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ObservationAnswer,
        "description": "Observations in the order in which they were reported; JSON has one per line",
        "content": {
            MEDIA["csv"]: {"schema": {"type": "string"}},
            MEDIA["parquet"]: {"schema": {"type": "string", "contentMediaType": MEDIA["parquet"]}},
        },
    }
}


def filters(
    since: Annotated[
        Moment | None, Query(description="Only observations that ended, or failed, after this moment.")
    ] = None,
    until: Annotated[
        Moment | None, Query(description="Only observations that began, or failed, before this moment.")
    ] = None,
    metric: Annotated[
        list[Name] | None,
        Query(
            max_length=50,
            description="Only these metrics; can be repeated. Windows without any of them are left out; "
            "failures are kept.",
        ),
    ] = None,
) -> Selection:
    return Selection(since=since, until=until, metrics=tuple(metric or ()))


Filters = Annotated[Selection, Depends(filters)]


@router.get("/v1/observations", response_model=None, responses=TABLES)
@allow("read", "agent", of="any")
def list_observations(
    stored: StoreDep,
    who: Bearer,
    wanted: Filters,
    places: Exports,
    engine: Engine = None,
    database: DatabaseId = None,
    session: SessionId = None,
    format_: As = "jsonl",
) -> Export:
    """The observations of every database that the token reaches, as JSON lines, CSV or Parquet. The answer streams; an
    answer that breaks off is incomplete. A table has at most 5,000 columns: select metrics if there would be more.
    """
    database = who.database_id if database is None else database
    who.require("read", "agent", database_id=database)
    chosen = _with(wanted, engine=engine, database_id=database, session_id=session)
    return _export(stored, who, places, chosen, format_)


@router.get("/v1/databases/{database}/observations", response_model=None, responses=TABLES)
@allow("read", "agent", of="database")
def list_database_observations(
    database: str,
    stored: StoreDep,
    who: Bearer,
    wanted: Filters,
    places: Exports,
    session: SessionId = None,
    format_: As = "jsonl",
) -> Export:
    """The observations of one database, in its sessions and between them."""
    return _export(stored, who, places, _with(wanted, database_id=database, session_id=session), format_)


@router.get("/v1/sessions/{session}/observations", response_model=None, responses=TABLES)
@allow("read", "agent", of="session")
def list_session_observations(
    session: str, stored: StoreDep, who: Bearer, wanted: Filters, places: Exports, format_: As = "jsonl"
) -> Export:
    """The observations made while one session was open."""
    return _export(stored, who, places, _with(wanted, session_id=session), format_)


def _with(wanted: Selection, **more: str | None) -> Selection:
    return Selection(since=wanted.since, until=wanted.until, metrics=wanted.metrics, **more)


def _export(stored: Store, who: Principal, places: Places, wanted: Selection, format_: Format) -> Export:
    stored.read(lambda unit: require_known(unit, wanted))
    found = selected(stored, wanted, lambda unit: tokens.still_valid(unit, who))
    return Export(encoded(found, format_), MEDIA[format_], places, who.token_id)
