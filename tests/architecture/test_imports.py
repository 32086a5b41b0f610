from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("GPy", "paramz", "sklearn", "scipy.optimize", "scipy.stats", "matplotlib", "dask", "distributed")


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_services_process_never_loads_what_fits_models() -> None:
    assert not loaded_by("lutra_service.main").intersection(HEAVY)


def test_a_prediction_is_answered_without_them_too() -> None:
    assert not loaded_by("lutra_models.gp.snapshot").intersection(HEAVY)


def test_the_core_needs_the_standard_library_alone() -> None:
    code = "lutra_models, lutra_models.catalog, lutra_models.memory, lutra_models.serial"
    found = {m.split(".")[0] for m in loaded_by(code)}
    assert not found.intersection({"numpy", "scipy", "pydantic", "sqlalchemy", "fastapi"})


@pytest.mark.slow
def test_every_import_contract_is_kept() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
