"""A database is added: its agent's account, file and process, and what comes next."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lutra_agent.clock import Clock
from lutra_agent.commands.add import process
from lutra_agent.commands.add.account import Given, Person, adopted, with_account
from lutra_agent.commands.add.folder import Added, Folder, folder_of, folders, table, toml
from lutra_agent.commands.add.service import Document, Service, known_as, registered, service, service_in_use
from lutra_agent.commands.agent_file import parse
from lutra_agent.commands.look.reach import Reached, address, reach
from lutra_agent.config.types import is_loopback
from lutra_agent.errors import ConfigError, DatabaseUnavailable

FIRST_REPORT_S = 120.0
POLL_S = 0.5
SIGN_EVERY_S = 10.0
THERE = "run this command on the server's own host, or add --elsewhere, which prints the line for that host"


@dataclass(frozen=True)
class Wanted:
    """`name` is the database's name at the service; None for the server's own. `printing`: no statement is executed."""

    url: str
    name: str | None
    printing: bool


def add(wanted: Wanted, person: Person, clock: Clock) -> None:
    """Raises LutraError, with the way out."""
    given, variables = _reached(wanted, person)
    with closing(given.reached.engine.health):
        folder, added = _there(given) or (folder_of(wanted.name or _own_name(given.reached)), None)
        if wanted.name not in (None, folder.name):
            raise ConfigError(f"{given.address.shown} is {folder.name} here already")
        if added is None and (other := folder.read()) is not None:
            raise ConfigError(f"{folder.name} is another server here ({other.url}): choose another name with --name")
        _require_allowed(given)
        with closing(service_in_use()) as told:
            if added is not None and added.service.get("url", told.config.url) != told.config.url:
                raise ConfigError(f"{folder.name} was added to the service at {added.service['url']}: use that one")
            if added is None:
                known_as(told, folder.name, given.reached.family.name)
                added = Added(given.address.shown)
            _complete(given, folder, added, variables, person, told, clock)


def add_elsewhere(wanted: Wanted, person: Person) -> None:
    """Register the database, and tell the line that its own host needs. Raises LutraError, with the way out."""
    given, _ = _reached(wanted, person)
    with closing(given.reached.engine.health), closing(service_in_use()) as told:
        name = folder_of(wanted.name or _own_name(given.reached)).name
        token = told.create_enrolment(registered(told, name, given.reached.family.name))
    person.tell("on the server's own host, within 15 minutes:")
    person.tell(f"  {shlex.join(('lutra-agent', 'enrol', told.config.url, token, given.address.shown))}")
    person.tell(f"then here: lutra next {name}")
    if told.config.loopback:
        person.tell(
            f"note: another host does not reach {told.config.url}: use a service with TLS (`lutra serve`, then "
            "`lutra login URL` here), or forward this port to that host"
        )


def enrol(url: str, token: str, wanted: Wanted, person: Person, clock: Clock) -> None:
    """On the server's own host: exchange an enrolment's token, and continue as `add` does. Raises LutraError."""
    given, variables = _reached(wanted, person)
    with closing(given.reached.engine.health):
        _require_allowed(given)
        folder, added = _there(given) or _enrolled(url, token, given)
        with closing(service(url, _token(folder), added.service.get("ca_file"))) as told:
            _complete(given, folder, added, variables, person, told, clock)


def _reached(wanted: Wanted, person: Person) -> tuple[Given, Mapping[str, str]]:
    """The server, and the variables of this process by which the URL's other options reach its client library."""
    before = dict(os.environ)
    named = address(wanted.url)
    if named.warning:
        person.tell(named.warning)
    reached = reach(named, person.ask)
    if reached.refusal is not None:
        reached.engine.health.close()
        raise DatabaseUnavailable(named.worded(f"the server accepts no connections: {reached.refusal}"))
    added = {name: value for name, value in os.environ.items() if before.get(name) != value}
    added.pop(named.family.password_variable, None)
    identity = reached.engine.health.identity()
    replica = "; the agent changes nothing on a replica" if identity.role == "standby" else ""
    person.tell(f"{reached.family.name} {identity.version}, {identity.role}: {named.shown}{replica}")
    return Given(named, reached, wanted.printing), added


def _own_name(reached: Reached) -> str:
    section = reached.section
    if name := getattr(section, "dbname", ""):
        return str(name)
    host = socket.gethostname() if section.by_socket or is_loopback(section.host) else section.host
    return f"{host.partition('.')[0]}-{reached.family.name}"


def _require_allowed(given: Given) -> None:
    """Before anything is made: raise ConfigError where no agent may reach the server in this way."""
    try:
        parse(_document({"url": "http://127.0.0.1", "database": "db_"}, given.section({}, Path()), Path("state")))
    except ConfigError as error:
        raise ConfigError(f"{given.address.worded(str(error))}; {THERE}") from error


def _there(given: Given) -> tuple[Folder, Added] | None:
    """The server's folder, if it was added before."""
    known = ((folder, added) for folder in folders() if (added := folder.read()))
    return next((found for found in known if found[1].url == given.address.shown), None)


def _registered(told: Service, folder: Folder, added: Added, engine: str) -> Added:
    """Raises ConfigError where the name is another's at the service."""
    database = registered(told, folder.name, engine)
    token = told.create_token(database)
    return _kept(told, folder, added, database, token["id"], token["token"])


def _enrolled(url: str, token: str, given: Given) -> tuple[Folder, Added]:
    with closing(service(url, token)) as told:
        answer = told.enrol()
        folder = folder_of(answer["name"])
        added = _kept(told, folder, Added(given.address.shown), answer["database"], answer["token_id"], answer["token"])
    if answer["engine"] != given.reached.family.name:
        raise ConfigError(f"the service knows {answer['name']!r} as a {answer['engine']} server: register another one")
    return folder, added


def _kept(told: Service, folder: Folder, added: Added, database: str, token_id: str, token: str) -> Added:
    ca_file = {} if told.config.ca_file is None else {"ca_file": str(told.config.ca_file)}
    kept = replace(added, service={"url": told.config.url, "database": database, **ca_file}, token_id=token_id)
    folder.write_secret(folder.token, token)
    folder.write(kept)
    return kept


def _token(folder: Folder) -> str:
    return folder.token.read_text().strip()


def _complete(
    given: Given,
    folder: Folder,
    added: Added,
    variables: Mapping[str, str],
    person: Person,
    told: Service,
    clock: Clock,
) -> None:
    """What is not there yet is made, and what does not run is started."""
    known = _accounted(given, folder, added, person)
    folder.write(known)
    if not known.service:
        known = _registered(told, folder, known, given.reached.family.name)
    if not folder.config.exists():
        folder.write_config(_text(given, folder, known))
    before = told.database(known.service["database"])["last_report_at"]
    if _started(folder, variables, person):
        _await_report(told, known.service["database"], before, folder, person, clock)
    _tell_next(folder, known, told.database(known.service["database"]), person)


def _accounted(given: Given, folder: Folder, added: Added, person: Person) -> Added:
    """With the account of the agent. A file whose `[database]` somebody edited keeps the account that it has."""
    if added.account is None:
        return with_account(given, folder, added, person)
    if added.offered is None or not folder.config.exists():
        return adopted(given, folder, added)
    text, before = folder.config.read_text(), _section(given, folder, added)
    if before not in text:
        person.tell(
            f"note: [database] in {folder.config} was edited: write the account {added.offered.section['user']!r} into "
            f"it yourself, with the password in {folder.offered}"
        )
        return added
    known = adopted(given, folder, added)
    if known != added:
        folder.write_config(text.replace(before, _section(given, folder, known)))
    return known


def _section(given: Given, folder: Folder, added: Added) -> str:
    """`[database]` as `lutra add` writes it, as a part of the file."""
    account = {} if added.account is None else added.account.section
    return table("database", given.section(account, folder.password))


def _text(given: Given, folder: Folder, added: Added) -> str:
    account = {} if added.account is None else added.account.section
    server = {**added.service, "token_file": str(folder.token)}
    return toml(_document(server, given.section(account, folder.password), folder.state))


def _document(server: Mapping[str, Any], section: Mapping[str, Any], state: Path) -> dict[str, Mapping[str, Any]]:
    return {"service": server, "database": section, "agent": {"state_dir": str(state), "mode": "observe"}}


def _started(folder: Folder, variables: Mapping[str, str], person: Person) -> bool:
    """Whether the agent had to be started."""
    found = process.running(folder)
    if found is not None and not process.is_outdated(folder):
        person.tell(f"{folder.name} is already registered, and its agent runs (process {found.pid})")
        return False
    process.stop(folder)
    process.start(folder, variables)
    person.tell(f"the agent runs here; its log is {folder.log}; its first report takes up to two minutes")
    if not process.lingers():
        person.tell("note: it ends with your last session on this machine, unless you run `loginctl enable-linger`")
    return True


def _await_report(
    told: Service, database: str, before: str | None, folder: Folder, person: Person, clock: Clock
) -> None:
    """Raises ConfigError if the agent ends, or reports nothing in time."""
    start = said = clock.monotonic()
    while told.database(database)["last_report_at"] == before:
        if process.running(folder) is None:
            raise ConfigError(f"the agent has ended; its log, {folder.log}, ends with:\n{process.last_lines(folder)}")
        now = clock.monotonic()
        if now > start + FIRST_REPORT_S:
            raise ConfigError(f"no report after {FIRST_REPORT_S:.0f} s: {folder.log} says why; the agent continues")
        if now >= said + SIGN_EVERY_S:
            person.tell(f"waiting for the first report, for {now - start:.0f} s so far")
            said = now
        clock.sleep(POLL_S)


def _tell_next(folder: Folder, added: Added, database: Document, person: Person) -> None:
    person.tell(f"{folder.name} reports: {database['engine']} {database['engine_version']}, {database['role']}")
    if added.offered is not None:
        person.tell("the agent uses the account of the URL; once the statements are executed, run this command again")
    agent = database["agent"] or {}
    for problem in agent.get("problems", ()):
        person.tell(f"note: {problem}")
    person.tell(f"  lutra next {folder.name}      the next proposal, or what it waits for")
    person.tell(f"  lutra findings {folder.name}  what is wrong with the server, and what would cure it")
    if agent.get("mode") == "observe":
        person.tell(
            f'the agent only observes: to let it make the changes that you approve, set mode = "reload_only" in '
            f"{folder.config}, and run this command again"
        )
