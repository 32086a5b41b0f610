from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import httpx
import pytest
from lutra_agent.config import PrometheusConfig, ServiceConfig
from lutra_agent.errors import CollectionFailed, ServiceRefused, ServiceUnavailable
from lutra_agent.prometheus import Prometheus
from lutra_agent.transport import Transport

from tests.support.fake_clock import START

OURS = {"Content-Type": "application/problem+json; charset=utf-8"}
PROBLEM = json.dumps({"code": "invalid_report", "detail": "qps: -1"}).encode()


def transport(answer: Callable[[httpx.Request], httpx.Response]) -> Transport:
    return Transport(ServiceConfig("http://127.0.0.1:8000", "db_1"), "lutra_token", httpx.MockTransport(answer))


@pytest.mark.parametrize("status", [401, 403, 408, 425, 429, 500, 502, 503])
def test_what_time_or_an_operator_can_cure_is_tried_again(status: int) -> None:
    with pytest.raises(ServiceUnavailable):
        transport(lambda request: httpx.Response(status)).send(b"")


@pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
def test_what_will_never_be_taken_is_refused_with_the_services_words(status: int) -> None:
    with pytest.raises(ServiceRefused, match="invalid_report qps: -1"):
        transport(lambda request: httpx.Response(status, content=PROBLEM, headers=OURS)).send(b"")


@pytest.mark.parametrize("status", [400, 404, 405, 413, 421])
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"404 page not found", {"Content-Type": "text/plain"}),
        (PROBLEM, {"Content-Type": "application/json"}),
        (b'{"title": "Not found"}', OURS),
        (b"[]", OURS),
        (b"{", OURS),
        (b"", {}),
    ],
)
def test_what_a_proxy_says_in_the_services_place_is_tried_again(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    with pytest.raises(ServiceUnavailable, match=str(status)):
        transport(lambda request: httpx.Response(status, content=body, headers=headers)).send(b"")


def test_a_network_error_and_a_strange_answer_are_tried_again() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServiceUnavailable):
        transport(broken).send(b"")
    with pytest.raises(ServiceUnavailable, match="Receipt"):
        transport(lambda request: httpx.Response(200, text="<html>")).send(b"")


def test_a_report_is_sent_compressed_with_the_token_in_a_header_alone() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"duplicate": True})

    assert transport(answer).send(gzip.compress(b"{}")).duplicate
    assert seen[0].headers["Content-Encoding"] == "gzip"
    assert seen[0].headers["Authorization"] == "Bearer lutra_token"
    assert "lutra_token" not in str(seen[0].url)
    assert gzip.decompress(seen[0].content) == b"{}"


def test_waiting_for_a_directive_says_how_long_and_no_content_is_none() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Prefer"])
        return httpx.Response(204)

    assert transport(answer).directive(400, "agent", "epoch") is None
    assert seen == ["wait=60"]


def prometheus(data: object, unit: str = "s", seen: list[httpx.Request] | None = None) -> Prometheus:
    def answer(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        return httpx.Response(200, json={"status": "success", "data": data})

    return Prometheus(PrometheusConfig("http://127.0.0.1:9090", "q[$window]", unit), httpx.MockTransport(answer))


def test_a_prometheus_answer_becomes_milliseconds() -> None:
    seen: list[httpx.Request] = []
    vector = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "0.25"]}]}
    found = prometheus(vector, seen=seen).latency(START, START.replace(second=30))
    assert found is not None
    assert (found.p99_ms, found.source) == (250.0, "prometheus")
    assert seen[0].url.params["query"] == "q[30s]"
    scalar = prometheus({"resultType": "scalar", "result": [1, "40"]}, "ms").latency(START, START)
    assert scalar is not None
    assert scalar.p99_ms == 40.0


def test_an_empty_or_nan_answer_of_prometheus_is_no_measurement() -> None:
    assert prometheus({"resultType": "vector", "result": []}).latency(START, START) is None
    nan = {"resultType": "vector", "result": [{"metric": {}, "value": [1, "NaN"]}]}
    assert prometheus(nan).latency(START, START) is None


@pytest.mark.parametrize("data", [{}, {"resultType": "vector", "result": [{}, {}]}, {"result": 3}, None])
def test_a_prometheus_answer_that_is_not_one_number_is_a_failed_collection(data: object) -> None:
    with pytest.raises(CollectionFailed):
        prometheus(data).latency(START, START)
