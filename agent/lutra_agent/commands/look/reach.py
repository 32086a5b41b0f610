"""The server behind a URL, opened; or the reason why it cannot be opened, with a remedy, in one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from lutra_models.catalog import load
from lutra_models.catalog.rows import version_of
from lutra_models.errors import NotFound

from lutra_agent.config.section import read
from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.common.address import Addresses, Table, without_password
from lutra_agent.engines.common.engine import Engine, Family
from lutra_agent.engines.families import family, named_by
from lutra_agent.errors import (
    CollectionFailed,
    ConfigError,
    DatabaseUnavailable,
    LoginRefused,
    NoAnswer,
    NoConnectionLeft,
    OtherEngine,
    ServerStarting,
)

Ask = Callable[[str], str]
IN_URL = (
    "the password in the URL is visible in the process list and in the shell's history: put it into {variable}, or "
    "into the client's own password file"
)
WAY_IN = "the URL names the account, and {variable} or the client's own password file its password"
AGENT = {
    "the agent's account": "this account",
    "the agent's database": "the URL's database",
    "the agent": "this command",
}
"""The agent's words in messages, and the words for the program that a person runs here."""
POOLED = (
    "this address belongs to a connection pooler, which may run each statement in a different session: the server "
    "cannot be examined through it; write the server's own host and port into the URL"
)


@dataclass(frozen=True)
class Reached:
    """`refusal` says that the server admits nobody, or does not answer; None if it does."""

    family: Family
    section: DatabaseConfig
    engine: Engine
    refusal: NoConnectionLeft | NoAnswer | None = None


@dataclass(frozen=True)
class Address:
    """A server as a person named it. `shown` is the URL without its password."""

    shown: str
    family: Family
    addresses: Addresses
    table: Table
    warning: str = ""

    def worded(self, message: str) -> str:
        """A message of the agent's, with the words of the URL in place of those of the agent's file."""
        for key, words in {**self.addresses.words, **AGENT}.items():
            message = message.replace(key, words)
        return message


def address(url: str) -> Address:
    """A password in it becomes the variable of this process that the engine's clients read. Raises ConfigError."""
    shown, password = without_password(url)
    found, addresses = named_by(shown)
    table = addresses.table(shown)
    if password is None:
        return Address(shown, found, addresses, table)
    os.environ[found.password_variable] = password
    return Address(shown, found, addresses, table, IN_URL.format(variable=found.password_variable))


def reach(wanted: Address, ask: Ask | None) -> Reached:
    """The answering server, whatever product of the family it is.

    `ask` gives a password if the server requires one and none is known. Raises ConfigError and DatabaseUnavailable,
    with the way out.
    """
    try:
        found = _dialled(wanted, wanted.family, ask)
    except ServerStarting as error:
        raise DatabaseUnavailable(
            f"the server does not accept connections yet: {error}; try again in a minute"
        ) from error
    except LoginRefused as error:
        how = WAY_IN.format(variable=wanted.family.password_variable)
        raise DatabaseUnavailable(wanted.worded(f"the server refuses the login: {error}; {how}")) from error
    except DatabaseUnavailable as error:
        section = read(wanted.family.section, {"engine": wanted.family.name, **wanted.table}, "URL")
        where = section.host if section.by_socket else f"{section.host}, port {section.port}"
        way_out = "start the server there, or correct the URL"
        raise DatabaseUnavailable(wanted.worded(f"no server answers at {where}: {error}; {way_out}")) from error
    except (ConfigError, CollectionFailed) as error:
        raise ConfigError(wanted.worded(str(error))) from error
    return found


def _dialled(wanted: Address, kind: Family, ask: Ask | None) -> Reached:
    section = read(kind.section, {"engine": kind.name, **wanted.table}, "URL")
    engine = kind.open(section)
    try:
        engine.health.ping()
        identity = engine.health.identity()
    except (NoConnectionLeft, NoAnswer) as error:
        return Reached(kind, section, engine, error)
    except OtherEngine as error:
        engine.health.close()
        if not error.engine:
            raise
        return _dialled(wanted, family(error.engine), ask)
    except LoginRefused as error:
        engine.health.close()
        if ask is None or wanted.addresses.no_password not in str(error):
            raise
        os.environ[kind.password_variable] = ask(f"Password of {section.user}")
        return _dialled(wanted, kind, None)
    if identity.pooled:
        raise ConfigError(POOLED)
    _require_known(kind.name, identity.version)
    return Reached(kind, section, engine)


def _require_known(engine: str, version: str) -> None:
    """Raises ConfigError for a version before the oldest that the catalogue knows."""
    try:
        oldest = min(row.since for row in load(engine).rows)
    except NotFound:
        return
    if version_of(version) < oldest:
        known = ".".join(map(str, oldest))
        raise ConfigError(
            f"{engine} {version} is too old to be judged: {known} and later are known; upgrade the server"
        )
