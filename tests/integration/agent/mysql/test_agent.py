"""The whole agent beside MySQL and MariaDB: what it ships, what it is told to do, what `check` says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.check import examine
from lutra_agent.errors import ConfigError, DatabaseUnavailable
from lutra_agent.metrics.rates import Discarded, span
from lutra_agent.runtime.compose import running
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.server import Host

from tests.support.agent.processes import TOKEN, document, guards, write_toml
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import NoSignals
from tests.support.fakes.service import FakeService, serving
from tests.support.reported.samples import sample
from tests.support.servers.engines import program
from tests.support.servers.subjects import database, engine_of
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

HOST = Host(memory_bytes=8 << 30, cores=4)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    monkeypatch.setenv("LUTRA_AGENT_TOKEN", TOKEN)
    with serving(FakeService()) as found:
        yield found


def test_windows_carry_qps_and_a_p99_from_the_histogram(
    mysqld: ScratchMysqld, service: FakeService, tmp_path: Path
) -> None:
    made = parse(document(mysqld, service.url, tmp_path / "state", mode="observe"))
    with running(made, FakeClock(), NoSignals()) as loop, mysqld.session() as run:
        loop.cycle()
        for _ in range(100):
            run("SELECT COUNT(*) FROM information_schema.ENGINES")
        loop.cycle()
        assert loop.sent(PATIENCE_S)
    first, report = service.reports
    assert (report.engine, report.p99_source, report.p99_of) == (mysqld.engine, "histogram", "statement")
    assert report.metrics["qps"] == 100  # in an interval of a second
    assert report.metrics["p99_ms"] > 0
    assert first.settings


def test_a_trial_is_applied_measured_and_reported(mysqld: ScratchMysqld, service: FakeService, tmp_path: Path) -> None:
    driver = {"kind": "sysbench", "bin": program("sysbench"), "threads": 2, "table_size": 500, "rate": 50}
    driver |= {"script": "oltp_point_select", "warmup_s": 0, "duration_s": 1}
    where = [f"--mysql-{k}={v}" for k, v in (("host", mysqld.host), ("port", mysqld.port), ("user", mysqld.user))]
    prepare = ["sysbench", *where, "--mysql-db=sbtest", "--tables=1", "--table-size=500", "oltp_read_write"]
    subprocess.run([*prepare, "prepare"], check=True, capture_output=True)
    try:
        made = parse(document(mysqld, service.url, tmp_path / "state", driver=driver, guard=guards()))
        service.offer("rec_1", {"sort_buffer_size": 524288}, restart_allowed=True, measure=True)
        with running(made, signals=NoSignals()) as loop:
            loop.run(ended=lambda: service.outcome("rec_1") is not None)
            report = service.report_of("rec_1")
            assert (report.measures, report.p99_source, report.failure) == ("rec_1", "driver", None)
            assert report.outcomes[0].active == {"sort_buffer_size": 524288}
            assert report.metrics["qps"] > 0
            service.offer("rec_2", {"sort_buffer_size": 262144}, restore=True)
            loop.run(ended=lambda: service.outcome("rec_2") is not None)
    finally:
        subprocess.run([*prepare, "cleanup"], check=True, capture_output=True)


def test_check_prints_the_least_grants_and_with_them_nothing_is_missing(mysqld: ScratchMysqld, tmp_path: Path) -> None:
    names = ("watcher@'localhost'", "watcher@'127.0.0.1'")
    for name in names:
        mysqld.sql(f"CREATE USER {name}")
    try:
        made = document(
            mysqld,
            "http://127.0.0.1:1",
            tmp_path / "state",
            mode="reload_only",
            database={"user": "watcher", "dbname": ""},
        )
        file = write_toml(tmp_path / "agent.toml", made)
        done = subprocess.run(
            [sys.executable, "-m", "lutra_agent", "check", "--json", "--config", str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        grants = [m for m in json.loads(done.stdout)["missing"] if m.startswith("GRANT")]
        assert grants
        for grant in grants:
            mysqld.sql(grant.rstrip(";"))
        after = examine(parse(made))
        assert [m for m in after.missing if "service" not in m and "token" not in m] == []
        assert "histogram" in after.p99
        assert after.permissions.changeable
        assert after.permissions.remedies == ()
    finally:
        for name in names:
            mysqld.sql(f"DROP USER {name}")


def test_a_reset_of_the_statistics_discards_the_window(mysqld: ScratchMysqld) -> None:
    engine = engine_of(mysqld)

    def discarded() -> bool:
        """The clock that goes back counts whole seconds: before the reset it has to be further than after it."""
        before = sample(engine)
        mysqld.sql("FLUSH STATUS")
        return isinstance(span(before, sample(engine)), Discarded)

    until(discarded)
    after = sample(engine)
    assert not isinstance(span(after, sample(engine)), Discarded)
    engine.health.close()


def test_a_server_that_is_read_only_is_no_primary(own_mysqld: ScratchMysqld) -> None:
    engine = engine_of(own_mysqld)
    assert engine.server(HOST).role == "primary"
    own_mysqld.sql("SET GLOBAL read_only = ON")
    assert engine.server(HOST).role == "standby"
    engine.health.close()


def test_the_socket_is_as_good_as_the_network_and_a_stranger_is_named(mysqld: ScratchMysqld) -> None:
    by_socket = engine_of(mysqld, host=str(mysqld.socket))
    by_socket.health.ping()
    by_socket.health.close()
    other = {"mysql": "mariadb", "mariadb": "mysql"}[mysqld.engine]
    stranger = engine_of(mysqld, engine=other)
    with pytest.raises(ConfigError, match="but the server reports"):
        stranger.server(HOST)
    stranger.health.close()


def test_a_password_comes_from_a_file_or_from_the_environment(
    mysqld: ScratchMysqld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysqld.sql("CREATE USER IF NOT EXISTS guarded IDENTIFIED BY 'hunter2-secret'")
    try:
        (tmp_path / "password").write_text("hunter2-secret\n")
        (tmp_path / "password").chmod(0o600)
        where = {"host": str(mysqld.socket), "user": "guarded", "dbname": ""}
        by_file = engine_of(mysqld, **where, password_file=tmp_path / "password")
        by_file.health.ping()
        by_file.health.close()
        without = engine_of(mysqld, **where)
        with pytest.raises(DatabaseUnavailable) as refused:
            without.health.ping()
        assert "hunter2" not in str(refused.value)
        monkeypatch.setenv("MYSQL_PWD", "hunter2-secret")
        without.health.ping()
        without.health.close()
        assert "hunter2" not in repr(database(mysqld, password_file=tmp_path / "password"))
    finally:
        mysqld.sql("DROP USER guarded")
