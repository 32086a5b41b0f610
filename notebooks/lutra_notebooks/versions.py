"""Model versions beside the one that serves, and what serves after a promotion."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np
import pandas as pd
from lutra_client import Client, Forbidden
from lutra_client.schemas import ModelDetailAnswer, RecommendationAnswer

from lutra_notebooks.naming import told_apart

SHOWN = ("sessions", "held_90", "width_90", "log_score", "error", "rank_correlation", "regret", "missed", "missed_live")
EVERY_S = 0.5


def candidates(client: Client, most: int = 3) -> list[str]:
    """The ids of the newest candidates."""
    return [m["id"] for m in islice(client.models.list(state="candidate"), most)]


def known(client: Client, ids: Sequence[str]) -> list[ModelDetailAnswer]:
    """What the service knows of these versions now."""
    return [client.models.get(id_) for id_ in ids]


def ask_scores(client: Client, ids: Sequence[str]) -> bool:
    """Have the scorecards of model versions computed that are missing, and all where they rest on different data;
    whether this token may."""
    found = known(client, ids)
    alike = len({m["data"]["fingerprint"] for m in found if m["data"] and not _waits(m)}) <= 1
    try:
        for model in found:
            if not _waits(model) and (model["data"] is None or not alike):
                client.models.score(model["id"])
    except Forbidden:
        return False
    return True


def scored(client: Client, ids: Sequence[str], timeout_s: float = 45.0) -> list[ModelDetailAnswer]:
    """The versions once none of their scores waits any more, or after `timeout_s` for all of them together."""
    return _once(client, ids, lambda m: not _waits(m), timeout_s)


def watched(client: Client, ids: Sequence[str], readings: int = 6, timeout_s: float = 15.0) -> list[ModelDetailAnswer]:
    """The versions once each has so many readings that it predicted in the shadow, or after `timeout_s` for all."""
    return _once(client, ids, lambda m: _readings(m) >= readings, timeout_s)


def _readings(model: ModelDetailAnswer) -> int:
    return 0 if model["in_shadow"] is None else model["in_shadow"]["candidate"]["n"]


def _once(
    client: Client, ids: Sequence[str], done: Callable[[ModelDetailAnswer], bool], timeout_s: float
) -> list[ModelDetailAnswer]:
    deadline = time.monotonic() + timeout_s
    found = known(client, ids)
    while not all(done(m) for m in found) and time.monotonic() < deadline:
        time.sleep(EVERY_S)
        found = known(client, ids)
    return found


def waiting(found: Sequence[ModelDetailAnswer]) -> list[str]:
    """The names of those whose score is still being computed, with the number of sessions so far."""
    return [
        f"{m['name']} ({s['done']} of {s['sessions']} sessions)" for m in found if _waits(m) and (s := m["scoring"])
    ]


def _waits(model: ModelDetailAnswer) -> bool:
    return model["scoring"] is not None and model["scoring"]["state"] == "waiting"


def cards(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a version: what the suite says (`suite`, `faults`), and the means of its scorecard."""
    names = told_apart({m["id"]: m["name"] for m in found})
    rows = [
        {
            "model": names[m["id"]],
            "state": m["state"],
            "suite": m["suite"]["state"].replace("_", " "),
            "faults": "; ".join(m["suite"]["faults"]),
            **({name: m["scorecard"][name] for name in SHOWN} if m["scorecard"] else {}),  # type: ignore[literal-required]
        }
        for m in found
    ]
    return pd.DataFrame(rows, columns=["model", "state", "suite", "faults", *SHOWN]).set_index("model")


def beside(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a candidate and source that knows it: by how much it is better than the champion (`mean`, `low`, `high`;
    above 0 is better) over so many `sessions`, the `verdict`, and the `sentence` that tells it all."""
    names = told_apart({m["id"]: m["name"] for m in found})
    rows = [
        {
            "model": names[m["id"]],
            "source": judged["source"].replace("_", " "),
            "measure": judged["measure"],
            **{end: np.nan if judged[end] is None else judged[end] for end in ("mean", "low", "high")},
            "sessions": judged["sessions"],
            "verdict": judged["verdict"],
            "sentence": judged["sentence"],
        }
        for m in found
        if (told := m["beside_champion"]) is not None
        for judged in told["judged"]
        if judged["sessions"]
    ]
    columns = ["model", "source", "measure", "mean", "low", "high", "sessions", "verdict", "sentence"]
    return pd.DataFrame(rows, columns=columns)


def decisions(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a candidate: whether the rule promotes it, why, and which of its changes no source judges."""
    names = told_apart({m["id"]: m["name"] for m in found})
    rows = [
        {
            "model": names[m["id"]],
            "promotes": told["promotes"],
            "changed": ", ".join(told["changed"]),
            "not judged": ", ".join(told["not_judged"]),
            "why": told["why"],
        }
        for m in found
        if (told := m["beside_champion"]) is not None
    ]
    return pd.DataFrame(rows, columns=["model", "promotes", "changed", "not judged", "why"]).set_index("model")


def better(found: Sequence[ModelDetailAnswer]) -> str | None:
    """The id of the first version that the rule promotes; None where it promotes none."""
    return next((m["id"] for m in found if m["beside_champion"] and m["beside_champion"]["promotes"]), None)


@dataclass(frozen=True)
class Served:
    """The first recommendation that was asked for after a change of the champion, and how many seconds after it."""

    recommendation: str
    model: str | None
    seconds: float

    def __str__(self) -> str:
        return f"{self.recommendation} was computed by {self.model}, {self.seconds:.1f} s after the change"


def active(client: Client, most: int = 20) -> str | None:
    """The database with a session that is running, of those that reported last; None where there is none."""
    newest = sorted(client.databases.list(), key=lambda d: d["last_report_at"] or d["created_at"], reverse=True)[:most]
    for database in newest:
        session = client.sessions.list(database["id"], limit=1).first()
        if session is not None and session["state"] == "running":
            return database["id"]
    return None


def first_after(client: Client, database: str, changed_at: datetime | None, timeout_s: float = 10.0) -> Served | None:
    """What served first after `changed_at`; None where nobody asked for a recommendation for `timeout_s`."""
    assert changed_at is not None
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        newest: list[RecommendationAnswer] = list(islice(client.recommendations.list(database, limit=20), 20))
        later = [(at, r) for r in newest if r["model"] and (at := r["created_at"]) > changed_at]
        if later:
            at, first = min(later, key=lambda pair: pair[0])
            return Served(first["id"], first["model"], (at - changed_at).total_seconds())
        time.sleep(EVERY_S)
    return None
