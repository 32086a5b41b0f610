"""What `lutra-agent tune` asks the service for."""

from __future__ import annotations

from lutra_agent.commands.tune_session import SessionRequest


def test_how_many_settings_may_change_is_told_only_where_it_was_asked_for() -> None:
    assert SessionRequest("qps", 20, 16, 1, max_changes=5).body()["max_changes"] == 5
    assert "max_changes" not in SessionRequest("qps", 20, 16, 1).body()
