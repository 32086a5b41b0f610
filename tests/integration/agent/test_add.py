"""`lutra add URL` on real servers and a served service: the account, the agent, its first report, and the way back."""

from __future__ import annotations

import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result
from lutra_agent.commands.add.cli import add, enrol, remove
from lutra_agent.commands.add.folder import Folder
from lutra_agent.commands.agent_file import load
from lutra_agent.commands.cli import look
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.servers import certificates
from tests.support.servers.engines import scratch
from tests.support.servers.pooler import pooler
from tests.support.service.served import Served
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SESSION = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only", "max_trials": 5}
ANSWERS = ("observing", "computing", "proposed", "unneeded")
"""A proposal, none, or what it waits for."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served")) as service:
        yield service


@pytest.fixture(autouse=True)
def home(own_environment: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Served) -> Iterator[Path]:
    """An account without files, whose agents end with the test."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("PGPASSWORD", "PGSSLMODE", "PGSSLROOTCERT", "MYSQL_PWD", "REDISCLI_AUTH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LUTRA_URL", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("LUTRA_TOKEN", served.token)
    yield tmp_path
    for folder in tmp_path.glob("lutra/databases/*"):
        CliRunner().invoke(remove, [folder.name, "--yes"])


def folder(home: Path, name: str) -> Folder:
    return Folder(home / "lutra" / "databases" / name)


def run(command: Any, *words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(command, list(words), input=answer)


def done(command: Any, *words: str) -> str:
    found = run(command, *words)
    assert found.exit_code == 0, found.output
    return found.output


def looked_at(url: str) -> str:
    """What `lutra check` prints of a server that it reaches."""
    found = run(look, url, "--seconds", "1")
    assert "no server" not in found.stderr, found.stderr
    return found.stdout


def not_looked_at(url: str) -> str:
    """The sentence of `lutra check` about a server that it does not reach."""
    found = run(look, url, "--seconds", "1")
    assert (found.exit_code, found.stdout) == (2, "")
    return found.stderr


def url_of(server: ScratchServer) -> str:
    name = "/postgres" if isinstance(server, ScratchPostgres) else ""
    return f"{server.engine}://{server.user}@{server.host}:{server.port}{name}"


def process_of(home: Path, name: str) -> psutil.Process:
    return psutil.Process(json.loads((folder(home, name).process).read_text())["pid"])


@pytest.mark.parametrize("engine", ["postgres15", "mariadb", "redis"])
def test_from_a_url_to_reports_and_back(home: Path, served: Served, engine: str) -> None:
    name = f"shop-{engine}"
    with scratch(engine) as server:
        url = url_of(server)
        said = done(add, url, "--name", name, "--yes")
        assert f"lutra next {name}" in said
        assert 'set mode = "reload_only" in' in said
        (database,) = served.api.take("GET", f"/v1/databases?name={name}")["items"]
        assert (database["agent"]["mode"], database["last_report_at"] is not None) == ("observe", True)
        config = load(folder(home, name).config)
        assert config.database.user == "lutra"
        secret = folder(home, name).password.read_text().strip()
        assert secret not in said + folder(home, name).config.read_text()
        modes = {path.name: path.stat().st_mode & 0o77 for path in folder(home, name).path.iterdir()}
        assert {file: mode for file, mode in modes.items() if mode and file != "agent.log"} == {}
        first = process_of(home, name)
        assert "is already registered, and its agent runs" in done(add, url, "--name", name, "--yes")
        assert process_of(home, name) == first
        first.terminate()
        first.wait()
        done(add, url, "--name", name, "--yes")
        second = process_of(home, name)
        assert second.pid != first.pid
        session = served.api.take("POST", f"/v1/databases/{database['id']}/sessions", SESSION)["id"]
        assert served.api.take("POST", f"/v1/databases/{database['id']}/recommendations")["state"] in ANSWERS
        assert run(remove, name, answer="n\n").exit_code != 0
        assert folder(home, name).path.exists()
        gone = done(remove, name, "--yes")
        assert f"{session} is stopped" in gone
        assert "the account is dropped" in gone
        assert not second.is_running() or second.status() == psutil.STATUS_ZOMBIE
        assert not (home / "lutra").exists()
        assert served.api.take("GET", f"/v1/databases/{database['id']}")["retired_at"] is not None
        assert "no agent of" in done(remove, name, "--yes")
        assert "lutra" not in accounts(server)


@pytest.mark.thorough
def test_a_removed_database_is_put_back_into_use_by_its_name(home: Path, served: Served) -> None:
    """The service waits a minute after the last report of the agent before."""
    with scratch("redis") as server:
        done(add, url_of(server), "--name", "back", "--yes")
        (database,) = served.api.take("GET", "/v1/databases?name=back")["items"]
        done(remove, "back", "--yes")
        done(add, url_of(server), "--name", "back", "--print")
        (again,) = served.api.take("GET", "/v1/databases?name=back")["items"]
        assert again["id"] == database["id"]
        assert load(folder(home, "back").config).database.user == "default"


def accounts(server: ScratchServer) -> str:
    asked = {
        "postgresql": "SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname NOT LIKE 'pg_%'",
        "mariadb": "SELECT GROUP_CONCAT(User) FROM mysql.user",
        "redis": "ACL USERS",
    }
    return server.sql(asked[server.engine])


def admitted(server: ScratchPostgres, *lines: str) -> None:
    """`pg_hba.conf` begins with these lines."""
    file = server.data_dir / "pg_hba.conf"
    file.write_text("\n".join([*lines, file.read_text()]))
    before = server.sql("SELECT pg_conf_load_time()")
    server.sql("SELECT pg_reload_conf()")
    until(lambda: server.sql("SELECT pg_conf_load_time()") != before)


def refused(*words: str) -> str:
    found = run(add, *words)
    assert found.exit_code == 1, found.output
    return str(found.output)


def test_postgresql_says_in_a_sentence_what_stands_in_the_way(home: Path, served: Served) -> None:
    with scratch("postgres15") as server:
        assert isinstance(server, ScratchPostgres)
        url, port = url_of(server), server.port
        poor = url.replace(f"{server.user}@", "poor@")
        server.sql("CREATE ROLE poor LOGIN PASSWORD 'right'")
        assert "permission denied to create role" in (said := refused(poor, "--yes"))
        assert "--print shows the statements" in said
        assert "start the server there, or correct the URL" in refused("postgresql://me@127.0.0.1:1/shop", "--yes")
        admitted(server, "host all poor all scram-sha-256")
        wrong = poor.replace("poor@", "poor:wrong@")
        for said in (refused(wrong, "--yes"), not_looked_at(wrong)):
            assert "PGPASSWORD or the client's own password file" in said
        with pooler(server, "transaction") as pooled:
            through = f"postgresql://{server.user}@127.0.0.1:{pooled}/postgres"
            for said in (refused(through, "--yes"), not_looked_at(through)):
                assert "write the server's own host and port into the URL" in said
        assert "start the server there, or correct the URL" in not_looked_at("postgresql://me@127.0.0.1:1/shop")
        by_socket = f"postgresql://{server.user}@/postgres?host={server.data_dir}&port={port}"
        assert looked_at(by_socket).startswith("postgresql 15")
        assert "not " in looked_at(url.replace(f"{server.user}@", "poor:right@")), (
            "without rights it says what is hidden"
        )
        assert "nobody can answer 'Make this account?': add --yes" in run(add, url, "--name", "unasked").output
        assert set(accounts(server).split(",")) == {"poor", server.user}
        admitted(server, "local all lutra peer", "host all lutra all scram-sha-256")
        done(add, by_socket, "--name", "by", "--yes")
        assert load(folder(home, "by").config).database.host == "127.0.0.1"
        assert "is by here already" in refused(by_socket, "--name", "other")
        assert "is another server here" in refused(url, "--name", "by", "--yes")
        done(remove, "by", "--yes")
        (server.data_dir / "standby.signal").touch()
        server.account.own(server.data_dir / "standby.signal")
        server.stop()
        server.start()
        assert "make the account there" in refused(url, "--name", "replica", "--yes")
        assert "it is a replica: look at its primary as well" in looked_at(url)
        assert "changes nothing on a replica" in done(add, url, "--name", "replica", "--print")
        (database,) = served.api.take("GET", "/v1/databases?name=replica")["items"]
        assert database["role"] == "standby"


def test_statements_that_somebody_else_executes_give_the_agent_its_account_later(home: Path, served: Served) -> None:
    with scratch("postgres15") as server:
        assert isinstance(server, ScratchPostgres)
        admitted(server, "host all lutra all scram-sha-256")
        server.sql("CREATE ROLE poor LOGIN")
        url = url_of(server).replace(f"{server.user}@", "poor@")
        said = done(add, url, "--name", "later", "--print")
        assert load(folder(home, "later").config).database.user == "poor"
        statements = re.findall(r"^  ((?:CREATE|GRANT) .*;)$", said, re.MULTILINE)
        assert len(statements) == 4
        for statement in statements:
            server.sql(statement)
        before = process_of(home, "later")
        file = folder(home, "later").config
        file.write_text(file.read_text().replace('mode = "observe"', 'mode = "reload_only"'))
        assert "the agent only observes" not in done(add, url, "--name", "later")
        assert (load(file).database.user, load(file).agent.mode) == ("lutra", "reload_only")
        assert process_of(home, "later") != before
        assert "DROP ROLE" in done(remove, "later", "--yes")


def test_an_agent_elsewhere_enrols_itself_once(home: Path, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with scratch("redis") as server:
        url = url_of(server)
        said = done(add, url, "--name", "far", "--elsewhere")
        assert "note: another host does not reach http://127.0.0.1" in said
        assert not folder(home, "far").path.exists()
        words = shlex.split(said.partition("lutra-agent enrol ")[2].partition("\n")[0])
        monkeypatch.delenv("LUTRA_TOKEN")
        assert "lutra next far" in done(enrol, *words, "--yes")
        assert "is already registered, and its agent runs" in done(enrol, *words, "--yes")
        (database,) = served.api.take("GET", "/v1/databases?name=far")["items"]
        assert database["agent"]["mode"] == "observe"
        assert "the service keeps far in use" in done(remove, "far", "--yes")
        monkeypatch.setenv("LUTRA_TOKEN", served.token)
        assert "far is retired" in done(remove, "far", "--yes")
        again = run(enrol, *words, "--yes")
        assert (again.exit_code, "was used" in again.output) == (1, True)


def test_mysql_is_added_where_its_password_can_be_sent(home: Path) -> None:
    with scratch("mysql") as server:
        assert isinstance(server, ScratchMysqld)
        assert "name the server's socket in the URL" in refused(url_of(server), "--name", "by-port", "--yes")
        assert "lutra" not in server.sql("SELECT GROUP_CONCAT(User) FROM mysql.user")
        by_socket = f"mysql://{server.user}@?socket={server.socket}"
        assert "IDENTIFIED BY '…'" in done(add, by_socket, "--name", "by-socket", "--yes")
        assert (load(folder(home, "by-socket").config).database.dbname) == ""  # type: ignore[attr-defined]


def test_a_server_with_tls_alone_is_added_by_its_authority(home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as keys:
        ca = certificates.authority(Path(keys))
        certificate, key = certificates.server(Path(keys), ca)
        options = {"ssl": "on", "ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
        with scratch("postgres15", **options) as server:
            assert isinstance(server, ScratchPostgres)
            rules = ("hostssl all lutra all scram-sha-256", "hostssl all all all trust", "hostnossl all all all reject")
            url = url_of(server)
            admitted(server, *rules)
            for said in (refused(f"{url}?sslmode=disable"), not_looked_at(f"{url}?sslmode=disable")):
                assert "set sslmode=verify-full and sslrootcert=FILE in the URL" in said
            assert looked_at(f"{url}?sslmode=verify-full&sslrootcert={ca}").startswith("postgresql 15")
            done(add, f"{url}?sslmode=verify-full&sslrootcert={ca}", "--name", "tls", "--yes")
            assert load(folder(home, "tls").config).database.tls_ca == ca
            done(remove, "tls", "--yes")


def test_a_server_at_an_ipv6_address_is_added(home: Path) -> None:
    with scratch("redis", bind="127.0.0.1 ::1") as server:
        assert looked_at(f"redis://[::1]:{server.port}").startswith("redis ")
        done(add, f"redis://[::1]:{server.port}", "--name", "six", "--yes")
        assert load(folder(home, "six").config).database.host == "::1"
        done(remove, "six", "--yes")
