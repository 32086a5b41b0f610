"""A scratch MariaDB: whichever version this machine has installed. Its service, where there is one, is not touched."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from lutra_lab.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld

INCLUDE = "zz-lutra.cnf"
FIRST = "SET GLOBAL query_response_time_flush = ON;\n"
"""Run at every start: only then does the configured base cut the ranges. Without the plugin it fails and is logged."""
HISTOGRAM = {
    "plugin_load_add": "query_response_time",
    "loose_query_response_time_range_base": "2",
    "loose_query_response_time_stats": "ON",
}
"""Options with which the server counts response times, where the plugin is installed."""


class ScratchMariadb(ScratchMysqld):
    """`include_file` is where the agent writes its settings; the server reads that folder last."""

    engine = "mariadb"
    title = "MariaDB"
    program = "mariadbd"

    def __init__(self, directory: Path, port: int | None = None, options: Mapping[str, str] | None = None) -> None:
        self.program_file = installed()
        self.include_file = directory.absolute() / "include" / INCLUDE
        super().__init__(directory, port, options)

    def own_options(self) -> dict[str, str]:
        file = self.directory / "include" / "first.sql"
        file.parent.mkdir(mode=0o755, exist_ok=True)
        file.write_text(FIRST)
        return {"init_file": str(file)}

    def server(self) -> list[str]:
        return [self.program_file]

    def initialise(self) -> list[str]:
        install = shutil.which("mariadb-install-db") or "mariadb-install-db"
        ways = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        where = ["--basedir=/usr", f"--datadir={self.data_dir}", f"--tmpdir={self.directory / 'tmp'}"]
        return [install, "--no-defaults", *where, *ways]


def installed() -> str:
    """Raises LabError where there is none."""
    for folder in ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/bin"):
        program = Path(folder) / "mariadbd"
        if program.exists():
            return str(program)
    raise LabError("MariaDB is not installed: apt-get install mariadb-server-core")
