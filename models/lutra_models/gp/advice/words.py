"""Sentences for the operator: about the proposal, the changes left out, and the evidence examined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lutra_models.advice import Basis, Reason
from lutra_models.evidence import OF_THE_HOST, URGENT, Compared, Evidence, Finding, Ground, Move, TurnedDown
from lutra_models.gp.options import Live
from lutra_models.knobs import Configuration
from lutra_models.metrics import Objective

HEADLINES = 3
"""The most findings before the verdict, a line each; further ones are notes."""
LONGEST = 500
"""Letters of a headline; where its statements would make it longer, a note has them."""
LABELS: Mapping[Ground, str] = {
    "outage": "Outage",
    "danger": "Danger",
    "fault": "Fault",
    "elsewhere": "Outside the settings",
    "outlying": "Far out of range",
}
_NAMES = {"qps": "QPS", "tps": "TPS", "p99_ms": "p99 latency"}
_HOW = {
    "rejected": "was rejected",
    "left_out": "was left out of an approval",
    "rolled_back": "was rolled back",
    "reverted": "was undone by a guard",
    "refused": "was refused by the agent",
    "failed": "did not work on the server",
}
_DURATIONS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


def of_turned_down(turned_down: TurnedDown, name: str) -> str:
    why = f" ({turned_down.reason})" if turned_down.reason else ""
    day = turned_down.at.date().isoformat()
    return f"{name} {_HOW[turned_down.how]} on {day}{why}, and the circumstances have not changed since."


def of_undone(turned_down: TurnedDown) -> str:
    why = f" ({turned_down.reason})" if turned_down.reason else ""
    names = ", ".join(c.setting for c in turned_down.changes)
    return f"a guard undid this change of {names} on {turned_down.at.date().isoformat()}{why}"


def persisting(move: Move, times: int) -> str:
    return f"{move.setting} was moved {times} times for this, but the symptom persists: {move.sentence}"


def left_for_later(moves: Sequence[Move]) -> list[str]:
    """The changes that need a restart and come in a separate proposal."""
    return [f"For the maintenance window, in a separate recommendation: {m.sentence}" for m in moves]


def of_evidence(evidence: Evidence | None, moves: Sequence[Move], later: Sequence[Move] = ()) -> str:
    """The number of proposed changes and the reasons for them; and the cures that come `later`, with a restart."""
    of = _grounds(evidence, moves)
    ruled, strange = (sum(ground == wanted for ground in of.values()) for wanted in ("rule", "outlying"))
    cured = len(of) - ruled - strange
    told = [f"{_counted(cured, 'change')} to cure findings"] if cured else []
    told += [f"{_counted(strange, 'value')} far out of range corrected"] if strange else []
    told += [f"{_counted(ruled, 'change')} by rules for this hardware, without a finding"] if ruled else []
    *first, last = told
    proposed = f"Proposed: {', '.join(first)}, and {last}." if first else f"Proposed: {last}."
    waiting = [name for name, ground in _grounds(evidence, later).items() if ground not in OF_THE_HOST]
    if not waiting:
        return proposed
    return f"{proposed} Further cures need a restart and come in a separate recommendation: {', '.join(waiting)}."


def _grounds(evidence: Evidence | None, moves: Sequence[Move]) -> dict[str, Ground]:
    """By setting, the first ground that speaks for its move."""
    found: dict[str, Ground] = {}
    for finding in evidence.findings if evidence else ():
        for move in finding.moves:
            if move in moves:
                found.setdefault(move.setting, finding.ground)
    return found


def waiting_rules(names: Sequence[str]) -> str:
    """The sentence about rules while clients fail or wait in vain."""
    return f"Rules for this hardware wait until the outage is over: {', '.join(names)}."


def nothing(evidence: Evidence | None, options: Live) -> str:
    """The verdict if nothing is proposed: a person may have to cure the findings, or their cures may not be allowed."""
    found = strong(evidence, options)
    if not found:
        return "Nothing is worth changing."
    if any(move.after is not None or move.obstacle for f in found for move in f.moves):
        return (
            "No proposal: the changes that the findings call for are not allowed, were declined, or did not help "
            "(see notes)."
        )
    by_hand = any(f.statements for f in found)
    return "No setting that Lutra moves would cure this" + (": a person has to run the statements." if by_hand else ".")


def returns(before: Configuration, after: Configuration, told: Compared) -> tuple[Reason, ...]:
    """The reason for a return to known settings: their comparison with the current ones at comparable load."""
    why = (
        f"back to settings that this database ran under before. The current settings compared "
        f"with them: {told.sentence}"
    )
    return tuple(Reason(n, old, new, f"{n}: {why}") for n, (old, new) in before.changes_to(after).items())


def improved(before: Configuration, after: Configuration, objective: Objective, gain: float) -> tuple[Reason, ...]:
    """The reason for the model's own proposal: the smallest probable `gain`."""
    name = _NAMES.get(objective.metric, objective.metric)
    why = f"according to measurements under other values, it probably improves {name} by at least {100 * gain:.0f} %"
    return tuple(Reason(n, old, new, f"{n}: {why}.") for n, (old, new) in before.changes_to(after).items())


def basis(evidence: Evidence | None, verdict: str, options: Live, gain: float | None, told: Sequence[str]) -> Basis:
    """The examined evidence. Findings are the first lines, the most harmful first, then comes `verdict`. `gain` is the
    smallest gain that counts as probable.
    """
    found = strong(evidence, options)
    lines = [headline(f) for f in found]
    symptoms = sum(f.ground != "outlying" for f in found)
    sentences = [verdict, *_of_symptoms(evidence, symptoms), *_of_rules(evidence), *_of_model(evidence, gain, options)]
    return Basis(
        sentence="\n".join((*(line for line, _ in lines[:HEADLINES]), " ".join(sentences))),
        symptoms=evidence.evaluated if evidence else 0,
        shown=symptoms,
        rules=evidence.rules if evidence else 0,
        windows=evidence.windows if evidence else 0,
        seconds=evidence.seconds if evidence else 0.0,
        least_gain=options.least_gain,
        predicted_gain=gain,
        notes=tuple(
            dict.fromkeys((*(line for line, _ in lines[HEADLINES:]), *(rest for _, rest in lines if rest), *told))
        ),
    )


def strong(evidence: Evidence | None, options: Live) -> list[Finding]:
    """The findings in the first lines: outages and dangers however weak, and findings with a consequence."""
    findings = evidence.findings if evidence else ()
    return [f for f in findings if f.ground in LABELS and (f.ground in URGENT or f.strength >= options.least_strength)]


def headline(finding: Finding) -> tuple[str, str]:
    """The problem and the statements to execute, as a line; a note has the statements if the line is too long."""
    told = f"{LABELS[finding.ground]}: {finding.sentence}"
    whole = " ".join((told, *finding.statements))
    if len(whole) <= LONGEST:
        return whole, ""
    kept = told if len(told) <= LONGEST else f"{told[: LONGEST - 2].rstrip()} …"
    return kept, f"{finding.name}: {' '.join(finding.statements)}" if finding.statements else ""


def _of_symptoms(evidence: Evidence | None, shown: int) -> list[str]:
    if evidence is None or not evidence.windows:
        return ["No window has been measured under these settings yet: symptoms that need one were not judged."]
    found = "none is strong" if not shown else f"{shown} {'is' if shown == 1 else 'are'} strong"
    over = f"{_counted(evidence.windows, 'window')} ({_duration(evidence.seconds)})"
    return [f"{_counted(evidence.evaluated, 'symptom')} could be evaluated over {over}: {found}."]


def _of_rules(evidence: Evidence | None) -> list[str]:
    """Where no rule asks for anything. Those that do are among the changes or the notes."""
    if evidence is None or not evidence.rules or any(f.ground == "rule" for f in evidence.findings):
        return []
    compared = f"{_counted(evidence.rules, 'setting')} compared"
    own = f", {len(evidence.deliberate)} set on purpose" if evidence.deliberate else ""
    return [f"No rule for this hardware requires a change ({compared}{own})."]


def _of_model(evidence: Evidence | None, gain: float | None, options: Live) -> list[str]:
    if evidence is not None and evidence.unread:
        return [evidence.unread]
    if gain is None:
        return ["There are too few measurements under other settings for the model to predict a gain."]
    if gain >= options.least_gain:
        return []
    least, likely = 100 * options.least_gain, 100 * options.probability
    return [f"The model predicts no change with a gain of {least:.0f} % and a probability of {likely:.0f} %."]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number:,} {what}s"


def _duration(seconds: float) -> str:
    size, unit = next(((s, u) for s, u in _DURATIONS if seconds >= s), _DURATIONS[-1])
    return f"{seconds / size:.3g} {unit}"
