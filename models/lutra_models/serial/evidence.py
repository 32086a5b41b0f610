"""The evidence about a live database, as JSON documents and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from lutra_models.evidence import Basis, Change, Compared, Evidence, Finding, Move, TurnedDown

Document = dict[str, Any]


def evidence_to_dict(evidence: Evidence) -> Document:
    return {
        **asdict(evidence),
        "findings": [_finding_to_dict(f) for f in evidence.findings],
        "deliberate": list(evidence.deliberate),
        "compared": [asdict(c) for c in evidence.compared],
    }


def evidence_from_dict(document: Mapping[str, Any]) -> Evidence:
    findings = tuple(_finding_from_dict(f) for f in document["findings"])
    compared = tuple(_compared_from_dict(c) for c in document["compared"])
    made = {"findings": findings, "deliberate": tuple(document["deliberate"]), "compared": compared}
    return Evidence(**{**document, **made})


def turned_down_to_dict(turned_down: TurnedDown) -> Document:
    return {
        "changes": [asdict(c) for c in turned_down.changes],
        "how": turned_down.how,
        "at": turned_down.at.isoformat(),
        "basis": basis_to_dict(turned_down.basis),
        "reason": turned_down.reason,
    }


def turned_down_from_dict(document: Mapping[str, Any]) -> TurnedDown:
    return TurnedDown(
        tuple(Change(**c) for c in document["changes"]),
        document["how"],
        datetime.fromisoformat(document["at"]),
        basis_from_dict(document["basis"]),
        document["reason"],
    )


def basis_to_dict(basis: Basis) -> Document:
    return {**asdict(basis), "strengths": dict(sorted(basis.strengths.items()))}


def basis_from_dict(document: Mapping[str, Any]) -> Basis:
    return Basis(**document)


def _compared_from_dict(document: Mapping[str, Any]) -> Compared:
    return Compared(**{**document, "changes": tuple(Change(**c) for c in document["changes"])})


def _finding_to_dict(finding: Finding) -> Document:
    listed = {"settings": list(finding.settings), "statements": list(finding.statements)}
    return {**asdict(finding), **listed, "moves": [asdict(m) for m in finding.moves]}


def _finding_from_dict(document: Mapping[str, Any]) -> Finding:
    moves = tuple(Move(**m) for m in document["moves"])
    listed = {name: tuple(document[name]) for name in ("settings", "statements")}
    return Finding(**{**document, **listed, "moves": moves})
