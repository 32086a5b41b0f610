from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation, gp

ROOT = Path(__file__).parents[2]
HEAVY = ("GPy", "paramz", "sklearn", "scipy.optimize", "scipy.stats", "matplotlib", "dask", "distributed", "mcp")


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


PREDICT = """
import json, sys, lutra_service.main
from lutra_models.gp.fitted.snapshot import Snapshot
asked = json.load(sys.stdin)
Snapshot.from_dict(asked["snapshot"]).predict([asked["configuration"]], 0.95)
print("\\n".join(sys.modules))
"""


@pytest.mark.slow
def test_the_services_process_never_loads_what_fits_models_not_even_to_predict_from_a_stored_one() -> None:
    space = KnobSpace([Knob("work_mem", Number(64, 65536, unit="kB", log=True, integer=True))])
    seen = [Observation({"work_mem": 1024 * n}, {"qps": 900.0 + 10 * n}) for n in (1, 4, 16)]
    model = gp.fit(History(space, Objective("qps", "maximize"), observations=seen), rng=np.random.default_rng(1))
    asked = json.dumps({"snapshot": model.snapshot.to_dict(), "configuration": {"work_mem": 2048}})
    done = subprocess.run([sys.executable, "-c", PREDICT], input=asked, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"lutra_service.main", "lutra_models.gp.fitted.snapshot"} <= loaded
    assert not loaded.intersection(HEAVY)


def test_the_core_needs_the_standard_library_alone() -> None:
    code = "lutra_models, lutra_models.catalog, lutra_models.serial"
    found = {m.split(".")[0] for m in loaded_by(code)}
    assert not found.intersection({"numpy", "scipy", "pydantic", "sqlalchemy", "fastapi"})


@pytest.mark.slow
def test_every_import_contract_is_kept() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
