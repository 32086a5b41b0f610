"""The program that makes the race's loads, at one version, built into a folder of the benchmark's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lutra_lab.servers.errors import LabError

VERSION = "v1.0.12"
MODULE = "github.com/pingcap/go-tpc"


def go_tpc(folder: Path) -> Path:
    """The program, built where it is not there yet. Raises LabError where it cannot be."""
    home = folder / f"go-tpc-{VERSION}"
    program = home / "go-tpc"
    if program.exists():
        return program
    if shutil.which("go") is None:
        raise LabError("go is not installed: the loads are made by go-tpc, which is built from its source")
    print(f"building go-tpc {VERSION}", file=sys.stderr)
    home.mkdir(parents=True, exist_ok=True)
    # A module that requires exactly this version asks nobody for a list of others, as `go install` would.
    (home / "go.mod").write_text(f"module loads\n\ngo 1.21\n\nrequire {MODULE} {VERSION}\n")
    env = {**os.environ, "GOPATH": str(home / "gopath"), "GOFLAGS": "-mod=mod -modcacherw"}
    argv = ["go", "build", "-o", "go-tpc", f"{MODULE}/cmd/go-tpc"]
    built = subprocess.run(argv, cwd=home, env=env, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise LabError(f"go-tpc was not built: {built.stderr[-500:]}")
    return program
