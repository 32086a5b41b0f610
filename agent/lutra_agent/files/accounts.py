"""The rights with which files are accessed. Root gives up its own rights in folders that belong to another account.

The owner of a folder can put a link, a pipe or another account's file there; with the owner's own rights, these lead
only to places that the owner could reach anyway.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = 0


def owner_of(folder: Path) -> tuple[int, int]:
    """(uid, gid)."""
    status = folder.stat()
    return status.st_uid, status.st_gid


def is_anothers(folder: Path) -> bool:
    """Whether the folder belongs neither to the account of this process nor to root."""
    return owner_of(folder)[0] not in (ROOT, os.geteuid())


def is_kept_by(owner: int, path: Path, below: Path) -> bool:
    """Whether only the account `owner` can change the file at `path`: it and each folder that leads there from `below`
    on belong to it, no other account may write them, and none is a link. Raises OSError if there is nothing.
    """
    leading = [below, *(p for p in path.parents if below in p.parents), path]
    return all(_is_kept_by(owner, p.lstat()) for p in leading)


def _is_kept_by(owner: int, status: os.stat_result) -> bool:
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == owner and not shared and not stat.S_ISLNK(status.st_mode)


@contextmanager
def acting_for(folder: Path) -> Iterator[None]:
    """Runs with the rights of the folder's owner if this process is root and the folder belongs to another account.

    The rights apply to the whole process: only for commands, which have one thread.
    """
    if os.geteuid() != ROOT or not is_anothers(folder):
        yield
        return
    uid, gid = owner_of(folder)
    groups, own_gid = os.getgroups(), os.getegid()
    try:
        os.setgroups([gid])
        os.setegid(gid)
        os.seteuid(uid)
        yield
    finally:
        os.seteuid(ROOT)
        os.setegid(own_gid)
        os.setgroups(groups)
