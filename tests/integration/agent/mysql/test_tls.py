"""Encrypted and proved, or no connection."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.errors import DatabaseUnavailable
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.servers import certificates
from tests.support.servers.certificates import authority
from tests.support.servers.engines import scratch
from tests.support.servers.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not in `tmp_path`: the server's account may not enter that."""
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def proved(folder: Path) -> Iterator[ScratchMysqld]:
    """A MariaDB whose certificate names its address."""
    ca = authority(folder)
    certificate, key = certificates.server(folder, ca)
    with scratch("mariadb", ssl_ca=str(ca), ssl_cert=str(certificate), ssl_key=str(key)) as server:
        yield server


def cipher(server: ScratchMysqld, **more: Any) -> str:
    """What the agent's connection is encrypted with. Raises DatabaseUnavailable where there is none."""
    engine = engine_of(server, **more)
    try:
        engine.health.ping()
        connection = engine.health._session.connection  # type: ignore[attr-defined]
        return str(connection.row("SHOW SESSION STATUS LIKE 'Ssl_cipher'")[1])
    finally:
        engine.health.close()


def test_a_server_proves_its_name_and_the_connection_is_encrypted(proved: ScratchMysqld, folder: Path) -> None:
    assert cipher(proved, tls_ca=folder / "ca.pem")


@pytest.mark.parametrize("verify", ["identity", "ca"])
def test_another_authority_is_refused(proved: ScratchMysqld, folder: Path, verify: str) -> None:
    other = authority(folder, "other")
    with pytest.raises(DatabaseUnavailable, match="certificate verify failed"):
        cipher(proved, tls_ca=other, tls_verify=verify)


def test_a_certificate_that_the_server_made_itself_does_for_its_authority_and_not_for_its_name(
    mysql: ScratchMysqld,
) -> None:
    made = mysql.data_dir / "ca.pem"
    assert cipher(mysql, tls_ca=made, tls_verify="ca")
    with pytest.raises(DatabaseUnavailable, match="certificate verify failed"):
        cipher(mysql, tls_ca=made)


@pytest.mark.parametrize("verify", ["identity", "ca"])
def test_a_server_without_tls_gets_no_connection_where_an_authority_is_named(
    mariadb: ScratchMysqld, folder: Path, verify: str
) -> None:
    with pytest.raises(DatabaseUnavailable, match="SSL"):
        cipher(mariadb, tls_ca=authority(folder, "any"), tls_verify=verify)


def test_a_socket_needs_no_certificate(mariadb: ScratchMysqld, folder: Path) -> None:
    assert cipher(mariadb, host=str(mariadb.socket), tls_ca=authority(folder, "any")) == ""
