from __future__ import annotations

import pytest
from lutra_models import Prediction


def test_an_interval_holds_its_median() -> None:
    assert Prediction("qps", 10, 5, 20).holds(20)
    with pytest.raises(ValueError, match="must hold its median"):
        Prediction("qps", 30, 5, 20)
