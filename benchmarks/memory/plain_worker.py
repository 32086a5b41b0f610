"""A worker's recommendation without a server behind it, timed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from lutra_models import serial
from lutra_models.gp import Snapshot, fit
from lutra_service.workers import worker


def recommend(request: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration, and the processor seconds that it took."""
    began = time.process_time()
    history = serial.history_from_dict(request["history"])
    past = [Snapshot.from_dict(payload) for payload in request["past"]]
    advice = fit(history, past, rng=np.random.default_rng(1)).recommend()
    return {"configuration": dict(advice.configuration), "processor_s": time.process_time() - began}


warm = worker.warm
