from __future__ import annotations

import gzip
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from lutra_agent.config.types import PrometheusConfig, ServiceConfig
from lutra_agent.errors import CollectionFailed, NotAdmitted, ServiceFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.http.client import Answer
from lutra_agent.metrics.prometheus import Prometheus
from lutra_agent.reporting.transport import Transport

from tests.support.fakes.clock import START
from tests.support.fakes.http import FakeHttp

OURS = {"content-type": "application/problem+json; charset=utf-8"}
PROBLEM = json.dumps({"code": "invalid_report", "detail": "qps: -1"}).encode()


def transport(answer: Answer | None) -> Transport:
    return Transport(ServiceConfig("http://127.0.0.1:8000", "db_1"), "lutra_token", FakeHttp(answer))


@pytest.mark.parametrize("status", [302, 401, 403, 404, 408, 425, 429, 500, 502, 503])
def test_what_time_or_an_operator_can_cure_is_tried_again(status: int) -> None:
    with pytest.raises(ServiceUnavailable):
        transport(Answer(status)).send(b"")


@pytest.mark.parametrize("status", [400, 409, 413, 415, 422])
def test_what_will_never_be_taken_is_refused_with_the_services_words(status: int) -> None:
    with pytest.raises(ServiceRefused, match="invalid_report qps: -1"):
        transport(Answer(status, headers=OURS, content=PROBLEM)).send(b"")


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_or_a_database_that_is_gone_is_for_an_operator_to_cure_and_refuses_no_report(status: int) -> None:
    with pytest.raises(NotAdmitted, match=str(status)):
        transport(Answer(status, headers=OURS, content=PROBLEM)).send(b"")
    with pytest.raises(NotAdmitted):
        transport(Answer(status, headers=OURS, content=PROBLEM)).directive(1, "agent", "epoch")


def test_a_session_or_database_that_is_not_found_ends_a_command() -> None:
    gone = transport(Answer(404, headers=OURS, content=PROBLEM))
    for ask in (lambda: gone.get("/v1/sessions/ts_1"), lambda: gone.start_session({})):
        with pytest.raises(ServiceRefused):
            ask()


@pytest.mark.parametrize("status", [500, 507])
def test_an_error_in_the_services_own_words_may_be_the_reports_doing_and_a_proxys_is_not(status: int) -> None:
    with pytest.raises(ServiceFailed):
        transport(Answer(status, headers=OURS, content=PROBLEM)).send(b"")
    with pytest.raises(ServiceUnavailable) as found:
        transport(Answer(status, "Bad Gateway")).send(b"")
    assert not isinstance(found.value, ServiceFailed)


@pytest.mark.parametrize("code", ["name_taken", "database_retired"])
def test_what_an_operator_can_cure_costs_no_report(code: str) -> None:
    words = json.dumps({"code": code, "detail": "give this agent another name"}).encode()
    answer = Answer(409, headers={**OURS, "retry-after": "30"}, content=words)
    with pytest.raises(NotAdmitted, match="give this agent another name") as found:
        transport(answer).send(b"")
    assert found.value.retry_after_s == 30
    with pytest.raises(NotAdmitted):
        transport(answer).directive(1, "agent", "epoch")


def test_a_service_without_its_store_is_an_outage_and_no_reports_doing() -> None:
    with pytest.raises(ServiceUnavailable) as found:
        transport(Answer(503, headers={**OURS, "retry-after": "10"}, content=PROBLEM)).send(b"")
    assert (type(found.value), found.value.retry_after_s) == (ServiceUnavailable, 10)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("17", 17), ("0", 0), ("86400", 600), ("9" * 400, 600), ("-3", 0), ("²", 0), ("1e9", 0), ("tomorrow", 0), ("", 0)],
)
def test_the_time_that_the_service_names_is_bounded_and_nonsense_is_none(header: str, seconds: float) -> None:
    with pytest.raises(ServiceUnavailable) as found:
        transport(Answer(429, headers={**OURS, "retry-after": header}, content=PROBLEM)).send(b"")
    assert found.value.retry_after_s == seconds


def test_words_of_the_service_are_bounded_and_make_no_line_of_a_log_of_their_own() -> None:
    words = json.dumps({"code": "no\nWARNING forged", "detail": "\x1b[2J" + "x" * 100_000}).encode()
    with pytest.raises(ServiceRefused) as found:
        transport(Answer(422, headers=OURS, content=words)).send(b"")
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 500


@pytest.mark.parametrize("status", [400, 404, 405, 413, 421])
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"404 page not found", {"content-type": "text/plain"}),
        (PROBLEM, {"content-type": "application/json"}),
        (b'{"title": "Not found"}', OURS),
        (b"[]", OURS),
        (b"{", OURS),
        (b"[" * 100_000, OURS),
        (b"", {}),
    ],
)
def test_what_a_proxy_says_in_the_services_place_is_tried_again(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    with pytest.raises(ServiceUnavailable, match=str(status)):
        transport(Answer(status, headers=headers, content=body)).send(b"")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b'{"rules":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"[" * 5_000 + b"]" * 5_000,
        b'{"rules":' * 5_000 + b"1" + b"}" * 5_000,
        b"[" + b"[]," * 300_000 + b"1]",
        b"{" + b",".join(b'"%d":1' % i for i in range(90_000)) + b"}",
    ],
)
def test_an_answer_that_is_no_receipt_is_tried_again_however_deep_or_wide(body: bytes) -> None:
    with pytest.raises(ServiceUnavailable, match="Receipt") as found:
        transport(Answer(200, content=body)).send(b"")
    assert len(str(found.value)) < 500


@pytest.mark.parametrize("body", [b"[" * 5_000, b'{"a":' * 5_000, b"{" + b'"a":[],' * 600_000 + b'"b":1}', b"[]"])
def test_a_page_that_cannot_be_read_is_tried_again(body: bytes) -> None:
    with pytest.raises(ServiceUnavailable):
        transport(Answer(200, content=body)).get("/v1/sessions/ts_1")


def test_an_exchange_that_fails_is_tried_again() -> None:
    with pytest.raises(ServiceUnavailable, match="refused"):
        transport(None).send(b"")


def test_a_report_is_sent_compressed() -> None:
    http = FakeHttp(Answer(200, content=b'{"duplicate": true}'))
    sent = Transport(ServiceConfig("http://127.0.0.1:8000", "db_1"), "lutra_token", http)
    assert sent.send(gzip.compress(b"{}")).duplicate
    [request] = http.requests
    assert request.headers["Content-Encoding"] == "gzip"
    assert request.path == "/v1/databases/db_1/reports"
    assert gzip.decompress(request.content) == b"{}"


def test_waiting_for_a_directive_says_how_long_and_no_content_is_none() -> None:
    http = FakeHttp(Answer(204))
    assert Transport(ServiceConfig("http://127.0.0.1:8000", "db_1"), "t", http).directive(400, "agent", "epoch") is None
    [request] = http.requests
    assert request.headers["Prefer"] == "wait=60"
    assert request.bound.seconds == 90


def prometheus(data: object, unit: str = "s") -> tuple[Prometheus, FakeHttp]:
    http = FakeHttp(Answer(200, content=json.dumps({"status": "success", "data": data}).encode()))
    return Prometheus(PrometheusConfig("http://127.0.0.1:9090", "q[$window]", unit), http), http


def test_a_prometheus_answer_becomes_milliseconds() -> None:
    vector = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "0.25"]}]}
    asked, http = prometheus(vector)
    found = asked.latency(START, START.replace(second=30))
    assert found is not None
    assert (found.p99_ms, found.source) == (250.0, "prometheus")
    assert parse_qs(urlsplit(http.requests[0].path).query)["query"] == ["q[30s]"]
    scalar = prometheus({"resultType": "scalar", "result": [1, "40"]}, "ms")[0].latency(START, START)
    assert scalar is not None
    assert scalar.p99_ms == 40.0


def test_an_empty_or_nan_answer_of_prometheus_is_no_measurement() -> None:
    assert prometheus({"resultType": "vector", "result": []})[0].latency(START, START) is None
    nan = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "NaN"]}]}
    assert prometheus(nan)[0].latency(START, START) is None


@pytest.mark.parametrize("data", [{}, {"resultType": "vector", "result": [{}, {}]}, {"result": 3}, None])
def test_a_prometheus_answer_that_is_not_one_number_is_a_failed_collection(data: object) -> None:
    with pytest.raises(CollectionFailed):
        prometheus(data)[0].latency(START, START)


@pytest.mark.parametrize(
    "answer",
    [Answer(500, "Oops"), Answer(302, "Found"), Answer(200, content=b"[" * 5_000), Answer(200, content=b"{"), None],
)
def test_a_prometheus_that_does_not_answer_the_query_is_a_failed_collection(answer: Answer | None) -> None:
    with pytest.raises(CollectionFailed):
        Prometheus(PrometheusConfig("http://127.0.0.1:9090", "q"), FakeHttp(answer)).latency(START, START)
