"""The query of a URL: the parameters that a route declares."""

from __future__ import annotations

from fastapi import Request
from fastapi.dependencies.models import Dependant
from lutra_models.catalog import did_you_mean

from lutra_service.api.http.deps import Bearer
from lutra_service.app.errors import InvalidRequest

SHOWN = 20


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
