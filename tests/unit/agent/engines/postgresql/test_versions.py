"""A version is a number: what its packager calls it, or that it is a prerelease, does not matter."""

from __future__ import annotations

import pytest
from lutra_agent.engines.postgresql.server.session import version


@pytest.mark.parametrize(("number", "words"), [(180000, "18.0"), (160004, "16.4"), (120022, "12.22")])
def test_the_servers_number_is_its_version(number: int, words: str) -> None:
    assert version(number) == words
