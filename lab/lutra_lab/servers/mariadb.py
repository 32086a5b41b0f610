"""A scratch MariaDB: the version that this machine has installed. Its service, if there is one, is not touched."""

from __future__ import annotations

import shutil
from pathlib import Path

from lutra_lab.servers.base import LabOptions
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mysqld import EXAMPLE_TABLES, SCALE, SYSBENCH, WARM, ScratchMysqld

FOLDERS = tuple(Path(folder) for folder in ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin"))
INCLUDE = "zz-lutra.cnf"
FIRST = "SET GLOBAL query_response_time_flush = ON;\n"
"""Run at every start: only then does the configured base cut the ranges. Without the plugin it fails and is logged."""
HISTOGRAM = {
    "plugin_load_add": "query_response_time",
    "loose_query_response_time_range_base": "2",
    "loose_query_response_time_stats": "ON",
}
"""Options with which the server counts response times, if the plugin is installed."""


class ScratchMariadb(ScratchMysqld):
    """The agent writes its settings into `include_file`; the server reads that folder last."""

    engine = "mariadb"
    title = "MariaDB"
    lab = LabOptions(scale=SCALE, example=EXAMPLE_TABLES, needs=SYSBENCH, server={**HISTOGRAM, **WARM})

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        for folder in (programs,) if programs else FOLDERS:
            if (folder / "mariadbd").exists():
                return folder
        raise LabError("MariaDB is not installed: apt-get install mariadb-server-core")

    @property
    def include_file(self) -> Path:
        return self.directory / "include" / INCLUDE

    def _own_options(self) -> dict[str, str]:
        file = self.directory / "include" / "first.sql"
        file.parent.mkdir(mode=0o755, exist_ok=True)
        file.write_text(FIRST)
        return {"init_file": str(file)}

    def _program(self) -> list[str]:
        return [str(self.programs / "mariadbd")]

    def _install(self) -> list[str]:
        install = shutil.which("mariadb-install-db") or "mariadb-install-db"
        ways = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        where = ["--basedir=/usr", f"--datadir={self.data_dir}", f"--tmpdir={self.directory / 'tmp'}"]
        return [install, "--no-defaults", *where, *ways]
