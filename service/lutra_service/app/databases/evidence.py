"""What symptoms and rules say of a live database together: what its recommendations rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lutra_models.assessment import assess
from lutra_models.evidence import Evidence
from lutra_models.knobs import Value

from lutra_service.app.databases import symptoms
from lutra_service.app.databases.server_context import ServerContext
from lutra_service.db.store import UnitOfWork

MINUTES = 60
"""How far back the windows of the active settings are read."""


def evidence_of(unit: UnitOfWork, at: ServerContext, began: Mapping[str, Value] | None) -> Evidence:
    """Within what the operator's policy allows, also where the mode forbids a restart: then it is told.

    `began` is what was active when the session began.
    """
    allowed = replace(at, policy=at.database.settings_policy)
    diagnosis = symptoms.seen(unit, allowed, MINUTES).diagnosis
    return assess(at.live, allowed.policy, diagnosis, began)
