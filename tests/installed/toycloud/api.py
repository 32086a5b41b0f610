"""The cloud's API, in memory. It takes a parameter at once, and gives it to the server seconds later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

DELAY_S = 20.0
DEFAULTS = {"cache": "256", "compress": "no", "workers": "4"}
WITH_A_RESTART = frozenset({"workers"})
"""Parameters that the server reads at its start alone."""


class ApiError(Exception):
    """What the API answers in place of a result."""


@dataclass
class Api:
    """`group` is what was asked for, `given` what has reached the server, and `active` what it runs with.

    Each modification is on its way for `DELAY_S` seconds of the clock `now_s`, whatever comes after it.
    """

    now_s: Callable[[], float]
    refuses: set[str] = field(default_factory=set)
    group: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    active: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    _under_way: list[tuple[float, str, str]] = field(default_factory=list)

    def modify(self, name: str, text: str | None) -> None:
        """Change a parameter; None resets it. Raises ApiError for a value of a parameter that it `refuses`."""
        if name not in DEFAULTS or (text is not None and name in self.refuses):
            raise ApiError(f"InvalidParameterValue: {name}")
        if text is None:
            self.group.pop(name, None)
        else:
            self.group[name] = text
        self._under_way.append((self.now_s() + DELAY_S, name, text or DEFAULTS[name]))

    def in_sync(self) -> bool:
        """Whether the server has been given all of the group."""
        self._deliver()
        return not self._under_way

    def describe(self) -> dict[str, tuple[str | None, str, bool]]:
        """By parameter the text in the group, the active value, and whether it waits for a restart."""
        self._deliver()
        return {n: (self.group.get(n), v, n in self.given and self.given[n] != v) for n, v in self.active.items()}

    def restarted(self) -> None:
        """The server has started with what it had been given by then."""
        self._deliver()
        self.active = dict(self.given)

    def _deliver(self) -> None:
        now = self.now_s()
        for _, name, text in (m for m in self._under_way if m[0] <= now):
            self.given[name] = text
            if name not in WITH_A_RESTART:
                self.active[name] = text
        self._under_way = [m for m in self._under_way if m[0] > now]
