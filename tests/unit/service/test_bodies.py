from __future__ import annotations

import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_service.api.bodies import InvalidJson, TooLarge, check_json, unpack


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


def _floats(document: object) -> list[float]:
    if isinstance(document, float):
        return [document]
    return [f for x in document for f in _floats(x)] if isinstance(document, list) else []
