"""Approving a part of a recommendation: until that is measured it is what the session is at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.service.live import live

pytestmark = pytest.mark.slow


def test_nothing_else_is_proposed_while_an_approved_part_is_not_measured(tmp_path: Path) -> None:
    with live(tmp_path, {"work_mem": 8192, "jit": "off"}, {"jit": "off"}) as shop:
        shop.observe()
        shop.open()
        part = shop.decide(shop.ask()["id"], "approve", {"settings": ["work_mem"]})
        assert shop.ask(waits=False)["id"] == part["id"]
        assert shop.session["current"] == part["id"]
        assert shop.carry_out(part["id"])["state"] == "confirmed"
        assert shop.ask()["id"] != part["id"]
