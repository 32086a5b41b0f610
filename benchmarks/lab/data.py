"""The data that a study begins with, made once an engine, and where everything lies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from lutra_agent import drivers
from lutra_agent.config.section import read
from lutra_agent.config.types import DatabaseConfig
from lutra_agent.engines.families import family
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.errors import LabError

from benchmarks.lab.labs import AGING, LABS, Lab, Load, Size
from benchmarks.lab.small_host import Limits


@dataclass(frozen=True)
class Setting:
    """All that is not the study: where, on how large a host, with how much data, measured for how long."""

    folder: Path = Path("/var/tmp/lutra-lab")
    """On a disk, and no memory file system."""
    limits: Limits = field(default_factory=Limits)
    size: Size = field(default_factory=Size)
    warmup_s: int = 20
    duration_s: int = 40

    def load(self, workload: str, threads: int) -> Load:
        return Load(workload, threads, self.warmup_s, self.duration_s)


def template(engine: str, setting: Setting) -> Path:
    """A data folder with the load's tables, used for a while so that its pages are as full as they will stay."""
    size = setting.size
    return made(LABS[engine], f"{engine}-{size.tables}x{size.rows}-{size.scale}", setting)


def made(lab: Lab, name: str, setting: Setting) -> Path:
    """The data folder of this name, filled and used for a while where it is not there yet. Raises LabError."""
    size = setting.size
    folder = setting.folder / f"template-{name}"
    if folder.exists():
        return folder
    setting.folder.mkdir(parents=True, exist_ok=True)
    setting.folder.chmod(0o755)
    making = setting.folder / f"making-{name}"
    shutil.rmtree(making, ignore_errors=True)
    print(f"making the data of {name}", file=sys.stderr)
    with lab.make(making, {**lab.options, **lab.loading}) as server:
        lab.fill(server, size)
        if lab.ages is not None:
            section = lab.driver(replace(AGING, workload=lab.ages), size)
            drivers.build(section, database_of(server)).run()
        server.stop()
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        run(("cp", "-a", "--reflink=auto", str(server.data_dir), str(partial)))
        partial.rename(folder)
    return folder


def copy_data(source: Path, target: Path, kept: tuple[str, ...]) -> None:
    """`source`'s content into `target`, but for the files that `target` keeps its own of."""
    for entry in target.iterdir():
        if entry.name in kept:
            continue
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for entry in source.iterdir():
        if entry.name not in kept:
            run(("cp", "-a", "--reflink=auto", str(entry), str(target)))
    os.sync()  # else the disk is still busy with the copy while the first trials are measured


def forget(folder: Path) -> None:
    """Drop what the system's cache holds of the files in `folder`, all of which are on disk already.

    What a copy leaves in the cache counts against whoever copied, and a server would read it beyond its own memory.
    """
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(argv: tuple[str, ...]) -> None:
    """Raises LabError with its last words."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")
    if done.returncode != 0:
        raise LabError(f"{argv[-1]}: exit {done.returncode}: {(done.stdout + done.stderr)[-500:]}")


def database_of(server: ScratchServer) -> DatabaseConfig:
    section, described = family(server.engine).section, server.describe()
    return read(section, {f.name: described[f.name] for f in fields(section) if f.name in described})
