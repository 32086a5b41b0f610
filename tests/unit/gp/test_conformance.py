"""What another package brings passes the suite that ours pass, or is told what it does not keep."""

from __future__ import annotations

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
    assert any(line.startswith("what trends say is part of the posterior: where a past workload") for line in found)
    (fault,) = acquisition_faults(
        Formula("flat", lambda mean, deviation, best: np.maximum(mean - best, -1e3) + deviation)
    )
    assert "keeps falling far below the best" in fault


def test_a_value_under_another_name_than_its_entry_point_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import toygp

    monkeypatch.setattr(toygp.UpperBound, "name", "other")
    extensions.fresh()
    with pytest.raises(BrokenExtension, match="'other', its entry point 'toygp_bound'"):
        acquisition("toygp_bound")
    extensions.fresh()
