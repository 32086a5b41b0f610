from __future__ import annotations

import asyncio
import gzip
import json
import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_service.api import bodies
from lutra_service.api.bodies import Bodies, InvalidJson, TooLarge, check_json, unpack
from starlette.types import Message, Receive, Scope, Send


@given(st.binary(max_size=300))
def test_any_bytes_are_json_that_can_be_kept_or_refused(body: bytes) -> None:
    try:
        check_json(body)
    except InvalidJson:
        return
    json.dumps(json.loads(body), allow_nan=False).encode()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_what_passes_holds_no_number_that_is_none(document: object) -> None:
    body = json.dumps(document).encode()
    try:
        check_json(body)
    except InvalidJson:
        return
    assert "NaN" not in json.dumps([x for x in _floats(json.loads(body)) if not math.isfinite(x)])


@given(st.binary(max_size=2000), st.integers(1, 1500))
def test_unpacking_keeps_its_limit(plain: bytes, limit: int) -> None:
    packed = gzip.compress(plain)
    if len(plain) > limit:
        with pytest.raises(TooLarge):
            unpack(packed, limit)
    else:
        assert unpack(packed, limit) == plain


@given(st.binary(max_size=200))
def test_bytes_that_are_no_gzip_are_refused(packed: bytes) -> None:
    with pytest.raises((InvalidJson, TooLarge)):
        unpack(b"\x00" + packed, 1000)


def through(body: bytes, **headers: str) -> tuple[int, list[Message]]:
    """The status that a POST is answered with, and the messages that were read of it."""
    read: list[Message] = []
    answers: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": (await receive())["body"]})

    async def receive() -> Message:
        read.append({"type": "http.request", "body": body, "more_body": False})
        return read[-1]

    async def send(message: Message) -> None:
        answers.append(message)

    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": told}
    asyncio.run(Bodies(app, 1000, 1000)(scope, receive, send))
    return answers[0]["status"], read


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Basic bHV0cmE="}, {"authorization": "Bearer another"}, {"authorization": ""}]
)
def test_nothing_is_read_of_somebody_without_a_token(headers: dict[str, str]) -> None:
    assert through(gzip.compress(b"{}"), content_encoding="gzip", **headers) == (401, [])


def test_a_body_is_unpacked_and_parsed_beside_the_loop_that_serves_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[threading.Thread] = []

    def noted(body: bytes) -> None:
        threads.append(threading.current_thread())
        check_json(body)

    monkeypatch.setattr(bodies, "check_json", noted)
    packed = gzip.compress(b"{}")
    status, _ = through(packed, authorization="bearer lutra_x", content_encoding="gzip")
    assert status == 200
    assert threads != []
    assert threading.main_thread() not in threads


def _floats(document: object) -> list[float]:
    if isinstance(document, float):
        return [document]
    return [f for x in document for f in _floats(x)] if isinstance(document, list) else []
