from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_service.common.settings import Settings, misspelled
from lutra_service.db import migrate
from lutra_service.db.schema.engine import make_engine
from lutra_service.server import refusal_to_listen


@pytest.fixture
def own_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/lutra.db"
    monkeypatch.setenv("LUTRA_DATABASE_URL", url)
    return url


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_tls(host: str) -> None:
    assert Settings(host=host).refusal_to_bind() is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "db.example.org"])
def test_anything_else_does(host: str) -> None:
    assert host in (Settings(host=host).refusal_to_bind() or "")
    assert Settings(host=host, behind_tls_proxy=True).refusal_to_bind() is None
    assert Settings(host=host, tls_cert=Path("c"), tls_key=Path("k")).refusal_to_bind() is None
    assert Settings(host=host, tls_cert=Path("c")).refusal_to_bind() is not None


@pytest.mark.parametrize("scheduler", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786"])
def test_a_dask_scheduler_on_loopback_needs_no_tls(scheduler: str) -> None:
    assert Settings(dask_scheduler=scheduler).refusal_of_scheduler() is None


@pytest.mark.parametrize("scheduler", ["tcp://10.0.0.5:8786", "tcp://dask.example.org:8786", "10.0.0.5:8786", "ws://x"])
def test_any_other_is_refused_with_the_way_out(own_url: str, scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_DASK_SCHEDULER", scheduler)
    for command in (["serve"], ["replay", "rec_1"]):
        told = CliRunner().invoke(main, command)
        assert told.exit_code == 1
        assert scheduler in told.output
        assert "use tls://host:port with LUTRA_DASK_TLS_CA" in told.output


def test_a_dask_scheduler_over_tls_needs_all_three_files() -> None:
    scheduler, ca, cert, key = "tls://dask.example.org:8786", Path("ca"), Path("c"), Path("k")
    some = Settings(dask_scheduler=scheduler, dask_tls_ca=ca, dask_tls_cert=cert)
    assert "LUTRA_DASK_TLS_KEY" in (some.refusal_of_scheduler() or "")
    every = Settings(dask_scheduler=scheduler, dask_tls_ca=ca, dask_tls_cert=cert, dask_tls_key=key)
    assert every.refusal_of_scheduler() is None


def test_serve_refuses_an_open_address_and_an_old_schema(own_url: str) -> None:
    run = CliRunner()
    told = run.invoke(main, ["serve", "--host", "0.0.0.0"])
    assert told.exit_code == 1
    assert "LUTRA_BEHIND_TLS_PROXY" in told.output
    told = run.invoke(main, ["serve"])
    assert told.exit_code == 1
    assert "lutra migrate" in told.output


def test_a_command_in_another_folder_names_the_file_and_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LUTRA_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    for command in (["serve"], ["admin-token", "--name", "a"], ["prune"]):
        ended = CliRunner().invoke(main, command)
        assert ended.exit_code == 1
        assert f"there is no database {tmp_path}/lutra.db" in ended.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_database_and_its_companions_are_for_their_owner_alone(own_url: str, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        engine = make_engine(own_url)
        migrate.upgrade(engine)
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
            modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
        engine.dispose()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("lutra.db", "lutra.db-wal", "lutra.db-shm"), 0o600)


def test_migrating_closes_a_database_that_others_could_read(own_url: str, tmp_path: Path) -> None:
    file = tmp_path / "lutra.db"
    file.touch(0o644)
    engine = make_engine(own_url)
    migrate.upgrade(engine)
    engine.dispose()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_token_is_printed_once_and_kept_as_a_digest(own_url: str, tmp_path: Path) -> None:
    run = CliRunner()
    assert run.invoke(main, ["admin-token", "--name", "a"]).exit_code == 1
    assert run.invoke(main, ["migrate"]).exit_code == 0
    told = run.invoke(main, ["admin-token", "--name", "a"])
    secret = told.output.strip()
    assert secret.startswith("lutra_")
    kept = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert secret.encode() not in kept


def test_migrating_twice_is_migrating_once(own_url: str) -> None:
    engine, run = make_engine(own_url), CliRunner()
    assert migrate.pending(engine)
    assert run.invoke(main, ["migrate"]).output == "the schema is up to date\n"
    assert run.invoke(main, ["migrate"]).output == "the schema was up to date already\n"
    assert not migrate.pending(engine)


def test_the_settings_never_show_the_database_url() -> None:
    assert "secret" not in repr(Settings(database_url="postgresql://u:secret@h/d"))


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("LUTRA_PORT", "many", "LUTRA_PORT: "),
        ("LUTRA_DATABASE_URL", "sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("LUTRA_DATABASE_URL", "hunter2", "must begin with sqlite:/// or postgresql://"),
        ("LUTRA_DATABASE_URL", "mysql://u:hunter2@h/d", "mysql:// is not supported as the service's store"),
        ("LUTRA_DATABASE_URL", "oracle+x://u:hunter2@h/d", "use sqlite:/// or postgresql://"),
        ("LUTRA_DATABASE_URL", "sqlite://", "name a file"),
    ],
)
def test_a_wrong_environment_is_told_in_one_line(
    variable: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    ended = CliRunner().invoke(main, ["migrate"])
    assert ended.exit_code == 1
    assert told in ended.output
    assert ended.output.count("\n") == 1
    assert "hunter2" not in ended.output


@pytest.mark.parametrize("command", [["migrate"], ["serve"], ["admin-token", "--name", "a"]])
def test_a_schema_of_a_different_version_is_told_with_the_way_out(own_url: str, command: list[str]) -> None:
    engine = make_engine(own_url)
    migrate.upgrade(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 1
    assert "this program does not know its schema, 9999" in told.output
    assert "restore the backup" in told.output


def test_what_an_operator_can_mend_ends_with_one_line(
    own_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lutra.db").write_text("a file that is none of SQLite's, and long enough to be one of them\n" * 9)
    for command in (["migrate"], ["serve"]):
        told = CliRunner().invoke(main, command).output
        assert told == "Error: the database of LUTRA_DATABASE_URL: file is not a database\n"
    monkeypatch.setenv("LUTRA_LOG_LEVEL", "loud")
    assert "LUTRA_LOG_LEVEL: Input should be 'debug', 'info'" in CliRunner().invoke(main, ["serve"]).output
    assert Settings(log_level="WARNING").log_level == "warning"  # type: ignore[arg-type]


def test_a_variable_that_is_nearly_one_of_the_services_is_named() -> None:
    others = ["LUTRA_TOKEN", "LUTRA_URL", "LUTRA_AGENT_TOKEN", "LUTRA_SESSION", "LUTRA_DBNAME", "LUTRA_PORT", "PATH"]
    assert misspelled(others) == []
    assert misspelled([*others, "LUTRA_RETENTION_DAY", "LUTRA_PROT"]) == [
        "LUTRA_RETENTION_DAY has no effect: did you mean LUTRA_RETENTION_DAYS?",
        "LUTRA_PROT has no effect: did you mean LUTRA_PORT?",
    ]


def test_serve_on_a_taken_port_ends_with_its_address_and_the_way_out(own_url: str) -> None:
    run = CliRunner()
    assert run.invoke(main, ["migrate"]).exit_code == 0
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = run.invoke(main, ["serve", "--port", str(port)])
    assert told.exit_code == 1
    last = told.output.strip().splitlines()[-1]
    assert f"nothing can listen on 127.0.0.1:{port}: Address already in use" in last
    assert f"`ss -ltnp 'sport = :{port}'`" in last
    assert "LUTRA_PORT" in last


def test_an_address_of_another_machine_is_named_too() -> None:
    refusal = refusal_to_listen(Settings(host="192.0.2.1", port=8000))
    assert "192.0.2.1:8000" in (refusal or "")
    assert "LUTRA_HOST" in (refusal or "")
