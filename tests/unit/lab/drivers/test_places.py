"""Where a load generator is sent, and how it checks the server there."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.drivers import DriverFailed, build
from lutra_agent.errors import ConfigError
from lutra_lab.drivers.login import libpq_environment
from lutra_lab.drivers.sysbench import mysql_options

from tests.support.servers.databases import Where


@pytest.mark.parametrize("name", ["mysqld.sock", "mysql.sock"])
def test_a_folder_stands_for_the_socket_in_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    options = mysql_options(Where(host=str(tmp_path), engine="mysql"), tmp_path)
    assert f"--mysql-socket={tmp_path / name}" in options
    assert not any(o.startswith("--mysql-host") for o in options)


def test_a_socket_and_an_address_stand_for_themselves(tmp_path: Path) -> None:
    assert "--mysql-socket=/run/my.sock" in mysql_options(Where(host="/run/my.sock", engine="mysql"), tmp_path)
    assert "--mysql-host=10.0.0.7" in mysql_options(Where(host="10.0.0.7", engine="mysql"), tmp_path)


def test_a_load_over_the_network_that_could_not_check_the_server_is_refused(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    with pytest.raises(ConfigError, match="sysbench cannot check this server"):
        build({"kind": "sysbench"}, Where(host="10.0.0.7", engine="mysql", tls_ca=authority))
    build({"kind": "sysbench"}, Where(host="/run/mysqld", engine="mysql", tls_ca=authority))


@pytest.mark.parametrize(("verify", "mode"), [("identity", "verify-full"), ("ca", "verify-ca")])
def test_what_speaks_through_libpq_checks_the_server_as_the_agent_does(tmp_path: Path, verify: str, mode: str) -> None:
    environment = libpq_environment(Where(tls_ca=tmp_path / "ca.pem", tls_verify=verify), tmp_path)
    assert (environment["PGSSLMODE"], environment["PGSSLROOTCERT"]) == (mode, str(tmp_path / "ca.pem"))
    assert "PGSSLMODE" not in libpq_environment(Where(), tmp_path)


def test_no_client_is_given_a_password_that_it_could_send_in_clear_over_a_bare_port(tmp_path: Path) -> None:
    bare, socket = (Where(host=host, secret="hush") for host in ("127.0.0.1", "/run/postgresql"))
    for refused in (lambda: libpq_environment(bare, tmp_path, 15), lambda: mysql_options(bare, tmp_path)):
        with pytest.raises(DriverFailed, match=r"name the server's socket as database\.host"):
            refused()
    assert list(tmp_path.iterdir()) == []
    cautious = libpq_environment(bare, tmp_path, 16)
    assert (cautious["PGREQUIREAUTH"], "PGPASSFILE" in cautious) == ("!password", True)
    assert "PGREQUIREAUTH" not in libpq_environment(socket, tmp_path)
    assert any(o.startswith("--config-file") for o in mysql_options(socket, tmp_path))
