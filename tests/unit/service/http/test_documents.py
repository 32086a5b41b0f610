from __future__ import annotations

import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_service.edge.bodies import MAX_DEPTH, MAX_KEYS, MAX_MARKS, MAX_TEXT, parse, unpack
from lutra_service.edge.limits import InvalidJson, TooLarge


@given(st.binary(max_size=300))
def test_any_bytes_are_json_that_can_be_kept_or_refused(body: bytes) -> None:
    try:
        document = parse(body)
    except InvalidJson:
        return
    json.dumps(document, allow_nan=False).encode()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x, max_size=3)))
def test_what_passes_is_what_was_sent_and_holds_no_number_that_is_none(document: object) -> None:
    try:
        parsed = parse(json.dumps(document).encode())
    except InvalidJson:
        return
    assert parsed == document
    assert all(math.isfinite(x) for x in _floats(parsed))


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


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"1,", b'"",', b"[[],[]],"])
def test_more_values_than_any_request_needs_are_never_built(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"[" + piece * MAX_MARKS + b"0]"

    def built(*_: object, **__: object) -> object:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(json, "loads", built)
    with pytest.raises(TooLarge, match="keys and values"):
        parse(body)


def test_an_object_a_text_and_a_nest_have_their_bounds() -> None:
    assert len(parse(json.dumps({str(n): n for n in range(MAX_KEYS)}).encode())) == MAX_KEYS
    with pytest.raises(TooLarge, match=f"got {MAX_KEYS + 1}"):
        parse(json.dumps([{str(n): n for n in range(MAX_KEYS + 1)}]).encode())
    with pytest.raises(TooLarge, match=f"got {MAX_TEXT + 1}"):
        parse(json.dumps({"a": "x" * (MAX_TEXT + 1)}).encode())
    with pytest.raises(InvalidJson, match="nested"):
        parse(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    with pytest.raises(InvalidJson):
        parse(b"[" * 100_000)


@pytest.mark.parametrize("body", [b"NaN", b"-Infinity", b"1e999", b'"\\u0000"', b'"\\ud800"', b"9223372036854775808"])
def test_what_no_database_can_keep_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        parse(b'{"a": ' + body + b"}")


def _floats(document: object) -> list[float]:
    if isinstance(document, float):
        return [document]
    return [f for x in document for f in _floats(x)] if isinstance(document, list) else []
