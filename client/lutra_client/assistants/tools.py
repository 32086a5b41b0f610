"""The tools, chosen by hand: each is a question or a proposal over REST, and none decides or changes a limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lutra_client.assistants import arguments as given
from lutra_client.operations import Databases, Knobs, Predictions, Recommendations, Sessions
from lutra_client.requests import Request

Ask = Callable[[Request[Any]], Awaitable[Any]]
"""Sends a request, and gives the JSON document of the answer."""
WAIT_S = 20.0
"""A computation is waited for so long; afterwards its state says that it is still being computed."""
OF_DATABASE = (
    "id", "name", "engine", "engine_version", "role", "label", "last_report_at", "last_window_end",
)  # fmt: skip
OF_SESSION = (
    "id", "database", "state", "message", "objective", "limits", "mode", "effective_mode", "approval", "max_trials",
    "trials_done", "max_changes", "current", "incumbent", "handover", "for_maintenance_window", "verification",
    "events", "created_at", "ended_at",
)  # fmt: skip
OF_RECOMMENDATION = (
    "id", "database", "session", "kind", "origin", "state", "waits", "looked_at", "reasons", "predictions", "warnings",
    "restart_needed", "memory", "measured", "judgement", "failed", "failure", "error", "reason", "created_at",
    "decided_at", "decided_by_name", "applied_at", "confirmed_at", "ended_at", "undone_by",
)  # fmt: skip
OF_CHANGE = ("setting", "before_text", "after_text", "applies", "do", "undo")
OF_SETTING = ("setting", "text", "unit", "applies", "source", "pending_restart", "not_active", "unreached", "range")
OF_KNOB = ("meaning", "risk", "rule", "manual")
OF_WINDOW = ("start", "end", "metrics", "p99_source", "p99_of", "busy", "failure", "recommendation")
OF_WHAT_IF = ("predictions", "not_known", "memory", "refusal", "warnings", "observations", "record", "load")
OF_JUDGEMENT = ("metric", "verdict", "ratio", "low", "high", "level", "before", "after", "sentence", "together")


@dataclass(frozen=True)
class Tool:
    """`scope` is what a token needs to see it; `about` teaches an assistant when to use it."""

    name: str
    title: str
    scope: Literal["read", "propose"]
    about: str
    arguments: type[given.Arguments]
    answer: Callable[[Ask, Any], Awaitable[Any]]


async def fleet(ask: Ask, asked: given.OfFleet) -> Any:
    page = await ask(Databases.list.request(name=asked.name, limit=asked.limit))
    shown = [{**_part(d, OF_DATABASE), **_part(d["agent"] or {}, ("mode", "paused", "firing"))} for d in page["items"]]
    return {"databases": shown, "more": page["next"] is not None}


async def database(ask: Ask, asked: given.OfDatabase) -> Any:
    found = await ask(Databases.get.request(asked.database))
    sessions = await ask(Sessions.list.request(asked.database, limit=3))
    parts = (*OF_DATABASE, "host", "policy", "peak_connections", "agent", "retired_at")
    return {**_part(found, parts), "newest_sessions": [_part(s, OF_SESSION) for s in sessions["items"]]}


async def findings(ask: Ask, asked: given.OfFindings) -> Any:
    found = await ask(Databases.list_symptoms.request(asked.database, minutes=asked.minutes))
    return {**found, "not_judged": [symptom["name"] for symptom in found["not_judged"]]}


async def settings(ask: Ask, asked: given.OfSettings) -> Any:
    engine = (await ask(Databases.get.request(asked.database)))["engine"]
    live = (await ask(Databases.list_settings.request(asked.database)))["items"]
    known = {k["name"]: k for k in (await ask(Knobs.list.request(engine=engine)))["items"]}
    wanted = [s for s in live if _wanted(s, asked.names)]
    shown = [{**_part(s, OF_SETTING), **_part(known.get(s["setting"], {}), OF_KNOB)} for s in wanted]
    return {"settings": shown, "not_found": sorted(set(asked.names) - {s["setting"] for s in wanted})}


def _wanted(setting: Mapping[str, Any], names: list[str]) -> bool:
    if names:
        return setting["setting"] in names
    return setting["range"] is not None or setting["persisted"] is not None


async def windows(ask: Ask, asked: given.OfWindows) -> Any:
    page = await ask(Databases.list_windows.request(asked.database, metric=asked.metrics, limit=asked.limit))
    return {"windows": [_part(w, OF_WINDOW) for w in page["items"]], "more": page["next"] is not None}


async def what_if(ask: Ask, asked: given.WhatIf) -> Any:
    found = await ask(Predictions.predict.request(asked.database, settings=dict(asked.settings), rate=asked.rate))
    return {"changes": _changes(found), **_part(found, OF_WHAT_IF)}


async def memory_sum(ask: Ask, asked: given.OfDatabase) -> Any:
    return await ask(Predictions.get_memory.request(asked.database))


async def propose(ask: Ask, asked: given.Proposal) -> Any:
    if asked.settings is None:
        return _recommendation(await ask(Recommendations.ask.request(asked.database, wait_s=WAIT_S)))
    return _recommendation(await ask(Recommendations.ask.request(asked.database, settings=dict(asked.settings))))


async def recommendation(ask: Ask, asked: given.OfRecommendation) -> Any:
    return _recommendation(await ask(Recommendations.get.request(asked.recommendation)))


async def session(ask: Ask, asked: given.OfSession) -> Any:
    return _part(await ask(Sessions.get.request(asked.session)), OF_SESSION)


async def open_session(ask: Ask, asked: given.Opening) -> Any:
    opened = Sessions.open.request(
        asked.database,
        objective={"metric": asked.metric, "goal": asked.goal},
        mode=asked.mode,
        approval="manual",
        max_trials=asked.max_trials,
        max_changes=asked.max_changes,
    )
    return _part(await ask(opened), OF_SESSION)


async def were_we_right(ask: Ask, asked: given.OfPast) -> Any:
    page = await ask(Recommendations.list.request(asked.database, limit=asked.limit))
    applied = [r for r in page["items"] if r["applied_at"] is not None and r["changes"]]
    readings = [inside for r in applied for inside in _inside(r).values()]
    verdicts = [r["judgement"]["verdict"] for r in applied if r["judgement"] is not None]
    return {
        "looked_at": len(page["items"]),
        "applied": len(applied),
        "undone": sum(r["undone_by"] is not None for r in applied),
        "readings_inside_their_interval": sum(readings),
        "predicted_readings": len(readings),
        "verdicts": {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        "recommendations": [_told_and_held(r) for r in applied],
    }


def _told_and_held(made: Mapping[str, Any]) -> dict[str, Any]:
    judged = made["judgement"]
    return {
        **_part(made, ("id", "session", "state", "applied_at", "confirmed_at", "undone_by", "error")),
        "changes": {c["setting"]: [c["before_text"], c["after_text"]] for c in made["changes"]},
        "told": {"predictions": made["predictions"], "gain": (made["looked_at"] or {}).get("predicted_gain")},
        "held": {"measured": made["measured"], "judgement": None if judged is None else _part(judged, OF_JUDGEMENT)},
        "inside_interval": _inside(made),
    }


def _inside(made: Mapping[str, Any]) -> dict[str, bool]:
    """By metric that was both predicted and measured, whether the reading was inside the interval."""
    measured = made["measured"] or {}
    numbers = {m: measured.get(m) for m in made["predictions"] if isinstance(measured.get(m), int | float)}
    return {m: made["predictions"][m]["low"] <= value <= made["predictions"][m]["high"] for m, value in numbers.items()}


def _recommendation(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"changes": _changes(found), **_part(found, OF_RECOMMENDATION)}


def _changes(found: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    return None if found["changes"] is None else [_part(c, OF_CHANGE) for c in found["changes"]]


def _part(document: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: document[name] for name in names if name in document}


TOOLS = (
    Tool(
        "fleet",
        "Databases",
        "read",
        "List the databases that this token reaches, with their ids, engines, agents' modes and firing guards. Start "
        "here: the other tools take the id of a database.",
        given.OfFleet,
        fleet,
    ),
    Tool(
        "database",
        "One database",
        "read",
        "Show one database: version, host, the operator's policy, the agent's problems and the newest sessions. Use it "
        "before you propose anything, because the policy says what may change.",
        given.OfDatabase,
        database,
    ),
    Tool(
        "findings",
        "Findings",
        "read",
        "Diagnose a database from its latest measured windows: outages, dangers, settings at fault, and time lost "
        "elsewhere, each with its numbers and its cures. Use it for 'what is wrong' and 'why is it slow'.",
        given.OfFindings,
        findings,
    ),
    Tool(
        "settings",
        "Settings with their meaning",
        "read",
        "Show active settings with their meaning, the range that Lutra searches, how a new value becomes active, the "
        "risk of a change, and the manual's page. Use it to explain a setting, or before you propose a value for it.",
        given.OfSettings,
        settings,
    ),
    Tool(
        "windows",
        "Measured windows",
        "read",
        "Show the newest measured windows: p99, QPS, TPS or other metrics over time. Use it to see whether something "
        "changed, and when.",
        given.OfWindows,
        windows,
    ),
    Tool(
        "what_if",
        "What if",
        "read",
        "Predict p99 and QPS with other settings, without any change. The answer has intervals, the memory sum, and "
        "the reason why a proposal would be refused. It needs a model: before a session's third trial it is an error.",
        given.WhatIf,
        what_if,
    ),
    Tool(
        "memory_sum",
        "Memory sum",
        "read",
        "Show the server's memory under its active settings, line by line, with the limit and the worst case. Use it "
        "to see which setting the memory goes to, and how much room is left.",
        given.OfDatabase,
        memory_sum,
    ),
    Tool(
        "recommendation",
        "One recommendation",
        "read",
        "Show a recommendation: its changes with statements and undo, reasons, predictions, state, and its measured "
        "effect. Use it to explain a proposal to the person who decides, or to see its outcome.",
        given.OfRecommendation,
        recommendation,
    ),
    Tool(
        "session",
        "One tuning session",
        "read",
        "Show a tuning session: its objective, its progress in words, its current recommendation and its final result.",
        given.OfSession,
        session,
    ),
    Tool(
        "were_we_right",
        "Predictions and results",
        "read",
        "Compare what past recommendations predicted with the gains that held on the live database. Use it when "
        "somebody asks whether Lutra's advice can be trusted here. A judgement's ratio is after to before.",
        given.OfPast,
        were_we_right,
    ),
    Tool(
        "propose",
        "Propose settings",
        "propose",
        "Propose settings, or without `settings` ask for the next recommendation of the open session. The service "
        "checks them against policy, range and memory. Nothing changes on the server: the proposal waits until a "
        "person approves it with another tool of Lutra. You cannot approve it. Tell the person its id.",
        given.Proposal,
        propose,
    ),
    Tool(
        "open_session",
        "Open a tuning session",
        "propose",
        "Open a tuning session for a metric. Each of its recommendations waits for a person's approval. A database has "
        "one open session: look at `database` first.",
        given.Opening,
        open_session,
    ),
)
"""In the order in which an assistant needs them."""
