"""The wheels that `make dist` builds are whole, and do what the documentation does with them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MEMBERS: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["workspace"]["members"]

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    make = ["make", "--no-print-directory", "--old-file", "setup", "dist", f"DIST={folder}"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def programs(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the installed programs are. Their dependencies are lent by this environment, so no index is asked."""
    environment = tmp_path_factory.mktemp("installed") / "environment"
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [*uv, "pip", "install", "--offline", "--no-deps", "--python", python, *wheels.glob("*.whl")], check=True
    )
    packages = next(environment.glob("lib/python*/site-packages"))
    (packages / "lent.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return environment / "bin"


def package(member: str) -> Path:
    (found,) = (p.parent for p in (ROOT / member).glob("lutra_*/__init__.py"))
    return found


def run(program: Path, *arguments: str, folder: Path) -> str:
    environment = {**os.environ, "LUTRA_DATABASE_URL": f"sqlite:///{folder}/lutra.db"}
    done = subprocess.run(
        [program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("member", MEMBERS)
def test_a_wheel_holds_every_file_of_its_package(member: str, wheels: Path) -> None:
    files = (p.relative_to(ROOT / member).as_posix() for p in package(member).rglob("*") if p.is_file())
    (wheel,) = wheels.glob(f"{package(member).name}-*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert held == {name for name in files if "__pycache__" not in name}


def test_what_is_imported_comes_from_the_wheels(programs: Path, tmp_path: Path) -> None:
    packages = [package(member).name for member in MEMBERS]
    code = f"import {', '.join(packages)}; print({', '.join(f'{p}.__file__' for p in packages)})"
    found = run(programs / "python", "-c", code, folder=tmp_path).split()
    assert all(Path(file).is_relative_to(programs.parent) for file in found)


def test_an_installed_lab_brings_the_drivers_of_load_generators(programs: Path, tmp_path: Path) -> None:
    code = "from lutra_agent.drivers import kinds; print(*(build.__module__ for build in kinds().values()))"
    found = run(programs / "python", "-c", code, folder=tmp_path).split()
    assert {"lutra_lab.drivers.pgbench", "lutra_lab.drivers.sysbench", "lutra_lab.drivers.redis_benchmark"} < set(found)


def test_an_installed_service_makes_its_schema_and_a_token(programs: Path, tmp_path: Path) -> None:
    run(programs / "lutra", "migrate", folder=tmp_path)
    token = run(programs / "lutra", "admin-token", "--name", "me", folder=tmp_path)
    assert token.startswith("lutra_")


@pytest.mark.parametrize("program", ["lutra", "lutra-agent"])
def test_an_installed_program_says_its_version(program: str, programs: Path, tmp_path: Path) -> None:
    assert run(programs / program, "--version", folder=tmp_path).strip()


def test_the_wheels_have_the_names_that_the_documentation_gives_them(wheels: Path) -> None:
    named = re.findall(r"dist/([\w.-]+\.whl)", (ROOT / "docs" / "operate" / "install.md").read_text())
    assert named
    assert set(named) <= {wheel.name for wheel in wheels.glob("*.whl")}
