"""A look at a real server by its URL: it finds, it only reads by the server's own records, and it leaves nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_agent.commands.cli import look
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.servers.engines import scratch
from tests.support.servers.pooler import pooler

pytestmark = pytest.mark.engine

READS = {"SELECT", "SHOW", "SET", "WITH", "COMMIT", "BEGIN"}
SETS_ITS_SESSION = re.compile(r"SET (/\*.*?\*/ )?(SESSION|STATEMENT|LOCAL|NAMES|AUTOCOMMIT|[a-z_]+ =)", re.IGNORECASE)
WRITES = {"set", "config|set", "config|rewrite", "acl|setuser", "flushall", "config|resetstat"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account without files, which finds none afterwards."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert [*tmp_path.iterdir()] == []


def looked(url: str) -> dict[str, Any]:
    done = CliRunner().invoke(look, [url, "--seconds", "1", "--json"])
    assert done.exit_code in (0, 1, 2), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def names(found: dict[str, Any]) -> set[str]:
    return {s["name"] for s in found["findings"]["symptoms"]}


def only_reads(statements: list[str]) -> None:
    assert statements
    for statement in statements:
        word = statement.split(maxsplit=1)[0].upper().rstrip(";")
        assert word in READS, statement
        assert word != "SET" or SETS_ITS_SESSION.match(statement), statement


def test_postgresql_is_read_and_nothing_else() -> None:
    with scratch("postgres15", log_statement="all", fsync="off", log_line_prefix="%a|") as server:
        assert isinstance(server, ScratchPostgres)
        server.sql("CREATE ROLE poor LOGIN")
        settings = server.sql("SELECT md5(string_agg(name || reset_val, ',' ORDER BY name)) FROM pg_settings")
        objects = server.sql("SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_authid)")
        found = looked(f"postgresql://{server.user}@{server.host}:{server.port}/postgres")
        assert {"writes_not_forced", "every_statement_logged"} <= names(found)
        assert "writes_refused" not in names(found)
        assert found["server"]["on_this_machine"]
        log = server.log.read_text()
        own = re.findall(r"(?:statement|execute [^:]*): (.*lutra-agent.*)", log)
        only_reads([part for statement in own for part in statement.split("; ") if part])
        assert "default_transaction_read_only = on" in log
        assert server.sql("SELECT md5(string_agg(name || reset_val, ',' ORDER BY name)) FROM pg_settings") == settings
        assert server.sql("SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_authid)") == objects
        poor = looked(f"postgresql://poor@{server.host}:{server.port}/postgres")
        assert "writes_refused" not in names(poor)  # the session that only reads is the command's own
        assert 'GRANT pg_monitor TO "poor";' in {lack["remedy"] for lack in poor["account"]["lacks"]}
        with pooler(server, "transaction") as port:
            refused = CliRunner().invoke(look, [f"postgresql://{server.user}@127.0.0.1:{port}/postgres"])
            assert (refused.exit_code, "this address belongs to a connection pooler" in refused.output) == (2, True)


def test_mariadb_is_read_and_nothing_else() -> None:
    with scratch("mariadb", general_log="ON", log_output="TABLE") as server:
        server.sql("TRUNCATE mysql.general_log")
        # The scheme of the other product of the family: who answers is found out.
        found = looked(f"mysql://{server.user}@{server.host}:{server.port}")
        assert found["server"]["engine"] == "mariadb"
        assert "every_statement_logged" in names(found)
        line = "REPLACE(CONVERT(argument USING utf8mb4), CHAR(10), ' ')"
        rows = server.sql(f"SELECT {line} FROM mysql.general_log WHERE command_type IN ('Query', 'Execute')")
        only_reads([line for line in rows.splitlines() if line.strip()])


def test_redis_is_read_and_nothing_else() -> None:
    with scratch("redis") as server:
        found = looked(f"valkey://{server.host}:{server.port}")
        assert found["server"]["engine"] == "redis"
        assert "no_password" in names(found)
        told = server.sql("INFO commandstats")
        commands = set(re.findall(r"cmdstat_([a-z|_-]+):", told))
        assert "info" in commands
        assert not commands & WRITES
        assert server.sql("DBSIZE").strip() in ("0", "(integer) 0")
