"""A URL becomes the table `[database]`, with what the engine's own clients would add to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.common.address import without_password
from lutra_agent.engines.families import named_by
from lutra_agent.errors import ConfigError

OPTION_FILE = """
!includedir /etc/nowhere
[client]
user = me
password = "s e:c@ret"
[shop]
host = db-1
port = 3307
ssl-ca = /ca.pem
[mysqld]
skip-name-resolve
"""


@pytest.fixture(autouse=True)
def home(own_environment: None, tmp_path: Path) -> Path:
    """An account without files and variables of its own."""
    for name in [n for n in os.environ if n.startswith("PG")]:
        del os.environ[name]
    os.environ["HOME"] = str(tmp_path)
    return tmp_path


def table(url: str) -> dict[str, Any]:
    shown, _ = without_password(url)
    found, addresses = named_by(shown)
    return {"engine": found.name, **addresses.table(shown)}


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://me:s%40cret@host/shop", "postgresql://me@host/shop", "s@cret"),
        ("redis://:secret@host/0", "redis://@host/0", "secret"),
        ("postgresql:///shop?password=secret&host=/run", "postgresql:///shop?host=/run", "secret"),
        ("service=shop password=secret", "service=shop", "secret"),
        ("mysql://me@[::1]:3307/shop", "mysql://me@[::1]:3307/shop", None),
    ],
)
def test_a_password_is_taken_out_of_the_url(url: str, shown: str, password: str | None) -> None:
    assert without_password(url) == (shown, password)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgresql://me@host/shop", {"host": "host", "port": 5432, "user": "me", "dbname": "shop"}),
        ("postgres://me@[::1]:5433", {"host": "::1", "port": 5433, "user": "me", "dbname": "me"}),
        ("postgresql://me@/shop?host=/run/pg", {"host": "/run/pg", "port": 5432, "user": "me", "dbname": "shop"}),
        (
            "postgresql://me@host/shop?sslmode=verify-full&sslrootcert=/ca.pem",
            {
                "host": "host",
                "port": 5432,
                "user": "me",
                "dbname": "shop",
                "tls_ca": "/ca.pem",
                "tls_verify": "identity",
            },
        ),
        ("mysql://me@host:3307/shop", {"host": "host", "port": 3307, "user": "me", "dbname": "shop"}),
        ("mariadb://me@/?socket=/run/s.sock", {"host": "/run/s.sock", "port": 3306, "user": "me", "dbname": ""}),
        (
            "mysql://me@host?ssl-ca=/ca.pem&ssl-mode=verify_identity",
            {
                "host": "host",
                "port": 3306,
                "user": "me",
                "dbname": "",
                "tls_ca": "/ca.pem",
                "tls_verify": "identity",
            },
        ),
        ("redis://host/3", {"host": "host", "port": 6379, "user": "default", "password_in_clear": True}),
        ("valkey://me@[::1]:7000", {"host": "::1", "port": 7000, "user": "me", "password_in_clear": True}),
        (
            "rediss://host?ssl_ca_certs=/ca.pem",
            {"host": "host", "port": 6379, "user": "default", "tls_ca": "/ca.pem"},
        ),
    ],
)
def test_a_url_names_the_server(url: str, wanted: dict[str, Any]) -> None:
    engine = {"postgres": "postgresql", "rediss": "redis"}.get(scheme := url.partition(":")[0], scheme)
    assert table(url) == {"engine": engine, **wanted}


def test_libpq_reads_its_service_file_and_its_variables(home: Path) -> None:
    (home / "services").write_text("[shop]\nhost=db-1\nport=5433\nuser=me\ndbname=shop\n")
    os.environ["PGSERVICEFILE"] = str(home / "services")
    wanted = {"engine": "postgresql", "host": "db-1", "port": 5433, "user": "me", "dbname": "shop"}
    assert table("service=shop") == wanted
    assert table("postgresql://other@/?service=shop") == {**wanted, "user": "other"}
    del os.environ["PGSERVICE"]
    os.environ |= {"PGHOST": "db-2", "PGUSER": "you"}
    assert table("postgresql://") == {**wanted, "host": "db-2", "port": 5432, "user": "you", "dbname": "you"}


def test_what_the_table_has_no_key_for_is_left_to_libpq() -> None:
    table("postgresql://me@host/shop?sslmode=require&channel_binding=require")
    assert (os.environ["PGSSLMODE"], os.environ["PGCHANNELBINDING"]) == ("require", "require")


def test_an_option_file_says_what_the_url_leaves_out(home: Path) -> None:
    (home / ".my.cnf").write_text(OPTION_FILE)
    (home / ".my.cnf").chmod(0o600)
    found = table("mysql://?group=shop")
    assert (found["host"], found["port"], found["user"], found["tls_ca"]) == ("db-1", 3307, "me", "/ca.pem")
    assert os.environ["MYSQL_PWD"] == "s e:c@ret"
    assert table("mysql://you@db-2")["user"] == "you"


def test_an_option_file_that_others_may_write_gives_no_password(home: Path) -> None:
    (home / ".my.cnf").write_text(OPTION_FILE)
    (home / ".my.cnf").chmod(0o666)
    with pytest.raises(ConfigError, match="chmod 600"):
        table("mysql://host")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("shop", "'shop' names no server: a URL begins with one of postgresql://"),
        ("postgresql://a,b/shop", "name one server, got host 'a,b'"),
        ("postgresql://me:secret@host:port/shop", "name one server, got host 'host' and port 'port'"),
        ("postgresql://me:secret@host/shop?wait=1", "percent-encode special characters"),
        ("mysql://me:secret@host:port", "percent-encode special characters"),
        ("mysql://me:secret@host?wait=1", "unknown option 'wait'; known: group, socket, ssl_ca, ssl_mode, unix_socket"),
        ("mysql://host?ssl-mode=on", "ssl-mode=ON is not one of PREFERRED"),
        ("mysql://host?group=shop", "~/.my.cnf has no group [shop]"),
        ("redis://host?cacert=/ca.pem", "redis://host?cacert=/ca.pem: an authority needs an encrypted connection"),
    ],
)
def test_a_url_that_names_none_is_refused_without_its_password(url: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        table(url)
    assert told in str(refused.value)
    assert "secret" not in str(refused.value)
