"""What the log and the metrics tell of a request, and what they never do."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from pathlib import Path

import pytest
from lutra_service.common.logs import JsonLines, Seldom
from lutra_service.db.schema.records import Finding
from lutra_service.db.store import StoreAway

from tests.support.service.asgi import ask
from tests.support.service.hosted import Service, applied, guard_event, running


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    found = [r for r in caplog.records if r.name == "lutra_service.requests" and r.message == "request"]
    return [vars(record)["fields"] for record in found]


def metric(service: Service, method: str, route: str, status: int) -> float:
    wanted = f'lutra_requests_total{{method="{method}",route="{route}",status="{status}"}} '
    told = service.client.get("/metrics").text.splitlines()
    return sum(float(line.removeprefix(wanted)) for line in told if line.startswith(wanted))


def test_made_up_methods_and_paths_make_no_labels(service: Service) -> None:
    told: list[int] = []
    service.client.get("/metrics")  # which has a label of its own
    for of in range(2):
        for n in range(of * 40, of * 40 + 40):
            ask(service, f"M{n:06}" + "X" * 3000, f"/v1/zz{n}", {})
            ask(service, f"M{n:06}", "/v1/databases", {})
        told.append(len(service.client.get("/metrics").text.splitlines()))
    assert told[0] == told[1]
    assert metric(service, "other", "unmatched", 404) >= 80
    assert metric(service, "other", "/v1/databases", 405) >= 80


def test_requests_with_a_body_are_counted_under_their_route(service: Service, database: str) -> None:
    posted = metric(service, "POST", "/v1/databases", 201)
    changed = metric(service, "PATCH", "/v1/databases/{database}", 200)
    service.database("another")
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"restart": True}})
    assert metric(service, "POST", "/v1/databases", 201) == posted + 1
    assert metric(service, "PATCH", "/v1/databases/{database}", 200) == changed + 1
    assert metric(service, "PUT", "unmatched", 200) == 0


def product(service: Service, token: str = "") -> dict[str, float]:
    """What `/metrics` tells of the product, by series."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    found = service.client.get("/metrics", headers=headers)
    assert found.status_code == 200, found.text
    rows = (line.rpartition(" ") for line in found.text.splitlines() if line.startswith("lutra_"))
    return {name: float(value) for name, _, value in rows}


def test_what_happened_to_changes_is_counted_in_the_store_and_shown_by_the_databases_name(service: Service) -> None:
    odd = 'a "shop"\\ in\nParis'
    agent = service.agent(service.database(odd), mode="reload_only")
    labels = 'database="a \\"shop\\"\\\\ in\\nParis"'
    token = service.take("POST", "/v1/tokens", {"name": "prometheus", "scopes": ["read"]})["token"]
    assert product(service, token)[f'lutra_guards_fired_total{{{labels},guard="p99"}}'] == 0
    made = applied(service, agent)
    agent.send(agent.report(**agent.window(p99_ms=40.0), events=[guard_event(agent, made)]))
    reverted = agent.outcome({"id": made["id"]}, "reverted", code="guardrail", message="p99: worse")
    agent.send(agent.report(outcomes=[reverted]))
    service.take("POST", f"/v1/databases/{agent.database}/recommendations", {"settings": {"work_mem": "8MB"}})
    found = product(service, token)
    assert found[f'lutra_guards_fired_total{{{labels},guard="p99"}}'] == 1
    assert found[f'lutra_changes_total{{{labels},state="applied"}}'] == 1
    assert found[f'lutra_changes_total{{{labels},state="reverted"}}'] == 1
    assert found[f'lutra_changes_total{{{labels},state="confirmed"}}'] == 0
    assert found[f"lutra_recommendations_waiting{{{labels}}}"] == 1
    assert found["lutra_store_up"] == 1
    assert found["lutra_store_bytes"] > 0
    assert found["lutra_jobs_waiting"] == 0


def test_without_a_token_no_database_is_named_and_counts_are_sums(service: Service, database: str) -> None:
    for name in ("one", "two"):
        applied(service, service.agent(service.database(name), mode="reload_only"))
    found = product(service)
    assert found['lutra_changes_total{state="applied"}'] == 2
    assert not [name for name in found if "database=" in name]


def test_a_token_of_one_database_sees_its_series_alone_and_a_false_one_none(service: Service, database: str) -> None:
    service.database("other")
    bound = service.take("POST", f"/v1/databases/{database}/tokens", {"name": "x", "scopes": ["read"]})["token"]
    named = {name.partition('database="')[2].partition('"')[0] for name in product(service, bound)}
    assert named == {"", "shop"}
    false = service.client.get("/metrics", headers={"Authorization": "Bearer lutra_" + "x" * 43})
    assert false.status_code == 401


def test_an_agent_that_is_silent_or_never_came_shows_by_its_age(service: Service, database: str) -> None:
    agent = service.agent(database)
    agent.send()
    service.store.write(lambda u: u.databases.change(database, last_report_at=u.now - timedelta(minutes=30)))
    new = service.database("never")
    service.store.write(lambda u: u.databases.change(new, created_at=u.now - timedelta(hours=2)))
    found = product(service, service.headers["Authorization"].removeprefix("Bearer "))
    assert found['lutra_report_age_seconds{database="shop"}'] >= 30 * 60
    assert found['lutra_report_age_seconds{database="never"}'] >= 2 * 3600
    assert found['lutra_window_age_seconds{database="never"}'] >= 2 * 3600


def test_the_newest_window_the_headroom_and_the_open_session_of_each_database_are_shown(
    service: Service, database: str
) -> None:
    agent = service.agent(database)
    service.take("POST", f"/v1/databases/{database}/sessions", {"objective": {"metric": "p99_ms", "goal": "minimize"}})
    for p99_ms in (80.0, 40.0):
        agent.send(agent.report(**agent.window(p99_ms=p99_ms, qps=250.0)))
    found = product(service, service.headers["Authorization"].removeprefix("Bearer "))
    assert found['lutra_p99_seconds{database="shop"}'] == 0.04
    assert found['lutra_queries_per_second{database="shop"}'] == 250
    assert found['lutra_session_open{database="shop",state="running"}'] == 1
    agent.apply({"shared_buffers": int(agent.settings["shared_buffers"].value) + 131072})
    agent.send()
    more = product(service, service.headers["Authorization"].removeprefix("Bearer "))
    headroom = 'lutra_memory_headroom_bytes{database="shop"}'
    assert found[headroom] - more[headroom] > 1 << 30  # the buffers and their headers


def test_findings_are_counted_by_kind_until_somebody_accepts_the_risk(service: Service, database: str) -> None:
    service.agent(database).send()
    name = "killed_for_memory"
    service.store.write(
        lambda u: u.findings.add(
            Finding(u.new_id("fnd"), database, name, "danger", 1.0, "The kernel ended a process.", u.now, u.now)
        )
    )
    token = service.headers["Authorization"].removeprefix("Bearer ")
    series = 'lutra_findings{database="shop",kind="danger"}'
    assert product(service, token)[series] == 1
    taken = {"because": "a scratch server", "until": "2027-06-01T00:00:00Z"}
    service.take("PUT", f"/v1/databases/{database}/symptoms/accepted/{name}", taken)
    assert product(service, token)[series] == 0
    assert product(service)['lutra_findings{kind="danger"}'] == 0


def test_more_databases_than_the_bound_have_no_series_of_their_own_and_count_in_the_sums(tmp_path: Path) -> None:
    with running(tmp_path, metrics_databases=1) as bounded:
        for name in ("first", "second"):
            applied(bounded, bounded.agent(bounded.database(name), mode="reload_only"))
        named = product(bounded, bounded.headers["Authorization"].removeprefix("Bearer "))
        assert {n.partition('database="')[2].partition('"')[0] for n in named} == {"", "first"}
        assert product(bounded)['lutra_changes_total{state="applied"}'] == 2


def test_a_store_that_does_not_answer_shows_and_takes_no_other_metric_away(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: object) -> None:
        raise StoreAway("the store is gone")

    monkeypatch.setattr(service.store, "read", gone)
    found = product(service)
    assert found["lutra_store_up"] == 0
    assert any(name.startswith("lutra_requests_total") for name in found)


def test_a_log_line_names_token_address_and_request_and_no_query_nor_header(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        asked = ask(
            service,
            "GET",
            "/v1/databases?after=db_secretqueryxxxxxxxxxxx",
            {**service.headers, "x-secret": "secretheader"},
        )
        ask(service, "GET", "/v1/databases", {"authorization": "Bearer lutra_" + "x" * 43})
    first, second = lines(caplog)
    assert (first["status"], first["path"], first["address"]) == (200, "/v1/databases", "192.0.2.7")
    assert str(first["token"]).startswith("tok_")
    assert second["token"] is None
    assert "secret" not in caplog.text + json.dumps([first, second])
    assert asked.headers["x-request-id"].startswith("req_")


def test_a_log_line_is_short_however_long_the_url_is(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        for path in ("/" + "x" * 60_000, "/v1/" + "y/" * 30_000, "/v1/databases?" + "z=1&" * 15_000):
            ask(service, "G" * 60_000, path, {})
    assert max(len(json.dumps(line)) for line in lines(caplog)) < 500


def test_problems_and_log_lines_carry_the_requests_id(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatted: list[str] = []
    monkeypatch.setattr(logging.getLogger("lutra_service.requests"), "handlers", [_Formatting(formatted)])
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        asked = ask(service, "GET", "/v1/nothing", {})
    assert json.loads(asked.body)["request_id"] == asked.headers["x-request-id"]
    (line,) = formatted
    assert json.loads(line)["request"] == asked.headers["x-request-id"]


def test_a_request_has_an_id_of_its_own_unless_a_proxy_gave_one(tmp_path: Path) -> None:
    given = {"x-request-id": "proxy-1234"}
    with running(tmp_path) as service:
        ids = [ask(service, "GET", "/healthz", given).headers["x-request-id"] for _ in range(3)]
        assert len({*ids, "proxy-1234"}) == 4


def test_behind_a_proxy_its_wellformed_request_id_is_kept(tmp_path: Path) -> None:
    with running(tmp_path, behind_tls_proxy=True) as service:
        assert ask(service, "GET", "/healthz", {"x-request-id": "proxy-1234"}).headers["x-request-id"] == "proxy-1234"
        for bad in ("", "x", "a" * 65, "line\nbreak", "ein Wort", '"}{'):
            assert ask(service, "GET", "/healthz", {"x-request-id": bad}).headers["x-request-id"].startswith("req_")


def test_who_is_refused_for_asking_too_often_fills_no_log(
    tmp_path: Path, five: float, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, anonymous_per_s=five) as service, caplog.at_level(logging.INFO, "lutra_service.requests"):
        for _ in range(50):
            ask(service, "GET", "/v1/databases", {})
    assert len(lines(caplog)) == 5


def test_warnings_that_any_client_brings_about_are_logged_seldom() -> None:
    now = [0.0]
    seldom = Seldom(60.0, lambda: now[0])

    def passes(message: str) -> bool:
        return bool(seldom.filter(logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, message, (), None)))

    assert [passes("Invalid HTTP request received.") for _ in range(3)] == [True, False, False]
    assert [passes("Started server process") for _ in range(2)] == [True, True]
    now[0] = 61.0
    assert passes("Invalid HTTP request received.")


class _Formatting(logging.Handler):
    def __init__(self, formatted: list[str]) -> None:
        super().__init__()
        self.formatted = formatted
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        self.formatted.append(self.format(record))
