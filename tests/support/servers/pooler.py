"""Debian's PgBouncer in front of a scratch server, with a pool so small that its clients meet each other's sessions."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lutra_lab.servers.ports import LOOPBACK, accepts, free_port
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.servers.engines import program
from tests.support.waiting import until

POOL = 2
ACCOUNT = "nobody"
"""PgBouncer does not run as root."""


@contextmanager
def pooler(server: ScratchPostgres, mode: str) -> Iterator[int]:
    """Its port; `mode` is session, transaction or statement."""
    folder, port = Path(tempfile.mkdtemp(prefix="lutra-test-")), free_port()
    folder.chmod(0o755)
    settings = {
        "listen_addr": LOOPBACK,
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "any",
        "pool_mode": mode,
        "default_pool_size": POOL,
    }
    lines = [f"* = host={server.host} port={server.port} user={server.user}", "[pgbouncer]"]
    file = folder / "pgbouncer.ini"
    file.write_text("\n".join(["[databases]", *lines, *(f"{k} = {v}" for k, v in settings.items())]) + "\n")
    as_account = ["setpriv", f"--reuid={ACCOUNT}", "--clear-groups"] if os.getuid() == 0 else []
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*as_account, program("pgbouncer"), str(file)], stderr=log)
    try:
        until(lambda: accepts(port))
        yield port
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder)
