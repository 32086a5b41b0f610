"""What a recommendation shows before anybody approves it: the exact change and its undo, the memory sum, warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from lutra_models.catalog import Change
from lutra_models.catalog.memory import check, limit_bytes, worst_case
from lutra_models.knobs import Configuration, Refusal, Value

from lutra_service.app.live import Live
from lutra_service.app.plain import change_to_dict
from lutra_service.db.records import Document


def change_details(live: Live, configuration: Configuration) -> Document:
    """The columns of a recommendation that follow from its configuration and the live server."""
    changes = live.catalog.changes(live.server, configuration)
    return {
        "before": dict(live.active.restrict(configuration)),
        "configuration": dict(configuration),
        "changes": [change_to_dict(c) for c in changes],
        "memory": memory_sum(live, configuration),
        "restart_needed": any(c.applies == "restart" for c in changes),
        "warnings": warnings(live, configuration, changes),
    }


def memory_sum(live: Live, configuration: Mapping[str, Value]) -> Document:
    """The worst case term by term, in bytes, and the limit that it is held to."""
    found = worst_case(live.server, live.active.replace(configuration))
    return {
        "terms": [asdict(term) for term in found.terms],
        "total_bytes": found.total_bytes,
        "limit_bytes": limit_bytes(live.server, live.policy),
    }


def memory_refusal(live: Live, configuration: Mapping[str, Value]) -> Refusal | None:
    return check(live.server, live.policy, live.active.replace(configuration))


def warnings(live: Live, configuration: Configuration, changes: tuple[Change, ...]) -> list[str]:
    """What an operator should know before approving."""
    told = [] if changes else ["nothing changes: these settings are active already"]
    refusal = memory_refusal(live, configuration)
    if refusal is not None:
        told.append(refusal.message)
    for change in changes:
        setting = live.server.settings.get(change.name)
        if setting is not None and setting.shadowed:
            told.append(f"{change.name} is set by {setting.shadowed}, which outranks what the agent writes")
        if setting is not None and setting.pending_restart:
            told.append(f"{change.name} already waits for a restart")
    if live.waits is not None and any(c.applies == "restart" for c in changes):
        told.append(f"needs a restart, which waits: {live.waits}")
    if live.mode == "observe" and changes:
        told.append("in mode observe the agent changes nothing: apply the statements by hand")
    return told
