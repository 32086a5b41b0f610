"""What an operator is told: sentences about what is proposed, what is not, and what was looked at."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.advice import LookedAt, Reason
from lutra_models.evidence import CURABLE, URGENT, Compared, Evidence, Ground, Move, TurnedDown
from lutra_models.gp.options import Live
from lutra_models.knobs import Configuration
from lutra_models.metrics import Objective

HEADLINES = 3
"""So many outages and dangers come before the verdict; further ones are notes."""
_NAMES = {"qps": "QPS", "tps": "TPS", "p99_ms": "p99 latency"}
_HOW = {
    "rejected": "was turned down",
    "left_out": "was left out of an approval",
    "rolled_back": "was rolled back",
    "reverted": "was undone by a guard",
    "refused": "was refused by the agent",
    "failed": "did not work on the server",
}
_GROUNDS = (
    ("fault", "symptoms"),
    ("rule", "rules for this hardware"),
    ("outlying", "values far outside of what serves it"),
)
_DURATIONS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def of_turned_down(turned_down: TurnedDown, name: str) -> str:
    why = f" ({turned_down.reason})" if turned_down.reason else ""
    day = turned_down.at.date().isoformat()
    return f"{name} {_HOW[turned_down.how]} on {day}{why}, and nothing that it depends on has changed since."


def of_undone(turned_down: TurnedDown) -> str:
    why = f" ({turned_down.reason})" if turned_down.reason else ""
    names = ", ".join(c.setting for c in turned_down.changes)
    return f"a guard undid this change of {names} on {turned_down.at.date().isoformat()}{why}"


def persisting(move: Move, times: int) -> str:
    return f"{move.setting} was moved {times} times for this, and it is still seen: {move.sentence}"


def left_for_later(moves: Sequence[Move]) -> list[str]:
    """What needs a restart and comes in a proposal of its own."""
    return [f"For the maintenance window, in a proposal of its own: {m.sentence}" for m in moves]


def of_evidence(evidence: Evidence | None, moves: Sequence[Move]) -> str:
    asked = set(moves)
    grounds = {f.ground for f in evidence.findings if asked & set(f.moves)} if evidence else set()
    names = [n for ground, n in _GROUNDS if ground in grounds]
    *first, last = names
    told = f"{', '.join(first)} and {last}" if first else last
    return f"{told[0].upper()}{told[1:]} speak for this."


def nothing(evidence: Evidence | None, options: Live) -> str:
    """The verdict where nothing is proposed: a symptom may be strong, and its cure not wanted or not allowed."""
    if not _strong(evidence, options, CURABLE):
        return "No setting is the cure." if _strong(evidence, options) else "Nothing is worth changing."
    return (
        "Nothing is proposed: what strong symptoms ask for is not allowed, was decided against or did not help, as the "
        "notes say."
    )


def returns(before: Configuration, after: Configuration, told: Compared) -> tuple[Reason, ...]:
    """Why known settings come back: what the current ones are against them at like load."""
    why = f"back to settings that this database ran under before. What came after them: {told.sentence}"
    return tuple(Reason(n, old, new, f"{n}: {why}") for n, (old, new) in before.changes_to(after).items())


def improved(before: Configuration, after: Configuration, objective: Objective, gain: float) -> tuple[Reason, ...]:
    """Why the model's own proposal is made: the least probable `gain`."""
    name = _NAMES.get(objective.metric, objective.metric)
    why = f"by what was measured under other values, {name} is probably at least {100 * gain:.0f} % better with it"
    return tuple(Reason(n, old, new, f"{n}: {why}.") for n, (old, new) in before.changes_to(after).items())


def looked_at(
    evidence: Evidence | None, verdict: str, options: Live, gain: float | None, told: Sequence[str]
) -> LookedAt:
    """What was looked at. Outages and dangers are the first sentences, then comes `verdict`; `gain` is what the model
    holds to be probable at least.
    """
    strong = _strong(evidence, options)
    urgent = _urgent(evidence)
    sentences = [
        *urgent[:HEADLINES],
        verdict,
        *_of_symptoms(evidence, strong),
        *_of_rules(evidence),
        *_of_model(gain, options),
    ]
    return LookedAt(
        sentence=" ".join(sentences),
        symptoms=evidence.evaluated if evidence else 0,
        shown=strong,
        rules=evidence.rules if evidence else 0,
        windows=evidence.windows if evidence else 0,
        seconds=evidence.seconds if evidence else 0.0,
        least_gain=options.least_gain,
        predicted_gain=gain,
        notes=tuple(dict.fromkeys((*urgent[HEADLINES:], *told))),
    )


def _urgent(evidence: Evidence | None) -> list[str]:
    """Each outage and danger, with what a person would execute."""
    found = (f for f in (evidence.findings if evidence else ()) if f.ground in URGENT)
    return [" ".join((f"{f.ground.capitalize()}: {f.sentence}", *f.statements)) for f in found]


def _strong(evidence: Evidence | None, options: Live, grounds: Sequence[Ground] = (*CURABLE, "elsewhere")) -> int:
    findings = evidence.findings if evidence else ()
    return sum(f.ground in grounds and f.strength >= options.least_strength for f in findings)


def _of_symptoms(evidence: Evidence | None, strong: int) -> list[str]:
    if evidence is None or not evidence.windows:
        return ["No window was measured under these settings yet: symptoms that read settings alone were evaluated."]
    found = "none is strong" if not strong else f"{strong} {'is' if strong == 1 else 'are'} strong"
    over = f"{_counted(evidence.windows, 'window')} ({_duration(evidence.seconds)})"
    return [f"{_counted(evidence.evaluated, 'symptom')} could be evaluated over {over}: {found}."]


def _of_rules(evidence: Evidence | None) -> list[str]:
    if evidence is None or not evidence.rules:
        return []
    asked, strange = (sum(f.ground == ground for f in evidence.findings) for ground in ("rule", "outlying"))
    compared = f"{_counted(evidence.rules, 'setting')} compared with the rules for this hardware"
    outside = [f"{_counted(strange, 'setting')} set far outside of what serves this hardware."] if strange else []
    if asked:
        theirs = "its" if asked == 1 else "their"
        return [f"{compared}: {asked} not set by anybody and far from {theirs} rule.", *outside]
    own = f", {len(evidence.deliberate)} of them set on purpose" if evidence.deliberate else ""
    return [f"{compared}{own}: none is to be changed for a rule alone.", *outside]


def _of_model(gain: float | None, options: Live) -> list[str]:
    if gain is None:
        return ["Too little was measured under other settings for the model to predict a gain."]
    bound = (
        f"({100 * options.probability:.0f} % probable; from {100 * options.least_gain:.0f} % on it would be proposed)"
    )
    return [f"The model sees no gain above {100 * max(gain, 0.0):.1f} % {bound}."] if gain < options.least_gain else []


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"


def _duration(seconds: float) -> str:
    size, unit = next(((s, u) for s, u in _DURATIONS if seconds >= s), _DURATIONS[-1])
    return f"{seconds / size:.3g} {unit}"
