"""Tuning raced on measured tables: how good, how true, how safe and how fast the recommender is.

Everything is timed and compared on one core, so the numeric libraries are held to one thread before they are loaded.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
