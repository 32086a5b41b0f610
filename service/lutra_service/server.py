"""`lutra serve`: uvicorn, one process."""

from __future__ import annotations

import errno
import logging
import os
import resource
import socket
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn
from fastapi import FastAPI

from lutra_service.common import logs
from lutra_service.common.settings import Settings, misspelled
from lutra_service.edge.protocol import BoundedProtocol, Connections, Deadlines

log = logging.getLogger(__name__)
ACCEPTED_AT_ONCE = 32
BACKLOG = 1024
FILES = 65_536
FILES_BESIDE = 192
"""The number of open files that are not clients: the database's, the executor's, and connections accepted before one
can be closed.
"""


class Server(uvicorn.Server):
    """Ends the waiting requests at a stop, so that stopping takes less than a minute."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.state.notifier.close()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio accepts as many at once as may queue, and only then lets the oldest go: a queue of its own length.
        for server in self.servers:
            for listening in server.sockets:
                with socket.socket(fileno=os.dup(listening.fileno())) as same:
                    same.listen(BACKLOG)


def serve(app: FastAPI, settings: Settings) -> None:
    logs.configure(settings.log_level)
    for said in misspelled(os.environ):
        log.warning("%s", said)
    Server(configured(app, settings)).run()


def refusal_to_listen(settings: Settings) -> str | None:
    """The reason why the address of the settings cannot be used, and the remedy; None if it can."""
    place = f"{settings.host}:{settings.port}"
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(address)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        who = f"stop what listens there (`ss -ltnp 'sport = :{settings.port}'` names it), or " if taken else ""
        return (
            f"nothing can listen on {place}: {error.strerror}: {who}set a different address with "
            "LUTRA_HOST and LUTRA_PORT"
        )
    return None


def configured(app: FastAPI, settings: Settings) -> uvicorn.Config:
    most = min(settings.client_connections, max(16, _files() - FILES_BESIDE))
    # Behind a proxy every connection has the proxy's address.
    each = most if settings.behind_tls_proxy else min(most, settings.client_connections_per_address)
    deadlines = Deadlines(settings.head_s, settings.idle_s, settings.write_s)
    protocol = partial(BoundedProtocol, connections=Connections(most, each), deadlines=deadlines)
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="lutra_service.edge.tls:Loop",
        http=cast(Any, protocol),
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        proxy_headers=False,  # whom a forwarded address may come from, `addresses` says
        timeout_keep_alive=settings.idle_s,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )


def _files() -> int:
    """How many files this process may have open, after asking for as many as the system gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return FILES if soft == resource.RLIM_INFINITY else soft
