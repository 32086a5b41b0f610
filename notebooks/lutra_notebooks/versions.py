"""Model versions: their scores side by side, and what serves after a promotion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import pandas as pd
from lutra_client import Client, TimedOut
from lutra_client.schemas import ModelDetailAnswer, RecommendationAnswer

SHOWN = ("held_90", "width_90", "log_score", "error", "rank_correlation", "regret")
EVERY_S = 0.2
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


def scorecards(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a model version: its scorecard, and the fingerprint of the `data` that it was computed from; only equal
    fingerprints may be compared."""
    rows = [
        {"model": m["name"], "id": m["id"], "state": m["state"], **{n: card[n] for n in SHOWN}, "data": _data(m)}
        for m in found
        if (card := m["scorecard"]) is not None
    ]
    return pd.DataFrame(rows, columns=["model", "id", "state", *SHOWN, "data"]).set_index("model")


def by_session(found: Sequence[ModelDetailAnswer]) -> pd.DataFrame:
    """A row a model version and past session: `log_score` and `regret`."""
    rows = [
        {"model": m["name"], "session": s["session"], "log_score": s["log_score"], "regret": s["regret"]}
        for m in found
        if (card := m["scorecard"]) is not None
        for s in card["by_session"]
        if s.get("failed") is None
    ]
    return pd.DataFrame(rows, columns=["model", "session", "log_score", "regret"])


def _data(model: ModelDetailAnswer) -> str:
    return "" if model["data"] is None else model["data"]["fingerprint"]


def better(found: Sequence[ModelDetailAnswer]) -> ModelDetailAnswer | None:
    """The candidate with the highest log score, where that is higher than the champion's on the same data and its
    regret no more than a hundredth higher; None where no candidate is."""
    (champion,) = (m for m in found if m["serves"])
    best = champion
    for one in found:
        mine, theirs = one["scorecard"], best["scorecard"]
        if mine is None or theirs is None or _data(one) != _data(champion):
            continue
        if _number(mine["log_score"]) > _number(theirs["log_score"]) and _no_worse(one, champion):
            best = one
    return None if best is champion else best


def _no_worse(one: ModelDetailAnswer, champion: ModelDetailAnswer) -> bool:
    mine, theirs = one["scorecard"], champion["scorecard"]
    assert mine is not None
    assert theirs is not None
    return mine["regret"] is None or theirs["regret"] is None or mine["regret"] <= theirs["regret"] + 0.01


def _number(value: float | None) -> float:
    return float("-inf") if value is None else value


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
        if found["in_shadow"] is not None:
            for who in ("candidate", "served"):
                told = found["in_shadow"][who]  # type: ignore[literal-required]
                rows.append({"model": found["name"], "predicted by": who, **{n: told[n] for n in SHADOW}})
    return pd.DataFrame(rows, columns=["model", "predicted by", *SHADOW])


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
