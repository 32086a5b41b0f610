"""One exchange with the service: what is sent again, after which pause, and what is told in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from lutra_client import BadRequest, Client, Request, Retries, TimedOut, TooBusy, Unreachable
from lutra_client.exchange import Pause, answered, until

RETRIES = Retries(attempts=3, first_s=1.0, longest_s=8.0, chance=lambda: 1.0)
GET: Request[Any] = Request("GET", "/v1/databases")
POST: Request[Any] = Request("POST", "/v1/databases/db_1/predictions", body={})
ONCE: Request[Any] = Request("POST", "/v1/databases", body={}, once=True)


def answer(status: int, body: Any = None, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body or {}, headers=headers, request=httpx.Request("GET", "http://lutra/v1/x"))


def gone() -> httpx.TransportError:
    return httpx.ReadError("it broke off")


def follow(request: Request[Any], replies: Sequence[Any]) -> tuple[list[Any], Any]:
    """What is asked for, one wish after the other, and what comes out of it."""
    flow, wishes, reply, left = answered(request, RETRIES), [], None, list(replies)
    while True:
        try:
            wish = flow.send(reply)
        except StopIteration as done:
            return wishes, done.value
        except Exception as error:
            return wishes, error
        wishes.append(wish)
        reply = None if isinstance(wish, Pause) else left.pop(0)


def pauses(wishes: Sequence[Any]) -> list[float]:
    return [w.seconds for w in wishes if isinstance(w, Pause)]


@pytest.mark.parametrize("reply", [gone(), answer(502), answer(503)])
def test_what_may_be_repeated_is_sent_again_after_longer_and_longer_pauses(reply: Any) -> None:
    wishes, found = follow(GET, [reply, reply, answer(200, {"items": []})])
    assert pauses(wishes) == [1.0, 2.0]
    assert found == {"items": []}


def test_what_is_carried_out_once_for_its_key_keeps_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    wishes, found = follow(ONCE, [gone(), answer(201, {"id": "db_1"})])
    keys = [w.headers["Idempotency-Key"] for w in wishes if not isinstance(w, Pause)]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert found == {"id": "db_1"}


@pytest.mark.parametrize("reply", [gone(), answer(503, {"code": "outcome_unknown"})])
def test_what_may_have_been_carried_out_is_not_sent_again(reply: Any) -> None:
    wishes, found = follow(POST, [reply])
    assert len(wishes) == 1
    assert isinstance(found, Unreachable | TooBusy)


def test_what_was_turned_away_unread_is_sent_again_when_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = answer(429, {"code": "too_many_requests"}, **{"Retry-After": "3"})
    wishes, _ = follow(POST, [busy, answer(200)])
    assert pauses(wishes) == [3.0]
    quota = answer(429, {"code": "quota_exceeded"}, **{"Retry-After": "3600"})
    wishes, found = follow(POST, [quota])
    assert pauses(wishes) == []
    assert found.retry_after_s == 3600


def test_it_gives_up_with_the_last_word() -> None:
    wishes, found = follow(GET, [gone(), answer(503), answer(503, {"code": "busy", "detail": "64 wait"})])
    assert len(pauses(wishes)) == 2
    assert str(found) == "GET /v1/x: 503 busy: 64 wait"


def test_an_answer_of_a_proxy_is_told_as_it_came() -> None:
    page = httpx.Response(400, text="<h1>no</h1>", request=httpx.Request("GET", "http://lutra/v1/x"))
    _, found = follow(GET, [page])
    assert isinstance(found, BadRequest)
    assert (found.code, found.detail) == ("error", "<h1>no</h1>")


def test_waiting_ends_at_its_deadline() -> None:
    times = iter([0.0, 0.0, 1.0, 1.0, 10.5, 10.5, 10.5])
    flow = until(lambda left: GET, lambda found: False, RETRIES, 10.0, 2.0, clock=lambda: next(times))
    next(flow)
    assert flow.send(answer(200, {"state": "computing"})) == Pause(2.0)
    next(flow)
    with pytest.raises(TimedOut, match=r"the wait timed out after 10 s; it is computing"):
        flow.send(answer(200, {"state": "computing"}))


def test_a_stream_that_breaks_off_leaves_no_file(tmp_path: Any) -> None:
    class Breaking(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            yield b'{"id": "win_1"}\n'
            raise httpx.RemoteProtocolError("peer closed connection")

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Breaking()))
    with Client(http=httpx.Client(transport=transport, base_url="http://lutra"), token="t") as client:
        with pytest.raises(Unreachable, match="peer closed connection"):
            client.observations.list().save(tmp_path / "all.csv", "csv")
        with pytest.raises(Unreachable):
            list(client.observations.list())
    assert list(tmp_path.iterdir()) == []


def test_a_stream_is_asked_for_again_where_the_service_had_no_place_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    full = httpx.Response(429, json={"code": "too_many_requests"}, headers={"Retry-After": "2"})
    replies = [full, httpx.Response(503, json={"code": "busy"}), httpx.Response(200, text='{"id": "win_1"}\n')]
    slept: list[float] = []
    monkeypatch.setattr("lutra_client.drivers.time.sleep", slept.append)
    transport = httpx.MockTransport(lambda _: replies.pop(0))
    with Client(http=httpx.Client(transport=transport, base_url="http://lutra"), retries=RETRIES) as client:
        assert list(client.observations.list()) == [{"id": "win_1"}]
        assert slept == [2.0, 2.0]
        replies += [full, full, full]
        with pytest.raises(TooBusy):
            list(client.observations.list())
        replies.append(httpx.Response(422, json={"code": "invalid_request"}))
        with pytest.raises(BadRequest):
            list(client.observations.list())


@pytest.mark.parametrize("text", ["lutra_secret lutra_secret", "lutra_secret\nx", "lutra_s\u00e9cret"])
def test_what_no_header_can_hold_is_refused_and_not_told(text: str) -> None:
    with pytest.raises(ValueError, match="expected a single word") as refused:
        Client(token=text)
    assert "cret" not in str(refused.value)


def test_a_line_end_after_a_token_is_no_part_of_it_and_no_answer_names_the_service() -> None:
    def away(request: httpx.Request) -> httpx.Response:
        assert request.headers["Authorization"] == "Bearer lutra_word"
        raise httpx.ConnectError("refused", request=request)

    http = httpx.Client(transport=httpx.MockTransport(away), base_url="http://lutra:81")
    client = Client(http=http, token="lutra_word\r\n", retries=Retries(attempts=1))
    with pytest.raises(Unreachable, match=r"^GET /v1/databases/db_1 at http://lutra:81: ConnectError: refused$"):
        client.databases.get("db_1")
