"""Small files that survive a crash: written aside, flushed, renamed."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

LONGEST = 16 << 20
"""The size limit of the agent's own files, in bytes."""

NO_FILE_OF_OURS = (errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.EISDIR, errno.ENXIO)

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""The disk does not accept writes from any account."""

log = logging.getLogger(__name__)


def write_atomically(path: Path, content: bytes, mode: int = 0o600, owner: tuple[int, int] | None = None) -> None:
    """Replace `path` by `content` in one step: a reader, or a crash, sees the old file or the new one.

    `owner` is (uid, gid); without it the file is whose `made_in` says. The directory is flushed too, so that the rename
    itself survives.
    """
    owner = owner or made_in(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if owner != (os.geteuid(), os.getegid()):
                os.fchown(file.fileno(), *owner)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _flush_directory(path.parent)


def overwrite(path: Path, content: bytes) -> None:
    """Write over an existing file in place, for a disk without room for a second one. A crash may tear it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "wb") as file:
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def read_regular(path: Path, longest: int = LONGEST) -> tuple[bytes, os.stat_result]:
    """A file's content and status. Raises OSError for a link, a pipe, a folder or a device, and one that is longer."""
    with opened_regular(path) as file:
        status = os.fstat(file.fileno())
        content = file.read(longest + 1) or b""
    if len(content) > longest:
        raise OSError(errno.EFBIG, f"longer than {longest} bytes", str(path))
    return content, status


@contextmanager
def opened_regular(path: Path) -> Iterator[BinaryIO]:
    """A file to be read, without waiting for it. Raises OSError for a link, a pipe, a folder or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield file


def real(path: Path) -> Path:
    """The target of a path's links."""
    return Path(os.path.realpath(path))


@contextmanager
def pinned(path: Path) -> Iterator[Path]:
    """Another path of the same file, in the current folder, whatever takes its place meanwhile.

    Raises OSError if there is no such folder.
    """
    descriptor = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/self/fd/{descriptor}") / path.name
    finally:
        os.close(descriptor)


def made_in(folder: Path) -> tuple[int, int]:
    """Whose a new file in `folder` is: ours, or as root the folder's, whose owner has to read it later."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    status = folder.stat()
    return status.st_uid, status.st_gid


def is_read_only(folder: Path) -> bool:
    """Whether no account can write there, regardless of its rights."""
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def make_folder(path: Path) -> None:
    """A folder for its owner alone, who is whom `made_in` says; an existing one is left unchanged."""
    try:
        path.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        return
    os.chown(path, *made_in(path.parent), follow_symlinks=False)


def make_empty(path: Path) -> None:
    """An empty file, whose `made_in` says; an existing one is left unchanged."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    try:
        # Only of a file that this call made: another one may be a link that somebody has put there.
        os.fchown(descriptor, *made_in(path.parent))
    finally:
        os.close(descriptor)


def write_json(path: Path, content: Any) -> None:
    write_atomically(path, json.dumps(content, separators=(",", ":"), allow_nan=False).encode())


def read_json(path: Path) -> Any:
    """The file's content, or None if there is none, a crash of long ago left it unreadable, or it is a link."""
    try:
        return json.loads(read_regular(path)[0])
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        log.warning("%s is not JSON: %s", path, error)
        return None
    except OSError as error:
        if error.errno not in NO_FILE_OF_OURS:
            raise
        log.warning("%s is skipped: %s", path, error.strerror)
        return None


def remove_unfinished(folder: Path) -> None:
    """Remove leftovers of JSON writes whose process was killed before the rename."""
    for path in folder.glob(".*.json.*"):
        path.unlink(missing_ok=True)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _flush_directory(path.parent)


def _flush_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
