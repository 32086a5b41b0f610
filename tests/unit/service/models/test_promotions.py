"""What the suite found, what is compared, and what the rule does with it, over REST and at the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_models.scores import scorecard

from tests.support.fakes.tasks import Fakes
from tests.support.service.hosted import Document, Service, fake_executor, running

pytestmark = pytest.mark.slow

SHIPPED = "mv_0000000000000000000000"
FAULTY = {"option": "surrogate.name", "name": "toygp", "faults": ["it keeps nothing"]}


def registered(service: Service, options: Document, name: str = "a candidate") -> str:
    return str(service.take("POST", "/v1/models", {"name": name, "options": options})["id"])


def a_card(sessions: int, log_score: float, missed: float = 0.5, suite: Document | None = None) -> Document:
    rows = [
        {
            "session": f"ts_{i}",
            "key": "as it was",
            "served": {"n": 9, "log_score": log_score + 0.05 * (i % 3)},
            "alone": None,
            "played": {"missed": missed + 0.05 * (i % 2), "missed_live": missed},
        }
        for i in range(sessions)
    ]
    return scorecard(rows, [] if suite is None else [suite])


def carded(service: Service, id_: str, card: Document) -> None:
    service.store.write(lambda u: u.models.change(id_, scorecard=card, scored_at=u.now))


def beside(service: Service, id_: str) -> Any:
    return service.take("GET", f"/v1/models/{id_}")["beside_champion"]


def test_the_rule_promotes_what_its_interval_shows_to_be_better(service: Service) -> None:
    made = registered(service, {"surrogate": {"wary": {"shift": -1.0}}})
    carded(service, SHIPPED, a_card(12, 0.5))
    carded(service, made, a_card(12, 0.9))
    found = beside(service, made)
    assert (found["champion"], found["changed"], found["promotes"]) == (SHIPPED, ["surrogate"], True)
    past = found["judged"][0]
    assert (past["source"], past["sessions"], past["verdict"], past["needed"]) == ("past_sessions", 12, "better", 0)
    assert 0 < past["low"] < past["mean"] < past["high"]
    assert service.take("POST", f"/v1/models/{made}/promote", {"by_rule": True})["serves"]
    newest = service.take("GET", "/v1/audit")["items"][0]
    assert "better" in newest["after"]["by_rule"]
    assert beside(service, made) is None


def test_it_promotes_no_difference_of_rounding_and_names_what_it_would_take(service: Service) -> None:
    made = registered(service, {"search": {"acquisition": "log_pi"}})
    carded(service, SHIPPED, a_card(2, -0.137360775841))
    carded(service, made, a_card(2, -0.137360581989))
    refused = service.ask("POST", f"/v1/models/{made}/promote", {"by_rule": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "too few to decide; needs at least 3 more sessions" in refused.json()["detail"]
    assert service.take("POST", f"/v1/models/{made}/promote")["serves"], "somebody may decide otherwise"


def test_an_acquisition_is_judged_by_what_was_played_and_by_no_forecast(service: Service) -> None:
    made = registered(service, {"search": {"acquisition": "log_pi"}})
    carded(service, SHIPPED, a_card(20, 0.5, missed=0.3))
    carded(service, made, a_card(20, 0.5, missed=0.7))
    found = beside(service, made)
    verdicts = {j["source"]: j["verdict"] for j in found["judged"]}
    assert verdicts == {
        "past_sessions": "undecided",
        "shadow": "undecided",
        "played": "worse",
        "played_live": "worse",
    }
    assert not found["promotes"]
    assert "search" not in found["judged"][0]["judges"]


class Judging(Fakes):
    """A suite that finds a fault in what a package brings, and parts that cannot be imported."""

    broken: tuple[str, ...] = ()

    def conformance(self, request: Mapping[str, Any]) -> Document:
        return {"conformance": [FAULTY]}

    def broken_parts(self, request: Mapping[str, Any]) -> Document:
        return {"broken": list(self.broken)}


def test_what_the_suite_found_is_shown_wherever_the_version_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path, executor=fake_executor(Judging())) as service:
        made = registered(service, {"surrogate": {"name": "toygp"}})
        assert service.take("GET", f"/v1/models/{made}")["suite"] == {"state": "not_run", "faults": []}
        service.take("POST", f"/v1/models/{made}/score")
        ended = service.until(f"/v1/models/{made}", lambda m: m["scoring"]["state"] != "waiting")
        assert (ended["scoring"]["state"], ended["suite"]["state"]) == ("failed", "failed")
        assert ended["suite"]["faults"] == ["toygp: it keeps nothing"]
        assert "it keeps nothing" in ended["scoring"]["error"]
        listed = {m["id"]: m["suite"]["state"] for m in service.take("GET", "/v1/models")["items"]}
        assert listed == {made: "failed", SHIPPED: "not_needed"}
        carded(service, SHIPPED, a_card(12, 0.5))
        carded(service, made, a_card(12, 0.9, suite=FAULTY))
        assert not beside(service, made)["promotes"]
        assert "it keeps nothing" in beside(service, made)["why"]
        monkeypatch.setenv("LUTRA_DATABASE_URL", str(service.store._reader.url))
        for command in ("show", "list"):
            arguments = ["models", command, *([made] if command == "show" else [])]
            told = CliRunner().invoke(main, arguments, catch_exceptions=False).output
            assert "suite failed" in told or "conformance suite: failed\n  toygp: it keeps nothing" in told


def test_what_cannot_be_imported_is_named_at_registration(tmp_path: Path) -> None:
    fakes = Judging()
    with running(tmp_path, executor=fake_executor(fakes)) as service:
        fakes.broken = ("surrogate.name = 'toygp': toygp:Gone cannot be imported",)
        refused = service.ask("POST", "/v1/models", {"name": "x", "options": {"surrogate": {"name": "toygp"}}})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_options")
        assert "toygp:Gone cannot be imported" in refused.json()["detail"]
        assert len(service.take("GET", "/v1/models")["items"]) == 1
