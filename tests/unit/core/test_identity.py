from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lutra_models.identity import Identity

ONE = Identity("primary", "16.4", "7300000000000000001", 8 << 30, 4.0)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"role": "standby"}, "standby"),
        ({"engine_version": "16.5"}, "16.5"),
        ({"identifier": "7300000000000000002"}, "another server"),
        ({"memory_bytes": 4 << 30}, "4096 MiB"),
        ({"cores": 2.0}, "cores"),
    ],
)
def test_another_server_is_told_from_the_same_one(changed: dict[str, Any], told: str) -> None:
    [difference] = ONE.differences(replace(ONE, **changed))
    assert told in difference


@pytest.mark.parametrize("changed", [{}, {"identifier": ""}, {"memory_bytes": int(8.1 * 2**30)}])
def test_the_same_server_is_the_same(changed: dict[str, Any]) -> None:
    assert ONE.differences(replace(ONE, **changed)) == []
