"""Surrogates of a package that means harm: each takes what a computation can take, and gives nothing."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.posterior import GaussianProcess

MARKER = "PLUGIN_ATTACK_MARKER"
BEGUN = ".begun"
THREADS = 4
PAGE = 4096
PIECE = 64 << 20


def begun() -> None:
    """Tell the attack that a candidate's computation has come this far."""
    Path(os.environ[MARKER]).with_suffix(BEGUN).touch()


def burn() -> NoReturn:
    """On every processor, in threads of this process and in a process beside it."""
    begun()
    os.fork()
    for _ in range(THREADS):
        threading.Thread(target=_multiply, daemon=True).start()
    _multiply()


def _multiply() -> NoReturn:
    square: Array = np.ones((300, 300))
    while True:
        square = np.tanh(square @ square)


class Sleeps:
    name = "attack_sleeps"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        begun()
        while True:
            time.sleep(3600)


class Eats:
    """As much memory as it is given, and writes to all of it for ever."""

    name = "attack_eats"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        begun()
        kept: list[bytearray] = []
        while True:
            with suppress(MemoryError):
                kept.append(bytearray(PIECE))
            for piece in kept:
                piece[::PAGE] = bytes(len(piece) // PAGE)


class Burns:
    name = "attack_burns"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        burn()


class Turns:
    """Passes every suite, and burns once its marker is there: in the shadow."""

    name = "attack_turns"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        if Path(os.environ[MARKER]).exists():
            burn()
        return NUMPY.fit(readings, belief, options)


ENTRY_POINTS = "[lutra.surrogates]\n" + "\n".join(
    f"{part.name} = {__name__}:{part.__name__}" for part in (Sleeps, Eats, Burns, Turns)
)
