"""Configurations that this database ran under, from the agent's own disk, to which a directive may return.

A directive with `rollback` or `restore` is accepted as such only as far as its values are found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lutra_models.catalog import Change, LiveSettings
from lutra_models.errors import InvalidConfiguration
from lutra_models.knobs import Value

from lutra_agent.state.snapshot import BASELINE, LAST_KNOWN_GOOD, Snapshots, active_in, stored_snapshots
from lutra_agent.state.store import State

HISTORY = "history"
KEPT = 50
"""The number of configurations before changes."""

Active = Mapping[str, str]
"""Setting → the text of its active value."""


@dataclass(frozen=True)
class PastConfigurations:
    """What the agent's own disk has: `configurations` that the database ran under, newest first.

    `lasting` are the last-known-good and the baseline alone; `watched` are the settings of a change that the guards
    still watch, confirmed or not.
    """

    configurations: Sequence[Active] = ()
    lasting: Sequence[Active] = ()
    watched: tuple[str, ...] = ()

    @classmethod
    def of(cls, state: State, lab: bool, watched: tuple[str, ...]) -> PastConfigurations:
        return cls(configurations(state, lab), snapshots(state, LAST_KNOWN_GOOD, BASELINE), watched)


def remember(state: State, active: Active, lab: bool) -> None:
    """Store the configuration that was active before a change. A lab's trials count only in a lab."""
    entry = {"active": dict(active), "lab": lab}
    others = [e for e in _history(state) if e != entry]
    state.save(HISTORY, [*others, entry][-KEPT:])


def configurations(state: State, lab: bool) -> list[Active]:
    """The configurations, newest first: the last-known-good, those before each change, the baseline."""
    before = [e["active"] for e in reversed(_history(state)) if lab or not e["lab"]]
    return [*snapshots(state, LAST_KNOWN_GOOD), *before, *snapshots(state, BASELINE)]


def snapshots(state: State, *names: str) -> list[Active]:
    found: Iterable[Snapshots | None] = (stored_snapshots(state, name) for name in names)
    return [active_in(s) for s in found if s is not None]


def leads_to(live: LiveSettings, changes: Iterable[Change], active: Active) -> bool:
    """Whether each change gives its setting the value that it has in `active`."""
    return all(had_value(live, active, c.name, c.after) for c in changes)


def had_value(live: LiveSettings, active: Active, name: str, value: Value) -> bool:
    return name in active and values_of(live, active, (name,)).get(name) == value


def restored(live: LiveSettings, changes: Sequence[Change], active: Active, names: Iterable[str]) -> bool:
    """Whether all of `names` have the values of `active` once the changes are made."""
    after = {**live.values, **{c.name: c.after for c in changes}}
    return all(n in after and had_value(live, active, n, after[n]) for n in names)


def values_of(live: LiveSettings, active: Active, names: Iterable[str] | None = None) -> dict[str, Value]:
    """The values of a configuration, without those that this server no longer accepts."""
    found = {}
    for name in active if names is None else [n for n in names if n in active]:
        try:
            found[name] = live.parse(name, active[name])
        except InvalidConfiguration:
            continue
    return found


def _history(state: State) -> list[dict[str, Any]]:
    """Entries of any other shape are passed over."""
    kept = state.load(HISTORY)
    return [e for e in kept if isinstance(e, dict) and {"active", "lab"} <= e.keys()] if isinstance(kept, list) else []
