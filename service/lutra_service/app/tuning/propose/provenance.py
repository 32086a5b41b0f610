"""The past workloads that a recommendation uses, and the alternative without them, for people."""

from __future__ import annotations

from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.store import UnitOfWork

SHOWN = 5
"""The maximum number of settings that the sentence names."""


def leans_on(unit: UnitOfWork, row: Recommendation) -> Document | None:
    """None if it uses none. For another database's workload only the id is shown, without its name."""
    if row.proposal is None or row.proposal.leaned is None:
        return None
    leaned, chosen = row.proposal.leaned, row.proposal.configuration
    found = unit.workloads.some([each["workload"] for each in leaned["on"]])
    names = {id_: w.name for id_, w in found.items() if w.database_id in (None, row.database_id)}
    workloads = [{**each, "name": names.get(each["workload"])} for each in leaned["on"]]
    without = leaned["configuration"]
    differs = [name for name, value in without.items() if name in chosen and chosen[name] != value]
    return {
        "workloads": workloads,
        "without": without,
        "differs": differs,
        "predictions": leaned["predictions"],
        "sentence": _sentence(workloads, without, differs),
    }


def _sentence(workloads: list[Document], without: Document, differs: list[str]) -> str:
    named = ", ".join(f"{each['name'] or each['workload']} (weight {each['weight']:.2f})" for each in workloads)
    sentence = f"It uses {'a past workload' if len(workloads) == 1 else 'past workloads'}: {named}."
    if not differs:
        return f"{sentence} Without them, it would propose the same."
    values = ", ".join(f"{name} = {without[name]}" for name in differs[:SHOWN])
    more = f" and {len(differs) - SHOWN} more" if len(differs) > SHOWN else ""
    return f"{sentence} Without them, it would propose {values}{more}."
