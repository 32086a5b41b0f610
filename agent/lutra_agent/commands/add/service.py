"""The service that a person talks to, and its calls for these commands."""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lutra_models.lifecycle import OPEN_SESSIONS

from lutra_agent.config.section import read
from lutra_agent.config.types import ServiceConfig
from lutra_agent.errors import ConfigError
from lutra_agent.reporting.transport import Transport

CONTEXT = "lutra.context"
"""The group of entry points by which the client's program names the service in use."""
URL = "http://127.0.0.1:8000"
LOG_IN = "start a service here with `lutra up`, or name one with `lutra login` or LUTRA_URL and LUTRA_TOKEN"
Document = dict[str, Any]


class Unnamed(ConfigError):
    """This machine has no token for a service, as on a server's host whose agent was enrolled."""


def service_in_use() -> Service:
    """The client's program and the agent never import each other: it brings its contexts as an entry point.

    Raises Unnamed if there is no token, and ConfigError for contexts that cannot be read.
    """
    for found in entry_points(group=CONTEXT):
        try:
            context = found.load()()
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return service(context.url, context.token or "", context.ca_file)
    return service(os.environ.get("LUTRA_URL") or URL, os.environ.get("LUTRA_TOKEN", ""))


def service(url: str, token: str, ca_file: str | None = None) -> Service:
    """Raises ConfigError for an address or a token that cannot be one."""
    if not token:
        raise Unnamed(f"no token for the service at {url}: {LOG_IN}")
    ca_file = ca_file or os.environ.get("LUTRA_CA_FILE")
    where = {"url": url, "database": "", **({"ca_file": str(Path(ca_file).resolve())} if ca_file else {})}
    return Service(read(ServiceConfig, where, "service"), token)


class Service:
    """Methods raise ServiceUnavailable, ServiceRefused and NotAdmitted, with the service's own words."""

    def __init__(self, config: ServiceConfig, token: str) -> None:
        self.config = config
        self._transport = Transport(config, token)

    def named(self, name: str, retired: bool = False) -> Document | None:
        query = f"name={quote(name, safe='')}&retired={str(retired).lower()}"
        found = self._transport.get(f"/v1/databases?{query}")["items"]
        return dict(found[0]) if found else None

    def database(self, id_: str) -> Document:
        return self._transport.get(f"/v1/databases/{id_}")

    def register(self, name: str, engine: str) -> Document:
        return self._ask("POST", "/v1/databases", {"name": name, "engine": engine})

    def create_token(self, database: str) -> Document:
        wish = {"name": "its agent", "scopes": ["agent"]}
        return self._ask("POST", f"/v1/databases/{database}/tokens", wish)

    def create_enrolment(self, database: str) -> str:
        """A token that an agent uses once, within a quarter of an hour."""
        return str(self._ask("POST", f"/v1/databases/{database}/enrolments", {})["token"])

    def enrol(self) -> Document:
        return self._ask("POST", "/v1/enrolments")

    def open_session(self, database: str) -> str | None:
        """The id of the database's open session; a database has at most one, its newest."""
        newest = self._transport.get(f"/v1/databases/{database}/sessions?limit=1")["items"]
        return next((str(session["id"]) for session in newest if session["state"] in OPEN_SESSIONS), None)

    def stop_session(self, session: str) -> None:
        self._ask("POST", f"/v1/sessions/{session}/stop")

    def retire(self, database: str) -> None:
        self._ask("PUT", f"/v1/databases/{database}/retired")

    def unretire(self, database: str) -> None:
        self._ask("DELETE", f"/v1/databases/{database}/retired")

    def revoke(self, database: str, token_id: str) -> None:
        self._ask("DELETE", f"/v1/databases/{database}/tokens/{token_id}")

    def close(self) -> None:
        self._transport.close()

    def _ask(self, method: str, path: str, body: Document | None = None) -> Document:
        return self._transport.call(method, path, body)


def known_as(told: Service, name: str, engine: str) -> Document | None:
    """The database that has this name and no agent: it waits for its first report, or is retired.

    Raises ConfigError if the name belongs to a different database.
    """
    found = told.named(name) or told.named(name, retired=True)
    if found is not None and found["engine"] != engine:
        raise ConfigError(f"the service knows {name!r} as a {found['engine']} server: choose another name with --name")
    if found is not None and found["last_report_at"] is not None and found["retired_at"] is None:
        raise ConfigError(
            f"the service already has {name!r}, and an agent has reported for it: choose another name with --name, or "
            f"retire that database with `lutra remove {name}`"
        )
    return found


def registered(told: Service, name: str, engine: str) -> str:
    """The id of the database, which is in use from now on. Raises ConfigError if the name belongs to a different
    database.
    """
    found = known_as(told, name, engine) or told.register(name, engine)
    if found["retired_at"] is not None:
        told.unretire(found["id"])
    return str(found["id"])
