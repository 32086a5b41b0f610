"""A live database as its operator sees it, and `lutra` as they type it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lutra_client import Client
from lutra_client.commands.program import main
from lutra_client.waiting import LONGEST_WAIT_S

from tests.support.service.live import Live, live

Advice = Callable[..., str]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Live]:
    with live(tmp_path, {"work_mem": 8192, "jit": "off"}, {"max_wal_size": 4096}) as found:
        found.advisor.costs = "more memory\x1b[2J for each sort"
        found.observe()
        yield found


@pytest.fixture
def run(shop: Live, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    token = shop.service.headers["Authorization"].removeprefix("Bearer ")
    monkeypatch.setattr(Client, "from_environment", lambda: Client(token=token, http=shop.service.client))
    monkeypatch.setattr(
        "lutra_client.commands.decide.QUIET_S", LONGEST_WAIT_S
    )  # however slow it is, nothing is said meanwhile
    return lambda *words: CliRunner().invoke(main, list(words))


@pytest.fixture
def advice(run: Callable[..., Result]) -> Advice:
    def said(*words: str) -> str:
        result = run(*words)
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    return said
