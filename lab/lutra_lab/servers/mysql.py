"""A scratch MySQL: the one of this machine, or of another system's folder, run there by that system's own loader.

Debian's stable releases carry MariaDB alone. `debootstrap --variant=minbase --include=mysql-server-core sid DIR` makes
such a folder; no chroot is needed, so that paths mean the same to the server and to everybody else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from lutra_lab.servers.base import LabOptions
from lutra_lab.servers.binaries import called
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mysqld import EXAMPLE_TABLES, SCALE, SYSBENCH, WARM, ScratchMysqld

ROOT = Path(os.environ.get("LUTRA_MYSQL_ROOT", "/var/tmp/lutra-mysql"))  # noqa: S108 - made by the operator


class ScratchMysql(ScratchMysqld):
    """`programs` is the folder of the system that has MySQL, None for this machine's own."""

    engine = "mysql"
    title = "MySQL"
    lab = LabOptions(
        scale=SCALE,
        example=EXAMPLE_TABLES,
        needs=SYSBENCH,
        server=WARM,
        programs=("--root", "The root folder of a system with MySQL."),
    )

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        root = programs or own() or ROOT
        if (root / "usr/sbin/mysqld").exists():
            return root
        raise LabError(
            f"MySQL is not installed in {root}: apt-get install mysql-server-core, or if the release has none: "
            f"debootstrap --variant=minbase --include=mysql-server-core sid {ROOT} (another folder: LUTRA_MYSQL_ROOT)"
        )

    def _program(self) -> list[str]:
        return called(self.programs, "usr/sbin/mysqld")

    def _install(self) -> list[str]:
        return [*self._program(), f"--defaults-file={self.file}", "--initialize-insecure"]

    def _own_options(self) -> dict[str, str]:
        usr = self.programs / "usr"
        return {
            "basedir": str(usr),
            "lc_messages_dir": str(usr / "share/mysql"),
            "plugin_dir": str(usr / "lib/mysql/plugin"),
            "mysqlx": "OFF",
            "secure_file_priv": "NULL",
        }


def own() -> Path | None:
    """This machine's own program, if it has one: MariaDB's program may have the same name."""
    program = shutil.which("mysqld", path="/usr/sbin")
    return Path("/") if program is not None and "MariaDB" not in _said(program) else None


def _said(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
