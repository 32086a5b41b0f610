"""Whether strangers may use the server: no password, and an address that other hosts reach. No address is sent."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.redis.server.connect import DEFAULT_USER, Connection
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import UNKNOWN, Session
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable

AGAIN_S = 60.0
GUARDS_ALL = (7, 0)
"""In earlier versions, protected-mode guards only a server whose file names no address to listen on."""


class Exposure:
    """Read once a minute at most; the login of a stranger is tested once for each connection."""

    def __init__(self, session: Session, stranger: Callable[[], Connection] | None = None) -> None:
        self._session = session
        self._stranger = stranger or (lambda: Connection(session.database, anonymous=True))
        self._known: Reading | None = None
        self._asked_s = 0.0
        self._open: tuple[int, bool] | None = None

    def read(self, monotonic_s: float, version: tuple[int, ...]) -> Reading | None:
        """None if the server does not report its addresses."""
        if self._known is None or monotonic_s - self._asked_s >= AGAIN_S:
            self._known, self._asked_s = self._read(version), monotonic_s
        return self._known

    def _read(self, version: tuple[int, ...]) -> Reading | None:
        addresses, guarded = self._told("bind"), self._told("protected-mode")
        if addresses is None or guarded is None:
            return None
        reached = any(_reached(a) for a in addresses.split()) if addresses else version < GUARDS_ALL
        guards = guarded == "yes" and (version >= GUARDS_ALL or not addresses)
        ports = any(self._told(name) not in (None, "", "0") for name in ("port", "tls-port"))
        found = {"network": float(reached and ports), "guarded": float(guards)}
        opened = self._is_open()
        return Reading(gauges=found if opened is None else {**found, "open": float(opened)})

    def _told(self, name: str) -> str | None:
        """None if the server has no CONFIG command, as hosted ones have none."""
        try:
            return self._session.connection.pairs("CONFIG", "GET", name).get(name)
        except CollectionFailed as error:
            if UNKNOWN in str(error):
                return None
            raise

    def _is_open(self) -> bool | None:
        """Whether whoever names no password is let in; None if nobody knows."""
        if _without_password(self._session.database):
            return True
        generation = self._session.connection.generation
        if self._open is None or self._open[0] != generation:
            connection = self._stranger()
            try:
                connection.ask("PING")
                self._open = (generation, True)
            except (CollectionFailed, DatabaseUnavailable) as error:
                if "NOAUTH" not in str(error) and "Authentication required" not in str(error):
                    return None
                self._open = (generation, False)
            finally:
                connection.close()
        return self._open[1]


def _without_password(database: RedisDatabase) -> bool:
    return database.user in ("", DEFAULT_USER) and not Connection.password_of(database)


def _reached(address: str) -> bool:
    """Whether another host may reach it: `*` is every address, and a leading hyphen marks one that may be missing."""
    bare = address.removeprefix("-").strip("[]")
    if bare in ("*", "::*"):
        return True
    try:
        return not ip_address(bare.partition("%")[0]).is_loopback
    except ValueError:
        return bare != "localhost"
