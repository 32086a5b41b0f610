"""Who listens on the database's port gets no password, in whichever way it asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.engines.families import family
from lutra_agent.errors import DatabaseUnavailable, LoginRefused

from tests.support.servers import certificates
from tests.support.servers.listeners import RSA_KEY, Conversation, listening, mysql, postgresql_in_clear

pytestmark = pytest.mark.usefixtures("unhurried")

SECRET = "correct-horse-battery"
FULL = b"\x01\x04"
CACHING = "caching_sha2_password"

MYSQL: dict[str, Conversation] = {
    "greets in clear": mysql("mysql_clear_password", more=(b"\x01", b"\x01")),
    "greets with sha256": mysql("sha256_password", more=(b"\x01" + RSA_KEY,)),
    "switches to clear": mysql("mysql_native_password", "mysql_clear_password"),
    "switches to sha256": mysql("mysql_native_password", "sha256_password", (b"\x01" + RSA_KEY,)),
    "switches to a dialog": mysql("mysql_native_password", "dialog", (b"\x04Password: ",)),
    "switches to the old one": mysql("mysql_native_password", "mysql_old_password"),
    "wants all of caching_sha2": mysql(CACHING, more=(FULL, b"\x01" + RSA_KEY)),
    "switches and wants all": mysql("mysql_native_password", CACHING, (FULL, b"\x01" + RSA_KEY)),
    "forgets its own words": mysql(CACHING, more=(FULL, FULL, b"\x01" + RSA_KEY)),
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificates")
    return certificates.server(folder, certificates.authority(folder))


def dial(engine: str, port: int, folder: Path, **more: Path) -> Exception:
    (folder / "password").write_text(f"{SECRET}\n")
    (folder / "password").chmod(0o600)
    known, own = family(engine), {"dbname": "shop", "password_file": folder / "password", **more}
    opened = known.open(known.section(engine, "127.0.0.1", port, **own))
    with pytest.raises(DatabaseUnavailable) as refused:
        opened.health.ping()
    opened.health.close()
    return refused.value


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "a certificate of its own"])
def test_a_postgresql_listener_that_asks_in_clear_gets_nothing(
    tmp_path: Path, certificate: tuple[Path, Path], encrypted: bool
) -> None:
    with listening(postgresql_in_clear, certificate if encrypted else None) as heard:
        refused = dial("postgresql", heard.port, tmp_path)
    assert b"lutra" in heard.said
    assert heard.encrypted == encrypted
    assert SECRET.encode() not in heard.said
    assert "name the socket's folder as database.host, or set database.tls_ca" in str(refused)


@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "a certificate of its own"])
@pytest.mark.parametrize("asks", MYSQL)
def test_a_mysql_listener_gets_answers_to_challenges_alone(
    tmp_path: Path, certificate: tuple[Path, Path], asks: str, encrypted: bool, engine: str
) -> None:
    with listening(MYSQL[asks], certificate if encrypted else None) as heard:
        refused = dial(engine, heard.port, tmp_path)
    assert b"lutra" in heard.said
    assert heard.encrypted == encrypted
    assert SECRET.encode() not in heard.said
    assert max(map(len, heard.said.split(b"lutra", 1))) < 200, "a password for a key of the listener's own"
    if not asks.startswith("greets"):  # what a server greets with is no question yet
        assert isinstance(refused, LoginRefused), refused
        assert "name the server's socket as database.host" in str(refused)


@pytest.mark.slow
def test_another_authoritys_certificate_gets_nothing_at_all(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    other = certificates.authority(tmp_path, "other")
    for engine, talk in (("postgresql", postgresql_in_clear), ("mysql", MYSQL["greets with sha256"])):
        with listening(talk, certificate) as heard:
            dial(engine, heard.port, tmp_path, tls_ca=other)
        assert heard.said == b""
