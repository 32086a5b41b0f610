"""A server in mount, process and network namespaces of its own, published on a port of this host, as containers are.

It has the path, the port and the account of another server that runs on this host.
As a program: `PORT PROCESS TO` publishes the port TO of a process's network namespace as PORT.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.controlled import ControlledServer
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.ports import LOOPBACK, accepts, free_port

from tests.support.servers.engines import made, missing
from tests.support.waiting import until

MOUNTED = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
ALONE = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c"]
ALONE += [f"mount -t proc proc /proc && ip link set lo up && {MOUNTED}", "sh"]
BY_MOUNTS = ["unshare", "--mount", "sh", "-c", MOUNTED, "sh"]
NETWORK = 0x40000000


@dataclass
class Container:
    """`port` is where its server answers on this host; `seen` is the server's own folder, under this host's name."""

    port: int
    seen: ScratchServer
    first: psutil.Process

    def sql(self, statement: str) -> str:
        return self.seen.sql(statement)

    def kill(self) -> None:
        """With its first process the kernel ends all that runs in it."""
        with suppress(psutil.NoSuchProcess):
            self.first.kill()
            self.first.wait()


@contextmanager
def beside(name: str) -> Iterator[tuple[ScratchServer, Container]]:
    """This host's server, and a container with another one that calls its folder and its port by the same names."""
    with _stopped(name) as inside:
        host = made(name, inside.directory.parent / "server", inside.port)
        with host:
            begun_s = time.time()
            until(lambda: time.time() >= begun_s + 2)  # two copies of one server that begin at once are told by nothing
            with _running(inside, host.directory) as container:
                yield host, container


@contextmanager
def mounted_beside(name: str) -> Iterator[tuple[ScratchServer, Container]]:
    """The same in the host's own process and network namespaces, so that each has a port of its own."""
    with _stopped(name) as inside:
        host = made(name, inside.directory.parent / "server")
        with host:
            process = _entered(BY_MOUNTS, inside, host.directory)
            container = Container(inside.port, inside, psutil.Process(process.pid))
            try:
                until(lambda: _answers(inside))
                yield host, container
            finally:
                container.kill()
                process.wait()


@contextmanager
def on_a_volume(name: str) -> Iterator[Container]:
    """A container whose server has its data in a folder of this host, under the same path."""
    with _stopped(name) as inside, _running(inside, inside.directory) as container:
        yield container


@contextmanager
def _stopped(name: str) -> Iterator[ScratchServer]:
    if os.geteuid() != 0:
        missing("the rights of root")
    folder = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    folder.chmod(0o755)
    inside = made(name, folder / "inside")
    try:
        inside.start()
        inside.stop()
        yield inside
    finally:
        inside.remove()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(inside: ScratchServer, seen_as: Path) -> Iterator[Container]:
    process = _entered(ALONE, inside, seen_as)
    port, to = free_port(), inside.port
    container = Container(port, inside, _first(process))
    publishing = subprocess.Popen([sys.executable, "-m", __name__, str(port), str(container.first.pid), str(to)])
    try:
        until(lambda: accepts(port))
        inside.port = port
        until(lambda: _answers(inside))
        yield container
    finally:
        inside.port = to
        container.kill()
        process.wait()
        publishing.kill()
        publishing.wait()


def _entered(alone: list[str], inside: ScratchServer, seen_as: Path) -> subprocess.Popen[bytes]:
    for file in _configuration(inside):
        file.write_text(file.read_text().replace(str(inside.directory), str(seen_as)))
    there = [word.replace(str(inside.directory), str(seen_as)) for word in _command(inside)]
    with (inside.directory / "server.log").open("ab") as log:
        argv = [*alone, str(inside.directory), str(seen_as), *there]
        return subprocess.Popen(argv, stdout=log, stderr=log, cwd="/")


def _configuration(server: ScratchServer) -> list[Path]:
    named = ("server.conf", "data/postgresql.conf")
    return [server.directory / name for name in named if (server.directory / name).exists()]


def _command(server: ScratchServer) -> list[str]:
    """What runs it without going into the background."""
    if isinstance(server, ControlledServer):
        return server.argv
    return server.account.command([str(server.bin_dir / "postgres"), "-D", str(server.data_dir)])  # type: ignore[attr-defined]


def _first(unshared: subprocess.Popen[bytes]) -> psutil.Process:
    """The first process of the namespaces."""
    first: psutil.Process = until(lambda: psutil.Process(unshared.pid).children())[0]
    until(lambda: Path(f"/proc/{first.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink())
    return first


def _answers(server: ScratchServer) -> bool:
    with suppress(LabError):
        server.sql("PING" if server.engine == "redis" else "SELECT 1")
        return True
    return False


def publish(port: int, process: int, to: int) -> None:
    """A socket keeps the namespace that it was made in: this one listens here, and those after it connect there."""
    with socket.create_server((LOOPBACK, port)) as listening, Path(f"/proc/{process}/ns/net").open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        while True:
            threading.Thread(target=_forward, args=(listening.accept()[0], to), daemon=True).start()


def _forward(client: socket.socket, to: int) -> None:
    with client, suppress(OSError), socket.create_connection((LOOPBACK, to)) as server:
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    publish(*map(int, sys.argv[1:]))
