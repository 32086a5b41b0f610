from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.config.types import AgentConfig, Config, DatabaseConfig, HostConfig, RestartConfig, ServiceConfig
from lutra_agent.engines.families import FAMILIES
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import FakeEngine

SECRETS = ("LUTRA_AGENT_TOKEN", *(f.password_variable for f in FAMILIES))


def made(folder: Path, engine: FakeEngine, host: HostConfig | None = None) -> LocalDatabase:
    config = Config(
        ServiceConfig("http://127.0.0.1", "shop"),
        DatabaseConfig("postgresql", "127.0.0.1", 5432),
        AgentConfig(folder / "state"),
        host=host or HostConfig(),
    )
    return local_database(config, FakeClock(), engine.opened)


def test_the_hosts_settings_are_a_source_only_where_the_agents_own_file_lets_them_move(tmp_path: Path) -> None:
    engine = FakeEngine(tmp_path / "settings")
    assert [s.name for s in made(tmp_path, engine).engine.sources] == ["server"]
    assert [s.name for s in made(tmp_path, engine, HostConfig(settings=True)).engine.sources] == ["server", "linux"]


@pytest.mark.parametrize("kept", [None, "[]", '"many"', "-3", "true", "{", "1" + "0" * 30])
def test_an_agent_that_begins_again_knows_how_many_connections_it_saw(tmp_path: Path, kept: str | None) -> None:
    engine = FakeEngine(tmp_path / "settings", peak_connections=0)
    first = made(tmp_path, engine)
    if kept is not None:
        (tmp_path / "state" / "peak_connections.json").write_text(kept)
    assert first.read_server().peak_connections == 0
    engine.peak_connections = 42
    assert first.read_server().peak_connections == 42
    engine.peak_connections = 0
    second = made(tmp_path, engine)
    assert second.read_server().peak_connections == 42
    engine.peak_connections = 10**30
    assert second.read_server().peak_connections == 42
    engine.peak_connections = 50
    assert second.read_server().peak_connections == 50


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
