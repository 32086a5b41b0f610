"""The findings about settings that are not active yet: from these settings alone, without any windows under them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lutra_models.catalog import LiveSettings, meet
from lutra_models.errors import InvalidConfiguration
from lutra_models.evidence import CURABLE
from lutra_models.knobs import Value
from lutra_models.server import Policy
from lutra_models.symptoms.diagnosis import Diagnosis, diagnose, scope_of
from lutra_models.symptoms.rows import SymptomRow, of_engine


def said_of(live: LiveSettings, policy: Policy, wanted: Mapping[str, Value]) -> tuple[str, ...]:
    """The outages, dangers and faults that would arise with the `wanted` values, the most harmful first.

    A finding that is already present is left out. For one that needs windows, the sentence describes their content if
    the settings alone decide whether it can occur.
    """
    changed = {n: v for n, v in wanted.items() if n in live.values and live.values[n] != v}
    if not changed:
        return ()
    then = _with(live, changed)
    shown = {s.name for s in diagnose(live, policy, ()).symptoms}
    diagnosed = diagnose(then, policy, ())
    new = [s for s in diagnosed.symptoms if s.kind in CURABLE and s.name not in shown]
    told = [s.sentence for s in new]
    return tuple(dict.fromkeys((*told, *_possible(live, then, policy, diagnosed, changed))))


def _possible(
    live: LiveSettings, then: LiveSettings, policy: Policy, diagnosed: Diagnosis, changed: Mapping[str, Value]
) -> Iterator[str]:
    """The meaning of symptoms that these settings make possible, and that nothing but windows can show."""
    before, after = scope_of(live, policy), scope_of(then, policy)
    for row in of_engine(live.server.engine):
        decided = row.given.names & changed.keys() and row.given.names <= live.values.keys()
        unseen = row.name in diagnosed.not_judged and row.kind in CURABLE
        if decided and unseen and _holds(row, after) and not _holds(row, before):
            yield row.meaning


def _holds(row: SymptomRow, scope: Mapping[str, object]) -> bool:
    try:
        return bool(row.given(scope))
    except InvalidConfiguration:
        return False


def _with(live: LiveSettings, changed: Mapping[str, Value]) -> LiveSettings:
    settings = live.server.settings
    made = {n: replace(settings[n], value=str(v), persisted=None) for n, v in changed.items()}
    return meet(replace(live.server, settings={**settings, **made}))
