"""Files that hold a token or a password."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from lutra_agent.errors import ConfigError

ROOT = 0
OTHERS_WRITE, OTHERS_READ = 0o022, 0o044

log = logging.getLogger(__name__)


def secret(path: Path | None) -> str | None:
    """The first line of a secret's file. Raises ConfigError if it cannot be read, or is not kept from others.

    Links are followed, and a file of root's may be readable for others, with a warning, because secrets are mounted
    like that.
    """
    if path is None:
        return None
    try:
        with path.open() as file:
            exposed(path, os.fstat(file.fileno()))
            return file.read().strip().splitlines()[0]
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text") from None
    except IndexError:
        raise ConfigError(f"{path} is empty") from None


def exposed(path: Path, status: os.stat_result) -> None:
    """Raises ConfigError if other accounts may write the file, or read one that is its reader's own."""
    mode, remedy = status.st_mode & 0o777, f"chmod 600 {path}"
    if mode & OTHERS_WRITE:
        raise ConfigError(f"{path}: other accounts may write it (mode {mode:04o}): {remedy}")
    if mode & OTHERS_READ and status.st_uid != ROOT:
        raise ConfigError(f"{path}: other accounts may read it (mode {mode:04o}): {remedy}")
    if mode & OTHERS_READ:
        log.warning("%s: other accounts may read it (mode %04o): %s unless it is a mounted secret", path, mode, remedy)
