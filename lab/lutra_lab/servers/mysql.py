"""A scratch MySQL: the one of this machine, or of another system's folder, run there by that system's own loader.

Debian's stable releases carry MariaDB alone. `debootstrap --variant=minbase --include=mysql-server-core sid DIR` makes
such a folder; no chroot is needed, so that paths mean the same to the server and to everybody else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lutra_lab.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld

ROOT = Path(os.environ.get("LUTRA_MYSQL_ROOT", "/var/tmp/lutra-mysql"))  # noqa: S108 - made by the operator


class ScratchMysql(ScratchMysqld):
    """`root` is the folder of the system that has MySQL, None for this machine's own."""

    engine = "mysql"
    title = "MySQL"
    program = "mysqld"

    def __init__(
        self,
        directory: Path,
        port: int | None = None,
        options: Mapping[str, str] | None = None,
        root: Path | None = None,
    ) -> None:
        self.root = root or installed()
        super().__init__(directory, port, options)

    def server(self) -> list[str]:
        program = str(self.root / "usr/sbin/mysqld")
        if self.root == Path("/"):
            return [program]
        loader = next(self.root.glob("usr/lib*/ld-linux-*.so.*"))
        libraries = ":".join(str(p) for p in self.root.glob("usr/lib/*-linux-gnu*"))
        return [str(loader), "--library-path", libraries, program]

    def initialise(self) -> list[str]:
        return [*self.server(), f"--defaults-file={self.defaults}", "--initialize-insecure"]

    def own_options(self) -> dict[str, str]:
        usr = self.root / "usr"
        return {
            "basedir": str(usr),
            "lc_messages_dir": str(usr / "share/mysql"),
            "plugin_dir": str(usr / "lib/mysql/plugin"),
            "mysqlx": "OFF",
            "secure_file_priv": "NULL",
        }


def own() -> Path | None:
    """This machine's own, where it has one: MariaDB's program may bear the same name."""
    program = shutil.which("mysqld", path="/usr/sbin")
    return Path("/") if program is not None and "MariaDB" not in _said(program) else None


def installed() -> Path:
    """The root of the system whose MySQL is taken. Raises LabError where there is none."""
    root = own() or ROOT
    if (root / "usr/sbin/mysqld").exists():
        return root
    raise LabError(
        f"MySQL is installed neither here nor in {ROOT}: apt-get install mysql-server-core, or where the release has "
        f"none: debootstrap --variant=minbase --include=mysql-server-core sid {ROOT} (another folder: LUTRA_MYSQL_ROOT)"
    )


def _said(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
