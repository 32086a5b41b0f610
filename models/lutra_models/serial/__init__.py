"""The core's values as JSON documents and back: what `recommend` saw, for a worker, a notebook or a replay. No I/O.

`history_from_dict(history_to_dict(history))` asks the same question: it has the same key. Its rules are code; they are
restored if the document also has the `server` and the `policy` from which they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from lutra_models.aims import Aim
from lutra_models.catalog import meet
from lutra_models.evidence import Basis, Change, Compared, Evidence, Finding, Move, TurnedDown
from lutra_models.history import History, Observation, Window
from lutra_models.knobs import STEPS, Choice, Domain, Knob, KnobSpace, Number, Rule
from lutra_models.metrics import Limit, Objective
from lutra_models.server import Host, Policy, Server, ServerSetting

Document = dict[str, Any]
FORMAT = 1


def history_to_dict(history: History, server: Server | None = None, policy: Policy | None = None) -> Document:
    """A JSON-able document. With `server` and `policy` the memory rules can be rebuilt from it."""
    document: Document = {
        "format": FORMAT,
        "knobs": [knob_to_dict(k) for k in history.space],
        "objective": asdict(history.objective),
        "limits": [asdict(limit) for limit in history.limits],
        "observations": [observation_to_dict(o) for o in history.observations],
        "pending": [dict(c) for c in history.pending],
        "current": None if history.current is None else dict(history.current),
        "starts": [dict(c) for c in history.warm_starts],
        "context": dict(history.context or {}),
        "answers": {n: [list(pair) for pair in pairs] for n, pairs in history.server_rounding.items()},
        "baseline": None if history.baseline is None else dict(history.baseline),
        "aim": None if history.aim is None else history.aim.to_dict(),
        **({} if history.evidence is None else {"evidence": evidence_to_dict(history.evidence)}),
        **({"turned_down": [turned_down_to_dict(t) for t in history.turned_down]} if history.turned_down else {}),
    }
    if server is not None and policy is not None:
        document |= {"server": server_to_dict(server), "policy": policy_to_dict(policy)}
    return document


def history_from_dict(document: Mapping[str, Any]) -> History:
    """The history that `history_to_dict` wrote. Raises ValueError for a document of another format."""
    if document.get("format") != FORMAT:
        raise ValueError(f"unknown history format {document.get('format')!r}, expected {FORMAT}")
    aim, evidence = document.get("aim"), document.get("evidence")
    space = KnobSpace([knob_from_dict(k) for k in document["knobs"]], _rules(document))
    return History(
        space,
        Objective(**document["objective"]),
        limits=[Limit(**limit) for limit in document["limits"]],
        observations=[observation_from_dict(o) for o in document["observations"]],
        pending=document["pending"],
        current=document["current"],
        warm_starts=document["starts"],
        context=document["context"],
        server_rounding=document.get("answers"),
        baseline=document.get("baseline"),
        aim=None if aim is None else Aim.from_dict(aim),
        evidence=None if evidence is None else evidence_from_dict(evidence),
        turned_down=[turned_down_from_dict(t) for t in document.get("turned_down", ())],
    )


def observation_to_dict(observation: Observation) -> Document:
    window = observation.window
    return {
        "configuration": dict(observation.configuration),
        "metrics": dict(observation.metrics),
        "context": None if observation.context is None else dict(observation.context),
        "window": None if window is None else [window.start.isoformat(), window.end.isoformat()],
        "failure": observation.failure,
        **({"bounds": dict(observation.bounds)} if observation.bounds else {}),
    }


def observation_from_dict(document: Mapping[str, Any]) -> Observation:
    window = document["window"]
    return Observation(
        document["configuration"],
        document["metrics"],
        context=document["context"],
        window=None if window is None else Window(*(datetime.fromisoformat(moment) for moment in window)),
        failure=document["failure"],
        bounds=document.get("bounds"),
    )


def _rules(document: Mapping[str, Any]) -> Iterable[Rule]:
    if "server" not in document:
        return ()
    server, policy = server_from_dict(document["server"]), policy_from_dict(document["policy"])
    began = document.get("baseline")
    known = () if began is None else (began,)
    live, names = meet(server), frozenset(k["name"] for k in document["knobs"] if k["applies"] != "fixed")
    space = live.space(policy, known=known)
    if not names <= set(space.names):  # evidence asked for settings that are not searched otherwise
        space = live.space(replace(policy, movable=names), known=known)
    rules: tuple[Rule, ...] = space.rules
    return rules


def knob_to_dict(knob: Knob) -> Document:
    return {"name": knob.name, "applies": knob.applies, "risk": knob.risk, "domain": _domain_to_dict(knob.domain)}


def knob_from_dict(document: Mapping[str, Any]) -> Knob:
    domain = document["domain"]
    read: Domain = Choice(tuple(domain["options"])) if "options" in domain else Number(**domain)
    return Knob(document["name"], read, document["applies"], document["risk"])


def _domain_to_dict(domain: Domain) -> Document:
    if isinstance(domain, Choice):
        return {"options": list(domain.options)}
    told = {**asdict(domain), "special": list(domain.special)}
    if domain.serves is None:
        del told["serves"]
    else:
        told["serves"] = list(domain.serves)
    if domain.steps == STEPS:
        del told["steps"]  # as before there was a choice
    return told


def server_to_dict(server: Server) -> Document:
    return {
        "engine": server.engine,
        "version": server.version,
        "role": server.role,
        "peak_connections": server.peak_connections,
        "host": asdict(server.host),
        "settings": settings_to_dict(server.settings),
    }


def server_from_dict(document: Mapping[str, Any]) -> Server:
    return Server(
        document["engine"],
        document["version"],
        settings_from_dict(document["settings"]),
        Host(**document["host"]),
        document["role"],
        document["peak_connections"],
    )


def settings_to_dict(settings: Mapping[str, ServerSetting]) -> Document:
    return {name: asdict(setting) | {"options": list(setting.options)} for name, setting in settings.items()}


def settings_from_dict(document: Mapping[str, Any]) -> dict[str, ServerSetting]:
    return {name: ServerSetting(**{**s, "options": tuple(s["options"])}) for name, s in document.items()}


def policy_to_dict(policy: Policy) -> Document:
    return {
        "pins": dict(policy.pins),
        "ranges": {name: list(ends) for name, ends in policy.ranges.items()},
        "movable": None if policy.movable is None else sorted(policy.movable),
        "restart": policy.restart,
        "durability": policy.durability,
        "memory_fraction": policy.memory_fraction,
        "memory_count": policy.memory_count,
        **({"host": True} if policy.host else {}),  # left out otherwise: stored histories keep their key
    }


def policy_from_dict(document: Mapping[str, Any]) -> Policy:
    movable = document.get("movable")
    ranges = {name: (low, high) for name, (low, high) in document.get("ranges", {}).items()}
    read = {**document, "ranges": ranges, "movable": None if movable is None else frozenset(movable)}
    return Policy(**read)


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
