"""An agent whose process ends at any step, in the middle of each write too; and a disk of its own that may be full."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path, PosixPath
from typing import Any, BinaryIO

import pytest
from lutra_agent.control.restore_progress import RestoreProgress
from lutra_agent.files import atomic
from lutra_models.catalog.statements import Step

from tests.support.fakes.engine import FakeControl, FakeEngine
from tests.support.fakes.host import FakeHost


class Killed(BaseException):
    """The agent's process ended here."""


class Lives:
    """Ends the agent before its n-th step, for each n of `kills` one run; the run after these is not ended.

    What the folder had at that moment is put back when the next run begins: a process that is gone cleans nothing up.
    A killed rename that no sync followed is there, or, where the whole host died (`loses_power`), is not.
    """

    def __init__(self, folder: Path, kills: Sequence[int] = (), loses_power: bool = False) -> None:
        self.folder = folder
        self.kills = list(kills)
        self.loses_power = loses_power
        self.full = False
        self.killed = 0
        self.in_a_write = 0
        self._left: int | None = None
        self._image: dict[Path, bytes] | None = None

    def begin(self) -> None:
        if self._image is not None:
            self._put_back(self._image)
            self._image = None
        self._left = self.kills.pop(0) if self.kills else None

    def step(self, undone: tuple[Path, bytes | None] | None = None) -> None:
        """`undone` is the file and what it said before, where a rename is not durable yet."""
        if self._left is None:
            return
        if self._left > 0:
            self._left -= 1
            return
        self.killed += 1
        self._left = None
        self._image = {p: p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}
        self.in_a_write += any(p.name.startswith(".") for p in self._image)
        if undone is not None and self.loses_power:
            path, content = undone
            self._image.pop(path)
            self._image |= {} if content is None else {path: content}
        raise Killed

    def _put_back(self, image: dict[Path, bytes]) -> None:
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in image:
                path.unlink()
        for path, content in image.items():
            path.write_bytes(content)


class _File:
    """Half of what is written reaches the disk before the agent may end, or before the disk is full."""

    def __init__(self, file: BinaryIO, lives: Lives) -> None:
        self._file = file
        self._lives = lives

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> None:
        half = len(content) // 2
        self._file.write(content[:half])
        self._file.flush()
        self._lives.step()
        if (
            self._lives.full
            and self._lives.folder / "state" in Path(f"/proc/self/fd/{self.fileno()}").readlink().parents
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._file.write(content[half:])
        self._file.flush()
        self._lives.step()

    def fileno(self) -> int:
        return self._file.fileno()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _System:
    """The operating system as the writing of small files sees it."""

    def __init__(self, lives: Lives) -> None:
        self._lives = lives

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fdopen(self, descriptor: int, mode: str) -> Any:
        file = os.fdopen(descriptor, mode)
        return _File(file, self._lives) if "w" in mode else file

    def fsync(self, descriptor: int) -> None:
        """Nothing here loses power for real."""


@contextmanager
def mortal_disk(lives: Lives) -> Iterator[None]:
    """Each write of a small file is many steps: half of it, all of it, renamed, and durable."""

    class Renamed(PosixPath):
        def replace(self, target: Any) -> Any:
            lives.step()
            before = target.read_bytes() if target.exists() else None
            made = super().replace(target)
            lives.step((Path(target), before))
            return made

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(atomic, "os", _System(lives))
        patched.setattr(atomic, "Path", Renamed)
        yield


class MortalEngine(FakeEngine):
    lives: Lives

    def execute(self, statements: Sequence[Step]) -> None:
        for statement in statements:
            self.lives.step()
            super().execute([statement])

    def reload(self) -> None:
        self.lives.step()
        super().reload()


@dataclass
class MortalHost(FakeHost):
    lives: Lives | None = None

    def execute(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._step()
            super().execute([step])

    def reload(self) -> None:
        self._step()
        super().reload()

    def _step(self) -> None:
        if self.lives is not None:
            self.lives.step()


class MortalControl(FakeControl):
    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        assert isinstance(self.fake, MortalEngine)
        self.fake.lives.step()
        status = super()._run(command)
        self.fake.lives.step()
        return status

    def for_operator(self) -> MortalControl:
        self.progress.note(None)
        made = copy(self)
        made._by_operator, made.progress = True, RestoreProgress()
        return made


def until_it_lives(lives: Lives, first: Callable[[], object], again: Callable[[], object]) -> None:
    """`first`, then `again` in a new run of the agent for as long as one is killed."""
    attempt: Callable[[], object] = first
    while True:
        lives.begin()
        try:
            attempt()
        except Killed:
            attempt = again
        else:
            lives.kills.clear()
            lives.begin()
            return
