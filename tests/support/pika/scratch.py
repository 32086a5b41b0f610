"""The recorded pika as a scratch server, for tests alone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from lutra_lab.servers.base import LabOptions
from lutra_lab.servers.controlled import ControlledServer
from lutra_lab.servers.loads import Load
from lutra_lab.servers.redis import ScratchRedis

PROGRAM = Path(__file__).with_name("recorded.py")
LOAD = Path(__file__).with_name("load.py")


class RecordedPika(ScratchRedis):
    engine = "pika"
    title = "recorded pika"
    files = (*ScratchRedis.files, "db", "pika")
    lab = LabOptions(scale="It has no data.", example=1)
    version_line = "pika_version"

    @classmethod
    def find(cls, programs: Path | None = None) -> Path:
        return Path("/")

    @property
    def program_file(self) -> Path:
        return self.directory / "pika"  # a process is known by its program's name

    @property
    def argv(self) -> list[str]:
        return [sys.executable, str(self.program_file), str(self.file)]

    def _initialise(self) -> None:
        ControlledServer._initialise(self)
        self.data_dir = self.directory / "db"
        self._own_folder(self.data_dir)
        shutil.copy(PROGRAM, self.program_file)
        given = {"port": str(self.port), **self.options}
        self.file.write_text("# pika.conf\n" + "".join(f"{name} : {value}\n" for name, value in given.items()))

    def engines_own(self) -> dict[str, str]:
        """What the storage engine has been given, whatever the server tells."""
        return dict(line.split("|") for line in self.sql("ENGINE").splitlines())

    def load(self, scale: int) -> Load:
        driver = {"kind": "command", "command": [sys.executable, str(LOAD)], "warmup_s": 0.2, "duration_s": 1}
        return Load("sets by 4 clients", driver)
