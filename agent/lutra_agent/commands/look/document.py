"""The result of a look, as one document of values that JSON has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from lutra_models.catalog import LiveSettings
from lutra_models.catalog.statements import to_paste
from lutra_models.errors import InvalidConfiguration
from lutra_models.evidence import Finding
from lutra_models.knobs import Value
from lutra_models.symptoms.listed import listed

from lutra_agent.commands.look.judge import POLICY, Judgement
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.telemetry import Visible
from lutra_agent.runtime.seen_database import UNKNOWN_VERSION

Document = dict[str, Any]


@dataclass(frozen=True)
class Look:
    """`where` is the URL without its password. `cut` are reasons why less was visible than possible."""

    where: str
    account: str
    place: Place
    visible: tuple[Visible, ...]
    judgement: Judgement
    cut: tuple[str, ...] = ()


def document(look: Look, worded: Callable[[str], str], start: datetime, end: datetime) -> Document:
    """`findings` has the shape of the service's answer about symptoms; `statements` there make all cures active.

    `worded` names a file that a statement's line belongs to.
    """
    judgement = look.judgement
    live = judgement.live

    def statements(wanted: Mapping[str, Value]) -> list[str]:
        return [worded(line) if line.startswith("# ") else line for line in _statements(live, wanted)]

    found = listed(judgement.diagnosis, live.server.engine, end, span=(start, end))
    for symptom in found["symptoms"]:
        cures = {c["setting"]: c["after"] for c in symptom["cures"] if c["after"] is not None}
        symptom["statements"] = [*statements(cures), *symptom["statements"]]
    return {
        "server": _server(look),
        "account": {
            "name": look.account,
            "sees": [v.name for v in look.visible if v.available],
            "lacks": [
                {"what": v.name, "detail": v.detail, "remedy": v.remedy} for v in look.visible if not v.available
            ],
        },
        "findings": found,
        "settings": [_setting(live, finding, statements) for finding in judgement.settings],
        "deliberate": [
            {"setting": n, "value": live.text(n, live.values[n]), "source": live.server.settings[n].source}
            for n in judgement.evidence.deliberate
        ],
        "memory": _memory(judgement),
        "unknown": [*map(asdict, judgement.unknown), *({"why": why, "names": []} for why in look.cut)],
    }


def _statements(live: LiveSettings, wanted: Mapping[str, Value]) -> list[str]:
    """What makes these values active, line by line; nothing where the server takes no such statements."""
    try:
        return list(to_paste(step for made in live.steps(live.changes(wanted)) for step in made.do_by_hand))
    except InvalidConfiguration:
        return []


def _server(look: Look) -> Document:
    judgement = look.judgement
    server, data = judgement.live.server, judgement.diagnosis.data.get("data")
    here, host = not judgement.elsewhere, server.host
    return {
        "where": look.where,
        "engine": server.engine,
        "version": None if server.version == UNKNOWN_VERSION else server.version,
        "role": server.role,
        "data_bytes": data,
        "on_this_machine": here,
        "process": look.place.process,
        "folder": None if look.place.folder is None else str(look.place.folder),
        "doubt": look.place.doubt,
        "memory_bytes": host.memory_bytes if here else None,
        "cores": host.cores if here else None,
    }


def _setting(live: LiveSettings, finding: Finding, statements: Callable[[Mapping[str, Value]], list[str]]) -> Document:
    (move,) = finding.moves
    return {
        "setting": move.setting,
        "value": live.text(move.setting, move.before),
        "recommended": None if move.after is None else live.text(move.setting, move.after),
        "reason": move.sentence,
        "against": move.against,
        "restart": move.restart,
        "statements": [] if move.after is None else statements({move.setting: move.after}),
    }


def _memory(judgement: Judgement) -> Document:
    live = judgement.live
    if not live.server.settings:
        return {"counted_bytes": None, "worst_case_bytes": None, "limit_bytes": None, "lines": []}
    found = live.memory(POLICY, {})
    return {
        "counted_bytes": found.total_bytes,
        "worst_case_bytes": found.worst_case_bytes,
        "limit_bytes": None if judgement.elsewhere else live.memory_limit(POLICY),
        "lines": [
            {"name": t.name, "bytes": t.bytes, "worst_case_bytes": t.worst_case_bytes, "assumption": t.assumption}
            for t in found.terms
        ],
    }
