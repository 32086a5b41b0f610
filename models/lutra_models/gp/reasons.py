"""The reasons for a recommendation's changes: one plain sentence per setting, with its share of the effect."""

from __future__ import annotations

from lutra_models.advice import FinalOrigin, Reason
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.knobs import Configuration, Value
from lutra_models.metrics import Objective

_NAMES = {"qps": "QPS", "tps": "TPS", "p99_ms": "p99 latency"}
_NOTICEABLE = 0.005
_WHY = {
    "rule_based": "as the rules for this hardware suggest",
    "repeat": "to repeat an earlier reading",
    "shorter": "to see whether fewer changes are as good",
    "reference": "to see whether the server has changed",
    "exploration": "as one of the trials whose only purpose is to learn",
}


def reasons(
    before: Configuration, after: Configuration, objective: Objective, snapshot: Snapshot | None, origin: str
) -> tuple[Reason, ...]:
    """A reason per setting that differs, those with the largest predicted effect first."""
    changes = before.changes_to(after)
    effects = _effects(after, {n: b for n, (b, _) in changes.items()}, objective, snapshot)
    out = [
        Reason(name, old, new, _sentence(name, old, new, objective, effects.get(name), origin), effects.get(name))
        for name, (old, new) in changes.items()
    ]
    return tuple(sorted(out, key=lambda r: -abs(r.effect or 0.0)))


def final_reasons(
    before: Configuration, after: Configuration, origin: FinalOrigin, baseline: Configuration | None = None
) -> tuple[Reason, ...]:
    """A reason per setting that a session's end changes; those that are as in `baseline` went back to it."""

    def why(name: str, value: Value) -> str:
        if origin == "baseline":
            return "back to the initial configuration: no trial is better by posterior"
        if baseline is not None and baseline.get(name) == value:
            return "back to its initial value: the gain does not need it"
        return "part of the best configuration by posterior"

    return tuple(Reason(name, old, new, why(name, new)) for name, (old, new) in before.changes_to(after).items())


def _effects(
    after: Configuration, back: dict[str, Value], objective: Objective, snapshot: Snapshot | None
) -> dict[str, float]:
    """Setting → relative change of the objective's median for the better, against that setting alone going back."""
    if snapshot is None or objective.metric not in snapshot.posteriors or not back:
        return {}
    rows = [after, *(after.replace({name: value}) for name, value in back.items())]
    medians = [p[objective.metric].median for p in snapshot.predict(rows)]
    here = medians[0]
    return {
        name: objective.gain(here - there) / abs(there)
        for name, there in zip(back, medians[1:], strict=True)
        if there != 0
    }


def _sentence(name: str, old: Value, new: Value, objective: Objective, effect: float | None, origin: str) -> str:
    what = _move(name, old, new)
    why = _WHY.get(origin, "to learn its effect")
    if effect is None:
        return f"{what} {why}; there are no measurements of it yet."
    metric = _NAMES.get(objective.metric, objective.metric)
    if abs(effect) < _NOTICEABLE:
        return f"{what} {why}; predicted to have no noticeable effect on {metric}."
    percent = f"{100 * abs(effect):.0f} %" if abs(effect) >= 0.02 else f"{100 * abs(effect):.1f} %"
    if effect < 0:
        return f"{what} {why}; predicted {percent} worse {metric} than leaving it, and not yet certain."
    more = "more" if objective.metric in ("qps", "tps") else "higher"
    better = more if objective.goal == "maximize" else "lower"
    return f"{what}: predicted {percent} {better} {metric} than leaving it."


def _move(name: str, old: Value, new: Value) -> str:
    if isinstance(old, str) or isinstance(new, str):
        return f"Set {name} to {new}"
    if new in (-1, 0) and old not in (-1, 0):
        return f"Set {name} to its special value {new}" if new == -1 else f"Set {name} to 0"
    return f"{'Raise' if new > old else 'Lower'} {name}"
