"""The configuration that a session hands over, from the readings of its finalists; and the sentence about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_models.verification.contest import MARGIN, NAMES, STEADY, Contest, FinalistName, spread
from lutra_models.verification.gains import Gain

CALLED: Mapping[FinalistName, str] = {
    "best": "the best of the trials",
    "rule_based": "the rule-based start",
    "baseline": "the baseline",
}


MEASURED_AGAIN = " (in parentheses: three more rounds, with 90 %)"


@dataclass(frozen=True)
class Verdict:
    """The configuration to hand over, and the reason, in one sentence."""

    name: FinalistName
    sentence: str


def gains(contest: Contest, name: FinalistName) -> dict[FinalistName, Gain]:
    """The gain over each reference; without those that have no interval yet."""
    after = [n for n in NAMES[NAMES.index(name) + 1 :] if n in contest.by_name]
    told = {n: contest.compare(name, n).told(contest.objective.goal) for n in after}
    return {n: gain for n, gain in told.items() if gain is not None}


def gains_by_load(contest: Contest, name: FinalistName) -> dict[FinalistName, dict[str, Gain]]:
    """The gain over each reference under each load alone; empty without an aim."""
    loads = contest.aim.loads if contest.aim is not None else ()
    found: dict[FinalistName, dict[str, Gain]] = {}
    for other in gains(contest, name) if loads else ():
        told = {x: contest.compare_under(x, name, other).told(contest.objective.goal) for x in loads}
        found[other] = {x: gain for x, gain in told.items() if gain is not None}
    return found


def verdict(contest: Contest) -> Verdict | None:
    """None while more measurements are needed.

    The best, if it is certainly ahead of the rule-based start and of the baseline. It may also change fewer settings
    than the rule-based start and be certainly not worse by more than the margin. Otherwise the rule-based start, if it
    is certainly ahead of the baseline; otherwise the baseline.
    """
    if contest.turn() is not None:
        return None
    chosen = contest.chosen
    parts = [_handed_over(contest, chosen)]
    parts += [_passed_over(contest, n) for n in NAMES[: NAMES.index(chosen)] if n in contest.by_name]
    sentence = "; ".join(parts)
    return Verdict(chosen, f"{sentence}{MEASURED_AGAIN}" if "%)" in sentence else sentence)


def _handed_over(contest: Contest, chosen: FinalistName) -> str:
    if chosen == "baseline":
        alone = len(contest.finalists) == 1
        why = "there is no other finalist" if alone else "nothing is certainly better"
        return f"{CALLED[chosen]} stays: {why}"
    by_load = gains_by_load(contest, chosen)
    told = [f"{_percent(g)} over {CALLED[n]}{_each(by_load.get(n, {}))}" for n, g in gains(contest, chosen).items()]
    out = ((n, contest.out(n)) for n in NAMES[NAMES.index(chosen) + 1 :] if n in contest.by_name)
    told += [f"{CALLED[n]} {why}" for n, why in out if why is not None]
    told += filter(None, (_shorter(contest, chosen), _one_bad_round(contest, chosen)))
    return f"{CALLED[chosen]} wins: {_what(contest)} better by {', '.join(told)}"


def _what(contest: Contest) -> str:
    """What is better, in words."""
    aim = contest.aim
    if aim is None:
        return contest.objective.metric
    if len(aim.loads) == 1:
        return f"{aim.objective.metric} under {aim.loads[0]}"
    how = "under the worst of" if aim.over == "worst" else "over"
    return f"{aim.objective.metric} {how} {', '.join(aim.loads)}"


def _each(by_load: Mapping[str, Gain]) -> str:
    """The gains under each load, where there are several."""
    told = [f"{load} {_percent(gain)}" for load, gain in by_load.items()]
    return f" [{', '.join(told)}]" if len(told) > 1 else ""


def _shorter(contest: Contest, chosen: FinalistName) -> str | None:
    """What to say of a best that is handed over for being shorter."""
    if chosen != "best" or "rule_based" not in contest.references(chosen):
        return None
    if contest.compare(chosen, "rule_based").low > 0:
        return None
    own, other = contest.changes("best"), contest.changes("rule_based")
    return f"at most {MARGIN:.0%} worse than that, with {own} changed settings instead of {other}"


def _one_bad_round(contest: Contest, chosen: FinalistName) -> str | None:
    values = contest.by_name[chosen].values(contest.objective.metric)
    if spread(values) <= STEADY:
        return None
    return f"with readings from {min(values):,.4g} to {max(values):,.4g}"


def _passed_over(contest: Contest, name: FinalistName) -> str:
    out = contest.out(name)
    if out is not None:
        return f"{CALLED[name]} {out}"
    lost = [n for n in contest.references(name) if not contest.wins(name, n)]
    if not lost:
        return f"{CALLED[name]} was not measured often enough"
    found = contest.compare(name, lost[0])
    if found.low > 0:
        return _unreliable(contest, name, lost[0], found.rounds)
    gain = found.told(contest.objective.goal)
    told = "" if gain is None else f": {_percent(gain)}"
    return f"{CALLED[name]} is not certainly better than {CALLED[lost[0]]}{told}"


def _unreliable(contest: Contest, name: FinalistName, reference: FinalistName, rounds: int) -> str:
    own, other = (contest.relied_on(n, rounds) for n in (name, reference))
    return (
        f"{CALLED[name]} is not reliable: its readings differ by {spread(own):.0%}, and its worst reading is "
        f"{own[0]:,.4g}, while that of {CALLED[reference]} is {other[0]:,.4g}"
    )


def _percent(gain: Gain) -> str:
    return f"{gain.median:+.0%} ({gain.low:+.0%} to {gain.high:+.0%})"
