"""`lutra-agent` as a user installs it, for one engine: built into wheels, installed into an empty environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNWANTED = ("numpy", "scipy", "gpy", "scikit-learn", "fastapi", "sqlalchemy", "lutra-service", "lutra-lab")


def install(folder: Path, engine: str = "postgresql") -> Path:
    """Build, make the environment, install; returns its python. Raises CalledProcessError."""
    wheels, environment = folder / "wheels", folder / "environment"
    for member in ("models", "agent"):
        _uv(
            "build",
            "--wheel",
            "--no-build-isolation",
            "--python",
            sys.executable,
            "-o",
            str(wheels),
            str(ROOT / member),
        )
    _uv("venv", "--python", sys.executable, str(environment))
    python = environment / "bin" / "python"
    agent, models = (next(wheels.glob(f"lutra_{m}-*.whl")) for m in ("agent", "models"))
    constraint = ["--constraint", str(ROOT / "requirements.lock")]
    _uv("pip", "install", "--python", str(python), *constraint, str(models), f"{agent}[{engine}]")
    return python


def installed(python: Path) -> dict[str, str]:
    """Distribution → version."""
    code = (
        "from importlib.metadata import distributions as d\nfor x in d(): print(x.metadata['Name'].lower(), x.version)"
    )
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in said.splitlines())


def size_mb(python: Path) -> float:
    """Of what was installed, without the interpreter."""
    packages = next(python.parents[1].glob("lib/python*/site-packages"))
    return sum(p.stat().st_size for p in packages.rglob("*") if p.is_file()) / 2**20


def _uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", "--quiet", *arguments], check=True, cwd=ROOT)
