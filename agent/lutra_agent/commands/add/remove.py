"""A database is removed: retired at the service; its agent, its folder and the account that was made are gone."""

from __future__ import annotations

from contextlib import closing

from lutra_agent.commands.add import process
from lutra_agent.commands.add.account import Person
from lutra_agent.commands.add.folder import Added, folder_of
from lutra_agent.commands.add.service import Service, Unnamed, service_in_use
from lutra_agent.commands.look.reach import address, reach
from lutra_agent.errors import CollectionFailed, ConfigError, DatabaseUnavailable


def remove(name: str, person: Person) -> None:
    """Raises LutraError, with the way out. A change in progress ends first: then the service refuses."""
    folder = folder_of(name)
    added = folder.read()
    try:
        with closing(service_in_use()) as told:
            _retire(told, name, added, person)
    except Unnamed as error:
        person.tell(f"the service keeps {name} in use: {error}")
    if added is None:
        person.tell(f"no agent of {name} was started here")
        return
    if process.stop(folder):
        person.tell(f"the agent of {name} has ended")
    if added.account is not None and added.account.drop:
        _drop(added, person)
    folder.remove()
    person.tell(f"{folder.path} is removed")


def _retire(told: Service, name: str, added: Added | None, person: Person) -> None:
    known = told.named(name)
    if known is None:
        person.tell(f"the service has no database {name} in use")
        return
    if added is not None and known["id"] != added.service.get("database", known["id"]):
        raise ConfigError(f"the service in use is not the one of {name}, which is {added.service['url']}: choose that")
    _stop_session(told, known["id"], person)
    told.retire(known["id"])
    if added is not None and added.token_id:
        told.revoke(known["id"], added.token_id)
    person.tell(f"{name} is retired: the service keeps its measurements")


def _stop_session(told: Service, database: str, person: Person) -> None:
    """Raises ConfigError if the person keeps it."""
    session = told.open_session(database)
    if session is None:
        return
    if not person.agrees(f"Stop the open session {session}?"):
        raise ConfigError(f"{session} stays open: nothing was removed")
    told.stop_session(session)
    person.tell(f"{session} is stopped")


def _drop(added: Added, person: Person) -> None:
    """A server that is gone does not keep the rest from being removed."""
    assert added.account is not None
    person.tell("the agent's account on the server:")
    for statement in added.account.drop:
        person.tell(f"  {statement}")
    if not person.agrees("Drop this account?"):
        person.tell("the account stays: the statements above drop it")
        return
    named = address(added.url)
    try:
        reached = reach(named, person.ask)
        with closing(reached.engine.health):
            if reached.family.accounts is None:
                return
            with closing(reached.family.accounts(reached.section)) as accounts:
                for statement in added.account.drop:
                    accounts.execute(statement, "")
        person.tell("the account is dropped")
    except (CollectionFailed, ConfigError, DatabaseUnavailable) as error:
        person.tell(f"the account stays: {named.worded(str(error))}; the statements above drop it")
