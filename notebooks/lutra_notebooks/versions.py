"""Model versions: their scores side by side, and what serves after a promotion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import pandas as pd
from lutra_client import Client, TimedOut
from lutra_client.schemas import ModelDetailAnswer, RecommendationAnswer, ShadowScoreAnswer

from lutra_notebooks.naming import told_apart

SHOWN = ("held_90", "width_90", "log_score", "error", "rank_correlation", "regret")
EVERY_S = 0.2
REGRET_ALLOWED = 0.05
"""What is not clearly more: a regret moves by as much where the past that sessions use grew between two scorings."""
SHADOW = ("n", "held_90", "width_90", "log_score", "error")


def candidates(client: Client, most: int = 3) -> list[str]:
    """The ids of the newest candidates."""
    return [m["id"] for m in islice(client.list_models(state="candidate"), most)]


def scored(client: Client, ids: Iterable[str], timeout_s: float = 3600.0) -> list[ModelDetailAnswer]:
    """Compute the scorecards of model versions on the same past sessions, and wait for them. Raises TimedOut."""
    asked = list(ids)
    for id_ in asked:
        client.score_model(id_)
    return [
        client.wait_until(
            Client.get_model.request(id_),
            lambda m: m["scoring"] is not None and m["scoring"]["state"] != "waiting",
            timeout_s=timeout_s,
            every_s=0.5,
        )
        for id_ in asked
    ]


def compared(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a model version: the means of its scorecard over the past `sessions` that all of them were scored on with
    the same trials. A session that went on meanwhile is left out, for it was another one to each."""
    names = told_apart({m["id"]: m["name"] for m in found})
    rows = [
        {"model": names[m["id"]], "id": m["id"], "state": m["state"], **dict(scored)}
        for m in found
        if (card := m["scorecard"]) is not None
        for scored in card["by_session"]
        if scored.get("n")
    ]
    table = pd.DataFrame(rows, columns=["model", "id", "state", "session", "n", *SHOWN])
    alike = table.groupby("session").n.agg(["count", "nunique"])
    shared = alike.index[(alike["count"] == len(found)) & (alike["nunique"] == 1)]
    grouped = table[table.session.isin(shared)].groupby(["model", "id", "state"], sort=False)
    told = grouped[list(SHOWN)].mean().assign(sessions=grouped.session.nunique())
    return told.reset_index(["id", "state"])


def better(table: pd.DataFrame, champion: str) -> str | None:
    """Of a `compared` table the id of the candidate with the highest log score, where that is higher than the
    champion's, whose id is given, and its regret not clearly higher; None where no candidate is better."""
    own = table[table.id == champion]
    if own.empty:
        return None
    regret = table.regret.fillna(0.0) <= float(own.regret.fillna(0.0).iloc[0]) + REGRET_ALLOWED
    others = table[(table.log_score > float(own.log_score.iloc[0])) & regret]
    return None if others.empty else str(others.id.iloc[int(others.log_score.argmax())])


def watched(client: Client, ids: Iterable[str], readings: int = 10, timeout_s: float = 60.0) -> pd.DataFrame:
    """Two rows a candidate, after waiting until that many readings came of what it predicted in the shadow: its own
    predictions and those of what served, over the same readings. After `timeout_s` with as many as there are."""
    rows = []
    for id_ in ids:
        try:
            found = client.wait_until(
                Client.get_model.request(id_), lambda m: _readings(m) >= readings, timeout_s=timeout_s, every_s=0.5
            )
        except TimedOut:
            found = client.get_model(id_)
        rows += [{"model": found["name"], "predicted by": who, **dict(told)} for who, told in _both(found)]
    return pd.DataFrame(rows, columns=["model", "predicted by", *SHADOW])


def _both(model: ModelDetailAnswer) -> list[tuple[str, ShadowScoreAnswer]]:
    beside = model["in_shadow"]
    return [] if beside is None else [("candidate", beside["candidate"]), ("what served", beside["served"])]


def _readings(model: ModelDetailAnswer) -> int:
    return 0 if model["in_shadow"] is None else model["in_shadow"]["candidate"]["n"]


@dataclass(frozen=True)
class Served:
    """The first recommendation that was asked for after a change of the champion, and how many seconds after it."""

    recommendation: str
    model: str | None
    seconds: float

    def __str__(self) -> str:
        return f"{self.recommendation} was computed by {self.model}, {self.seconds:.1f} s after the change"


def active(client: Client) -> str | None:
    """The database for which a recommendation was asked for last; None where there is none."""
    newest = [(made["created_at"], d["id"]) for d in client.list_databases() if (made := _newest(client, d["id"]))]
    return max(newest)[1] if newest else None


def first_after(client: Client, database: str, changed_at: str | None, timeout_s: float = 60.0) -> Served | None:
    """What served first after `changed_at`; None where nobody asked for a recommendation for `timeout_s`."""
    assert changed_at is not None
    since, deadline = datetime.fromisoformat(changed_at), time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        newest = islice(client.list_recommendations(database, limit=20), 20)
        later = [(at, r) for r in newest if r["model"] and (at := datetime.fromisoformat(r["created_at"])) > since]
        if later:
            at, first = min(later, key=lambda pair: pair[0])
            return Served(first["id"], first["model"], (at - since).total_seconds())
        time.sleep(EVERY_S)
    return None


def _newest(client: Client, database: str) -> RecommendationAnswer | None:
    return next(iter(client.list_recommendations(database, limit=1)), None)
