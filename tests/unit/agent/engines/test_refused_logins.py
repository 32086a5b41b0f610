"""Why nobody is let in, and what helps against exactly that."""

from __future__ import annotations

import psycopg
import pymysql
import pytest
from lutra_agent.engines.mysql.server import connect as mysql
from lutra_agent.engines.postgresql.server import connect as postgresql

RSA = "'cryptography' package is required for sha256_password or caching_sha2_password auth methods"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("'pynacl' package is required for ed25519_password auth method", "PyMySQL[ed25519]"),
        (RSA, "name the server's socket as database.host"),
        ("Authentication plugin 'b'auth_gssapi_client'' not configured", "give the account a password"),
        ("Access denied for user 'lutra'@'localhost' (using password: NO)", "database.password_file"),
        ("Connections using insecure transport are prohibited while --require_secure_transport=ON.", "tls_ca"),
        ("Access denied for user 'root'@'localhost' [1698]", "run the agent under the account of the same name"),
        ("Access denied for user 'lutra'@'localhost' (using password: YES)", ""),
    ],
)
def test_each_refusal_of_the_mysql_family_has_its_own_remedy(said: str, remedy: str) -> None:
    told = mysql._with_remedy(said)
    assert told.startswith(said)
    assert remedy in told.removeprefix(said)
    assert bool(remedy) is (told != said)


def test_what_a_server_says_otherwise_has_none() -> None:
    assert mysql.message(pymysql.OperationalError(1046, "No database selected")) == "No database selected"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ('FATAL:  Peer authentication failed for user "lutra"', "the account named in database.user"),
        ("fe_sendauth: no password supplied", "database.password_file"),
        ("FATAL:  connection requires a valid client certificate", "scram-sha-256"),
        ('FATAL:  certificate authentication failed for user "lutra"', "scram-sha-256"),
        ('FATAL:  GSSAPI authentication failed for user "lutra"', "Kerberos"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "lutra", database "shop", no encryption', "tls_ca"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "lutra", database "shop", SSL encryption', "a line"),
        (
            'authentication method requirement "scram-sha-256,md5" failed: server requested a cleartext password',
            "tls_ca",
        ),
        ('FATAL:  password authentication failed for user "lutra"', ""),
    ],
)
def test_each_refusal_of_postgresql_has_its_own_remedy(said: str, remedy: str) -> None:
    told = postgresql.message(psycopg.OperationalError(said))
    assert remedy in told
    assert told.endswith(")") is bool(remedy)
