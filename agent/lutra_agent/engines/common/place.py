"""The process and the folder of this host that belong to the answering server.

A server's report about itself holds for its own host: in a container, behind a tunnel or on another host the same path
is another folder, and the same number another process. Each fact is therefore used only after it is proven.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.peer import OF_ANOTHER_NAMESPACE, Peer
from lutra_agent.errors import CollectionFailed

STARTED_ALIKE_S = 5.0
"""The kernel and a server report the start of a process by different clocks, each in whole seconds."""
SERVICE_MANAGER = 1
"""A program that may create the socket's file and give it to the server."""
MOST_LINKS = 20

WAY_OUT = (
    "run the agent where the server runs, under the server's account or root, and inside its container if it has one"
)
BY_STATEMENTS = (
    "the agent does not use this host's files and processes; it observes and changes the server by statements alone"
)
NO_LIMITS = "the agent does not know the limits of its container"


@dataclass(frozen=True)
class Place:
    """The process and folder on this host that are proven to be the server's.

    `doubt` says what is not proven, with the remedy; empty if both are. `unread`: the server's answers could not be
    read, but may be readable later.
    """

    process: int | None = None
    folder: Path | None = None
    doubt: str = ""
    unread: bool = False

    @property
    def here(self) -> bool:
        """Whether the server is known to run on this host."""
        return self.process is not None or self.folder is not None

    def folder_or(self, named: Path | None) -> Path | None:
        """`named` is from the agent's own file, for a server that does not show this account its data folder."""
        if self.folder is not None or named is None or self.process is None:
            return self.folder
        return None if sees(self.process, named) is False else named


@dataclass(frozen=True)
class Told:
    """A server's report about its place, and the process that answers on the connection.

    `process` is its number, and `holder` the process that has our connection, if they differ. `started_s` is the epoch
    second at which the holder began, and `up_since_s` that of the server, with an error of at most `error_s`. `named`
    says whether the data in `folder` bear the server's own name: None if unknown, and then `unnamed` says what is
    missing.
    """

    programs: Collection[str]
    peer: Peer
    process: int | None = None
    holder: int | None = None
    started_s: float | None = None
    up_since_s: float | None = None
    folder: Path | None = None
    named: bool | None = None
    unnamed: str = ""
    error_s: float = 0.0


def located(read: Callable[[], Place]) -> Place:
    """The result of `read`; empty if the server's answers cannot be read."""
    try:
        with understood("where the server runs"):
            return read()
    except CollectionFailed as error:
        return Place(doubt=f"{error}: {BY_STATEMENTS}. {WAY_OUT}", unread=True)


def place_of(claims: Told) -> Place:
    """The part of it that this host confirms."""
    process, folder = _process(claims), claims.folder
    seen = None if process is None or folder is None else sees(process, folder)
    if folder is not None and process is None and claims.named:
        worker = _worker_in(folder, claims.programs)
        if worker is not None and _began(worker, claims.up_since_s, claims.error_s):
            process = worker
        elif worker is not None:  # a copy of this folder's data answers
            seen = False
    if folder is None or False in (claims.named, seen) or not (claims.named or seen or _is_alike(process)):
        folder = None
    return Place(process, folder, _doubt(claims, process, folder))


def sees(process: int, path: Path) -> bool | None:
    """Whether `path` is the same file or folder for the process as for us; None if this account may not look, or it
    ended.
    """
    try:
        return os.path.samestat(_within(Path(f"/proc/{process}/root"), path).stat(), path.stat())
    except PermissionError:
        return None
    except OSError:
        return False if Path(f"/proc/{process}/root").exists() else None


def inode_of(folder: Path) -> str:
    """A text that distinguishes a folder from a later one with the same path; empty if there is none."""
    try:
        return f"inode {folder.stat().st_ino}"
    except OSError:
        return ""


def parent(process: int) -> int | None:
    try:
        return psutil.Process(process).ppid()
    except psutil.Error:
        return None


def group_of(thread: int) -> int | None:
    """The process to which a thread belongs."""
    try:
        lines = Path(f"/proc/{thread}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("Tgid:")), None)


def _doubt(claims: Told, process: int | None, folder: Path | None) -> str:
    if process is not None and (folder is not None or (claims.folder is None and not claims.unnamed)):
        return ""
    if claims.named is False:
        what = f"{claims.folder} contains the data of a different server than the one that answers"
    elif folder is not None:
        what = f"the server has its data in {folder}, and no process of this host is known to be its own"
    elif process is not None and claims.folder is not None:
        what = f"{claims.folder} is not known to be the folder of the server, which is process {process}"
    elif process is not None:
        what = f"the server is process {process}, and does not show this account where its data are"
    else:
        what = "nothing shows that the server that answers runs on this host"
    wanted = claims.unnamed if folder is None and claims.named is None else ""
    return f"{what}: {NO_LIMITS if folder else BY_STATEMENTS}. {'; or '.join(filter(None, (wanted, WAY_OUT)))}"


def _process(claims: Told) -> int | None:
    """The server's process of this host. Whoever made the socket's file has its number here, whatever it is there."""
    maker = claims.peer.process
    by_file = maker not in (None, SERVICE_MANAGER, OF_ANOTHER_NAMESPACE)
    process = maker if by_file else claims.process
    if maker == OF_ANOTHER_NAMESPACE or process is None or not _is_called(process, claims.programs):
        return None
    if by_file:
        return process
    holder = claims.holder or process
    holds = None if claims.peer.inode is None else _holds(holder, claims.peer.inode)
    if holds is None:
        holds = _is_the_accounts(holder, claims.peer.account) and _began(holder, claims.started_s, claims.error_s)
    return process if holds else None


def _is_called(process: int, programs: Collection[str]) -> bool:
    try:
        found = psutil.Process(process)
        # A loader may stand before the program in its arguments; some rewrite these.
        names = (found.name(), *(Path(word).name for word in found.cmdline()))
    except psutil.Error:
        return False
    return any(name in programs for name in names)


def _holds(process: int, inode: int) -> bool | None:
    """Whether it has this socket open; None if we may not look."""
    try:
        with os.scandir(f"/proc/{process}/fd") as opened:
            return any(_link(Path(file.path)) == f"socket:[{inode}]" for file in opened)
    except PermissionError:
        return None
    except OSError:
        return False


def _link(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""


def _is_the_accounts(process: int, account: int | None) -> bool:
    try:
        return account is None or account == psutil.Process(process).uids().effective
    except psutil.Error:
        return False


def _began(process: int, epoch_s: float | None, error_s: float) -> bool:
    if epoch_s is None:
        return False
    try:
        return abs(psutil.Process(process).create_time() - epoch_s) <= STARTED_ALIKE_S + error_s
    except psutil.Error:
        return False


def _is_alike(process: int | None) -> bool:
    """Whether a process into which we may not look has the number here that it has for itself: no container's has."""
    if process is None or _may_look_into(process):
        return False
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return False
    return all(len(line.split()) == 2 for line in lines if line.startswith("NSpid:"))


def _may_look_into(process: int) -> bool:
    try:
        Path(f"/proc/{process}/root").stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def _worker_in(folder: Path, programs: Collection[str]) -> int | None:
    """The one process of these programs that works in the folder, whatever its namespaces call both."""
    found = {p.pid for p in psutil.process_iter() if _works_in(p.pid, folder) and _is_called(p.pid, programs)}
    first = [process for process in found if parent(process) not in found]
    return first[0] if len(first) == 1 else None


def _works_in(process: int, folder: Path) -> bool:
    try:
        return os.path.samestat(Path(f"/proc/{process}/cwd").stat(), folder.stat())
    except OSError:
        return False


def _within(root: Path, path: Path) -> Path:
    """The path below another root, where its links lead as they do for whoever has that root. Raises OSError."""
    left, place, links = list(path.parts[1:]), root, 0
    while left:
        part = left.pop(0)
        if part == "..":
            place = root if place == root else place.parent
            continue
        if (place / part).is_symlink():
            links += 1
            if links > MOST_LINKS:
                raise OSError(f"{path} goes through more than {MOST_LINKS} links")
            target = (place / part).readlink()
            place = root if target.is_absolute() else place
            left[:0] = target.parts[1:] if target.is_absolute() else target.parts
            continue
        place /= part
    return place


def begin_of(uptime: Callable[[], float]) -> tuple[float, float]:
    """The epoch second at which the reporting process began, and the error of that time: it may have reported its age
    at any moment of the wait for the answer.
    """
    asked_s = time.time()
    up_s = uptime()
    return time.time() - up_s, time.time() - asked_s
