"""What `lutra-agent tune` asks the service for."""

from __future__ import annotations

import pytest
from lutra_agent.commands.tune import SessionRequest, figures, weight


def test_how_many_settings_may_change_is_told_only_where_it_was_asked_for() -> None:
    assert SessionRequest("qps", 20, 16, 1, max_changes=5).body()["max_changes"] == 5
    assert "max_changes" not in SessionRequest("qps", 20, 16, 1).body()


def test_several_loads_are_asked_for_with_their_weights_and_an_aim() -> None:
    body = SessionRequest("qps", 20, 16, 1, loads={"few": 1.0, "many": 2.0}, aim="worst").body()
    assert body["loads"] == [{"name": "few", "weight": 1.0}, {"name": "many", "weight": 2.0}]
    assert body["aim"] == "worst"
    assert not {"loads", "aim"} & set(SessionRequest("qps", 20, 16, 1).body())


def test_a_load_is_named_with_or_without_a_weight() -> None:
    assert [weight("many"), weight("many=2.5")] == [("many", 1.0), ("many", 2.5)]
    with pytest.raises(ValueError):
        weight("many=much")


def test_figures_are_those_of_one_load() -> None:
    measured = {"qps.few": 1234.5, "p99_ms.few": 3.0, "qps.many": 9.0}
    assert figures(measured, ".few") == "qps 1,234.50  p99_ms 3.00"
    assert figures(measured) == ""
