"""What may stand behind the question mark: the parameters that a route declares, and moments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Request
from fastapi.dependencies.models import Dependant
from lutra_models.catalog import did_you_mean
from pydantic import AfterValidator, AwareDatetime

from lutra_service.api.deps import Bearer
from lutra_service.app.errors import InvalidRequest

SHOWN = 20
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def known_parameters(request: Request, _: Bearer) -> None:
    """Refuse parameters that the route does not declare. Raises InvalidRequest."""
    known = sorted(_declared(request.scope["route"].dependant))
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        told = ", ".join(f"{name[:64]!r}{did_you_mean(name[:64], known)}" for name in unknown[:SHOWN])
        rest = f"known here: {', '.join(known)}" if known else "this call takes none"
        raise InvalidRequest(f"unknown query parameter {told}; {rest}")


def _declared(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*(_declared(inner) for inner in dependant.dependencies))


def _in_range(moment: datetime) -> datetime:
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        utc = datetime.max.replace(tzinfo=UTC)
    if not EARLIEST <= utc < LATEST:
        raise ValueError(f"a moment lies between {EARLIEST.year} and {LATEST.year}")
    return utc


Moment = Annotated[AwareDatetime, AfterValidator(_in_range)]
"""RFC 3339 with an offset, as UTC: one that every store and every calendar can hold."""
