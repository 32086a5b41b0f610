from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.config.types import AgentConfig, Config, DatabaseConfig, RestartConfig, ServiceConfig
from lutra_agent.engines.families import FAMILIES
from lutra_agent.runtime.compose import local_database

from tests.support.fake_clock import FakeClock
from tests.support.fake_engine import FakeEngine

SECRETS = ("LUTRA_AGENT_TOKEN", *(f.password_variable for f in FAMILIES))


def test_an_operators_command_sees_no_password_of_any_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "hush")
    config = Config(
        ServiceConfig("http://127.0.0.1", "shop"),
        DatabaseConfig("postgresql", "127.0.0.1", 5432),
        AgentConfig(tmp_path / "state"),
        RestartConfig(start_command=("/bin/sh", "-c", f"env > {tmp_path / 'environment'}")),
    )
    engine = FakeEngine(tmp_path / "settings", up=False)
    made = local_database(config, FakeClock(), engine.opened)
    ping = engine.ping
    engine.ping = lambda: (tmp_path / "environment").exists() or ping()  # type: ignore[method-assign]
    made.control.start()
    environment = (tmp_path / "environment").read_text()
    assert "PATH=" in environment
    assert "hush" not in environment
