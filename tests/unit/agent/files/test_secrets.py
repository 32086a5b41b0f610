"""Who may read or write what the agent keeps secret, or remembers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.check import connection
from lutra_agent.config.types import DatabaseConfig
from lutra_agent.errors import ConfigError
from lutra_agent.files import secrets
from lutra_agent.files.secrets import secret
from lutra_agent.state.store import State


def kept(folder: Path, mode: int) -> Path:
    file = folder / "token"
    file.write_text("lutra_x\n")
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_secret_that_only_its_owner_reads_is_read(tmp_path: Path, mode: int) -> None:
    assert secret(kept(tmp_path, mode)) == "lutra_x"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_secret_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    file = kept(tmp_path, mode)
    with pytest.raises(ConfigError, match=rf"may write it \(mode {mode:04o}\): chmod 600 {file}"):
        secret(file)


def test_a_secret_of_the_agents_own_that_others_may_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = kept(tmp_path, 0o640)
    monkeypatch.setattr(secrets, "ROOT", -1)
    with pytest.raises(ConfigError, match=rf"may read it \(mode 0640\): chmod 600 {file}"):
        secret(file)


def test_a_secret_that_root_has_mounted_is_read_through_its_link_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(kept(tmp_path / "data", 0o444))
    monkeypatch.setattr(secrets, "ROOT", os.geteuid())
    assert secret(tmp_path / "link") == "lutra_x"
    assert "other accounts may read it (mode 0444)" in caplog.text


def test_a_state_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.raises(ConfigError, match=f"chmod 700 {folder}"):
        State(folder)


@pytest.mark.parametrize("host", ["db.example.org", "10.0.0.7", "0.0.0.0", "127.0.0.1,10.0.0.7", "127.0.0.1.evil.org"])
def test_another_host_has_to_prove_that_it_is_the_server(host: str) -> None:
    database = {"engine": "postgresql", "host": host, "port": 5432, "dbname": "shop"}
    service = {"url": "http://127.0.0.1:1", "database": "db_1"}
    with pytest.raises(ConfigError, match=r"database\.host: .* set database\.tls_ca, or run the agent"):
        parse({"service": service, "database": database})
    parse({"service": service, "database": {**database, "tls_ca": "/etc/lutra/ca.pem"}})


@pytest.mark.parametrize("host", ["/run/postgresql", "localhost", "127.0.0.1", "127.0.1.1", "::1"])
def test_this_host_needs_no_proof(host: str) -> None:
    database = {"engine": "postgresql", "host": host, "port": 5432, "dbname": "shop"}
    parse({"service": {"url": "http://127.0.0.1:1", "database": "db_1"}, "database": database})


def test_check_says_how_the_server_is_reached(tmp_path: Path) -> None:
    hosts = {"/run/mysqld": "socket", "127.0.0.1": "the server's socket as database.host is better"}
    for host, said in hosts.items():
        assert said in connection(DatabaseConfig("mysql", host, 3306))
    assert "verified by database.tls_ca" in connection(DatabaseConfig("mysql", "db", 3306, tls_ca=tmp_path))
