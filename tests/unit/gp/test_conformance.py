"""What another package brings passes the suite that ours pass, or is told what it does not keep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lutra_models import extensions
from lutra_models.errors import BrokenExtension
from lutra_models.gp import Options, recommend
from lutra_models.gp.conformance import (
    AcquisitionConformance,
    KernelConformance,
    SurrogateConformance,
    acquisition_faults,
    surrogate_faults,
)
from lutra_models.gp.documents import checked, plugged
from lutra_models.gp.kernels.shapes import kernel
from lutra_models.gp.search.acquisition import Formula, acquisition
from lutra_models.gp.surrogate.table import surrogate
from lutra_service.workers.worker import broken_parts

from tests.unit.gp.helpers import SPACE, history

pytestmark = pytest.mark.slow


class TestInstalledSurrogate(SurrogateConformance):
    one = surrogate("toygp")


class TestInstalledForest(SurrogateConformance):
    one = surrogate("toygp_forest")


class TestInstalledKernel(KernelConformance):
    one = kernel("toygp_ranges")


class TestInstalledAcquisition(AcquisitionConformance):
    one = acquisition("toygp_bound")


def test_both_are_named_in_an_options_document_with_the_package_that_brings_them() -> None:
    options = checked({"surrogate": {"name": "toygp"}, "search": {"acquisition": "toygp_bound"}})
    assert [(p.name, str(p.package)) for p in plugged(options)] == [
        ("toygp", "toygp 1.0"),
        ("toygp_bound", "toygp 1.0"),
    ]
    advice = recommend(history(9), rng=np.random.default_rng(1), options=options)
    assert SPACE.parse(advice.configuration) == advice.configuration
    assert plugged(Options()) == ()


def test_what_a_part_does_not_keep_is_said_in_words() -> None:
    assert surrogate_faults(surrogate("toygp")) == []
    found = surrogate_faults(surrogate("toygp_broken"))
    assert len(found) == 2
    assert "one row and equal rows are no error: FitFailed: too few rows" in found
    assert any(line.startswith("what trends say is part of the posterior: if a past workload") for line in found)
    (fault,) = acquisition_faults(
        Formula("flat", lambda mean, deviation, best: np.maximum(mean - best, -1e3) + deviation)
    )
    assert "keeps falling far below the best" in fault


def test_a_part_that_ends_its_process_when_it_is_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "hasty.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: hasty\nVersion: 2.0\n")
    (package / "entry_points.txt").write_text("[lutra.surrogates]\nhasty = hasty:Part\nlost = toygp:Lost\n")
    (tmp_path / "hasty.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(BrokenExtension, match="cannot be imported: SystemExit: 3"):
        surrogate("hasty")
    (told,) = broken_parts({"options": {"surrogate": {"name": "lost"}}})["broken"]
    assert told.startswith("surrogate.name = 'lost': hasty brings lost to lutra.surrogates, but toygp:Lost cannot be")
    assert broken_parts({"options": {"surrogate": {"name": "toygp"}}}) == {"broken": []}


def test_a_value_under_another_name_than_its_entry_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import toygp

    monkeypatch.setattr(toygp.UpperBound, "name", "other")
    extensions.fresh()
    with pytest.raises(BrokenExtension, match="'other', its entry point 'toygp_bound'"):
        acquisition("toygp_bound")
    extensions.fresh()
