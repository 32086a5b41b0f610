"""The account with which the agent logs in: its own one, made with the given account after a yes, or the given one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from lutra_models.catalog import meet
from lutra_models.server import Policy

from lutra_agent.clock import SystemClock
from lutra_agent.commands.add.folder import Account, Added, Folder
from lutra_agent.commands.look.reach import Address, Ask, Reached
from lutra_agent.config.section import read
from lutra_agent.engines.common.account import PASSWORD, AccountPlan, Accounts
from lutra_agent.engines.common.address import Table
from lutra_agent.errors import CollectionFailed, ConfigError, DatabaseUnavailable, LoginRefused
from lutra_agent.metrics.host import HostProbe
from lutra_agent.runtime.seen_database import SeenDatabase

USER = "lutra"
PASSWORD_BYTES = 24
LOOPBACK = "127.0.0.1"
INSTEAD = "--print shows the statements for an administrator, and continues with the account of the URL"
REPLICA = f"the server is a replica, and takes its accounts from its primary: make the account there; {INSTEAD}"
REFUSED = (CollectionFailed, DatabaseUnavailable)


class Person(Protocol):
    """The person at the terminal. `ask` asks for a password, None if nobody can answer."""

    @property
    def ask(self) -> Ask | None: ...

    def tell(self, line: str) -> None: ...

    def agrees(self, question: str) -> bool: ...


@dataclass(frozen=True)
class Given:
    """The server, reached with the account of the URL. `printing`: statements are shown, and none is executed."""

    address: Address
    reached: Reached
    printing: bool

    def section(self, account: Mapping[str, Any], password: Path) -> Table:
        """`[database]` of the agent's file, with an account and the file of its password."""
        table = {"engine": self.reached.family.name, **self.address.table, **account}
        kept = {"password_file": str(password)} if password.exists() else {}
        return {key: value for key, value in {**table, **kept}.items() if value != ""}


def with_account(given: Given, folder: Folder, added: Added, person: Person) -> Added:
    """The database with the account of its agent. Raises ConfigError, with the way out, if no account was made."""
    family = given.reached.family
    if family.accounts is None:
        person.tell(f"{family.name} has no accounts: the agent logs in as the URL says")
        return _as_given(given, folder, added)
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    with closing(family.accounts(given.reached.section)) as accounts:
        try:
            plan = _plan(given, accounts, folder, password)
            _show(plan, folder, person)
            if given.printing:
                folder.write_secret(folder.offered, password)
                offered = Account(plan.section, plan.drop)
                return adopted(given, folder, _as_given(given, folder, replace(added, offered=offered)))
            if not person.agrees("Make this account?"):
                raise ConfigError(f"nothing was changed on the server; {INSTEAD}")
            return replace(added, account=_made(given, accounts, plan, folder, password))
        except REFUSED as error:
            told = given.address.worded(str(error))
            raise ConfigError(f"the account of the URL may not make the agent's: {told}; {INSTEAD}") from error


def adopted(given: Given, folder: Folder, added: Added) -> Added:
    """With the account whose statements were shown, if somebody has created it since."""
    if added.offered is None:
        return added
    try:
        way_in = _way_in(given, added.offered, folder.offered)
    except DatabaseUnavailable:
        return added
    folder.offered.replace(folder.password)
    return replace(added, account=replace(added.offered, section={**added.offered.section, **way_in}), offered=None)


def _plan(given: Given, accounts: Accounts, folder: Folder, password: str) -> AccountPlan:
    engine = given.reached.engine
    server = SeenDatabase(engine, SystemClock(), HostProbe(programs=engine.health.programs)).observed_server()
    if server.role == "standby" and not (accounts.on_replica or given.printing):
        raise ConfigError(REPLICA)
    live, policy = meet(server), Policy()
    movable = [r.name for r in live.rows.values() if r.tune and policy.admits(r.risk) and r.name in server.settings]
    return accounts.plan((USER, f"{USER}_{folder.name}"), movable, password)


def _show(plan: AccountPlan, folder: Folder, person: Person) -> None:
    person.tell("the agent's own account:")
    for statement in plan.make:
        person.tell(f"  {statement}")
    for note in plan.notes:
        person.tell(f"note: {note}")
    if any(PASSWORD in statement for statement in plan.make):
        person.tell(f"note: in place of {PASSWORD} comes the password, the first line of a file in {folder.path}")


def _as_given(given: Given, folder: Folder, added: Added) -> Added:
    """The given account; its password is kept where it came from a prompt, the URL or the environment."""
    known = os.environ.get(given.reached.family.password_variable)
    if known:
        folder.write_secret(folder.password, known)
    return replace(added, account=Account({"user": given.reached.section.user}))


def _made(given: Given, accounts: Accounts, plan: AccountPlan, folder: Folder, password: str) -> Account:
    """All of it or nothing."""
    done = 0
    try:
        for statement in plan.make:
            accounts.execute(statement, password)
            done += 1
        folder.write_secret(folder.password, password)
        made = Account(plan.section, plan.drop)
        return replace(made, section={**made.section, **_way_in(given, made, folder.password)})
    except (*REFUSED, KeyboardInterrupt):
        folder.password.unlink(missing_ok=True)
        for undo in plan.drop if done else ():
            with suppress(*REFUSED):
                accounts.execute(undo, password)
        raise


def _way_in(given: Given, account: Account, password: Path) -> Table:
    """What of `[database]` lets the account in: a server may let in by its socket only who has the account's name.

    Raises DatabaseUnavailable.
    """
    try:
        _log_in(given, account.section, password)
    except LoginRefused:
        if not given.reached.section.by_socket:
            raise
        with suppress(DatabaseUnavailable):
            _log_in(given, {**account.section, "host": LOOPBACK}, password)
            return {"host": LOOPBACK}
        raise
    return {}


def _log_in(given: Given, account: Mapping[str, Any], password: Path) -> None:
    family = given.reached.family
    engine = family.open(read(family.section, given.section(account, password), "database"))
    try:
        engine.health.ping()
    finally:
        engine.health.close()
