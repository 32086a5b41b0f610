"""Tasks for a worker's process that misbehave as the session's seed says."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from tests.support.fakes.tasks import Document, Fakes


def warm() -> None:
    return


def recommend(request: Mapping[str, Any]) -> Document:
    return _ACTIONS.get(request["entropy"][0], Fakes().recommend)(request)


def handover(request: Mapping[str, Any]) -> Document:
    return Fakes().handover(request)


def _ends(request: Mapping[str, Any]) -> NoReturn:
    os._exit(7)


def _exits(request: Mapping[str, Any]) -> NoReturn:
    sys.exit(3)


def _is_killed(request: Mapping[str, Any]) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _hangs(request: Mapping[str, Any]) -> NoReturn:
    while True:
        time.sleep(3600)


def _stops(request: Mapping[str, Any]) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSTOP)
    raise AssertionError


def _grows(request: Mapping[str, Any]) -> Document:
    kept = bytearray(64 << 30)
    return {"kept": len(kept)}


def _is_no_number(request: Mapping[str, Any]) -> Document:
    return {**Fakes().recommend(request), "predictions": {"qps": {"median": float("nan")}}}


def _talks(request: Mapping[str, Any]) -> Document:
    print('{"result": {}}', flush=True)
    sys.stdout.write('{"result": {}}\n' * 10)
    return Fakes().recommend(request)


def _talks_too_much(request: Mapping[str, Any]) -> Document:
    return {"configuration": "x" * (33 << 20)}


def _tells_its_environment(request: Mapping[str, Any]) -> Document:
    return {"environment": sorted(os.environ)}


def _forks(request: Mapping[str, Any]) -> NoReturn:
    child = os.fork()
    if child:
        Path(request["told"]).write_text(str(child))
    _hangs(request)


ENDS, KILLED, HANGS, STOPS, GROWS, NO_NUMBER, TALKS, LONG, ENVIRONMENT, FORKS, EXITS = range(9001, 9012)
_ACTIONS: dict[int, Callable[[Mapping[str, Any]], Document]] = {
    ENDS: _ends,
    KILLED: _is_killed,
    HANGS: _hangs,
    STOPS: _stops,
    GROWS: _grows,
    NO_NUMBER: _is_no_number,
    TALKS: _talks,
    LONG: _talks_too_much,
    ENVIRONMENT: _tells_its_environment,
    FORKS: _forks,
    EXITS: _exits,
}
