"""An account with just the rights that an agent needs, which can be taken from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agents import Scratch
from tests.support.mysqlds import AT_ONCE
from tests.support.subjects import sql

USER = "tuner"
HOSTS = ("localhost", "127.0.0.1")
SEES = {"mysql": "SELECT, PROCESS, REPLICATION CLIENT", "mariadb": "SELECT, PROCESS, SLAVE MONITOR"}
CHANGES = {
    "mysql": "SYSTEM_VARIABLES_ADMIN, PERSIST_RO_VARIABLES_ADMIN",
    "mariadb": "SUPER, BINLOG ADMIN, CONNECTION ADMIN",
}
PARAMETERS = ("work_mem", "random_page_cost", "jit")


@dataclass(frozen=True)
class Rights:
    """Statements that make an account, give it rights to change `settings`, take those, and drop it."""

    server: Scratch
    settings: tuple[str, ...]
    given: Sequence[str]
    revoked: Sequence[str]
    dropped: Sequence[str]
    user: str = USER

    def revoke(self) -> None:
        self.run(self.revoked)

    def run(self, statements: Sequence[str]) -> None:
        for statement in statements:
            sql(self.server, statement)


@contextmanager
def account(server: Scratch) -> Iterator[Rights]:
    rights = _postgres(server) if isinstance(server, ScratchPostgres) else _mysqld(server, str(server.engine))
    rights.run(rights.given)
    try:
        yield rights
    finally:
        rights.run(rights.dropped)


def _postgres(server: Scratch) -> Rights:
    parameters = f"ALTER SYSTEM ON PARAMETER {', '.join(PARAMETERS)}"
    return Rights(
        server,
        PARAMETERS,
        (
            f"CREATE ROLE {USER} LOGIN IN ROLE pg_monitor",
            f"GRANT {parameters} TO {USER}",
            f"GRANT EXECUTE ON FUNCTION pg_reload_conf() TO {USER}",
        ),
        (f"REVOKE {parameters} FROM {USER}",),
        (f"DROP OWNED BY {USER}", f"DROP ROLE {USER}"),
    )


def _mysqld(server: Scratch, engine: str) -> Rights:
    who, changes = [f"{USER}@'{host}'" for host in HOSTS], CHANGES[engine]
    return Rights(
        server,
        tuple(AT_ONCE[engine]),
        (*(f"CREATE USER {w}" for w in who), *(f"GRANT {SEES[engine]}, {changes} ON *.* TO {w}" for w in who)),
        [f"REVOKE {changes} ON *.* FROM {w}" for w in who],
        [f"DROP USER {w}" for w in who],
    )
