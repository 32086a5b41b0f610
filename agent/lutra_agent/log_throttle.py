"""Repeated failures are logged at their 1st, 10th, 100th time, so that a log stays readable."""

from __future__ import annotations

import logging
from collections import Counter


class LogThrottle:
    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._times: Counter[str] = Counter()

    def failed(self, what: str, error: object) -> None:
        self._times[what] += 1
        times = self._times[what]
        if times == 10 ** (len(str(times)) - 1):
            self._log.warning("%s failed (%d×): %s", what, times, error)

    def worked(self, what: str) -> None:
        times = self._times.pop(what, 0)
        if times:
            self._log.info("%s works again after %d failures", what, times)
