"""Database servers refuse to run as root: commands of a scratch server go through an unprivileged account instead.

`python -m lutra_lab.servers.account NAME COMMAND …` becomes COMMAND under that account; only Python is needed.
"""

from __future__ import annotations

import os
import pwd
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lutra_lab.servers.errors import LabError

ACCOUNTS = ("postgres", "nobody")
"""The first that exists is taken; a machine without PostgreSQL has the second, and no account need be made."""


@dataclass(frozen=True)
class Account:
    """The account that runs a scratch server. `name` is None without root: then the current account runs it."""

    name: str | None
    uid: int
    gid: int

    def command(self, argv: Sequence[str]) -> list[str]:
        """`argv` as this account would run it."""
        return [sys.executable, "-m", __name__, self.name, *argv] if self.name else list(argv)

    def own(self, path: Path) -> None:
        if self.name:
            os.chown(path, self.uid, self.gid)

    def reaches(self, path: Path) -> bool:
        """Whether every folder above `path`, and `path` itself, can be entered."""
        return self.name is None or all(self._enters(p) for p in (path, *path.parents))

    def open_way(self, path: Path) -> None:
        """Let this account enter the temporary folders above `path`, without listing them. Raises LabError."""
        temporary = Path(tempfile.gettempdir()).resolve()
        for folder in path.resolve().parents:
            if self.name and not self._enters(folder):
                if temporary not in folder.parents or folder.stat().st_uid != os.geteuid():
                    raise LabError(
                        f"{folder} cannot be entered by {self.name!r}, which runs the server; use a different --dir"
                    )
                folder.chmod(folder.stat().st_mode | 0o011)

    def _enters(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & 0o100)
        return bool(status.st_mode & (0o010 if status.st_gid == self.gid else 0o001))


def account() -> Account:
    """The current account, or for root the first of ACCOUNTS. Raises LabError if there is none."""
    if os.geteuid() != 0:
        return Account(None, os.geteuid(), os.getegid())
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise LabError(f"a database server does not run as root, and none of the accounts {', '.join(ACCOUNTS)} exists")


def main(arguments: Sequence[str]) -> None:
    entry = pwd.getpwnam(arguments[0])
    os.initgroups(entry.pw_name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    os.chdir("/")  # where the caller is, this account may not be
    os.execvp(arguments[1], list(arguments[1:]))  # noqa: S606 - becoming the command is the point


if __name__ == "__main__":
    main(sys.argv[1:])
