"""The evidence's changes as one proposal: first those without a restart; those that need one come separately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lutra_models.errors import Failure
from lutra_models.evidence import OF_THE_HOST, Evidence, Finding, Move, objection, undone, way
from lutra_models.gp.advice.words import left_for_later, of_turned_down, of_undone, persisting, strong, waiting_rules
from lutra_models.gp.options import Live
from lutra_models.gp.search.initial_design import legal
from lutra_models.history import History
from lutra_models.knobs import Configuration

Objects = Callable[[Configuration], str | None]
"""The reason, learned from this database, why a configuration is not proposed; None if nothing is known against it."""
Group = tuple[Finding, tuple[Move, ...]]


@dataclass(frozen=True)
class Evident:
    """The configuration that evidence recommends and its moves, or None and none; and further information for the
    operator. `later` are the moves that come in a separate proposal, because they need a restart.
    """

    configuration: Configuration | None
    moves: tuple[Move, ...]
    told: tuple[str, ...]
    later: tuple[Move, ...] = ()


def evident(
    history: History, evidence: Evidence, current: Configuration, most: int | None, objects: Objects, options: Live
) -> Evident:
    """The first proposal of a session corrects everything that is plainly wrong; later ones take one symptom at a time.

    Moves of one symptom are made together. Moves that need a restart are gathered into one proposal, after the rest. A
    move that may not be proposed is reported with the reason, and the next in strength takes its place.
    """
    told, groups = _open(history, evidence, current, options)
    for restart in (False, True):
        at, moves, leading = current, list[Move](), None
        for finding, asked in _of_part(groups, restart):
            if leading is not None and not (restart or _first(history) or {finding.ground, leading} <= {*OF_THE_HOST}):
                break
            taken, blocked = _fitting(history, at, [m for m in asked if at[m.setting] == m.before], most)
            reached = at.replace({m.setting: m.after for m in taken})
            against = _failed_under(history, taken) or objects(reached) if taken else None
            told += blocked
            if against is not None:
                told.append(f"{finding.sentence} Its cure is not proposed: {against.rstrip('.')}.")
            elif taken:
                at, moves, leading = reached, [*moves, *taken], finding.ground
        if moves:
            later = {} if restart else {m.setting: m for _, asked in _of_part(groups[::-1], True) for m in asked}
            after = tuple(later.values())[::-1]
            return Evident(at, tuple(moves), (*told, *left_for_later(after)), after)
    return Evident(None, (), tuple(told))


def _first(history: History) -> bool:
    """Whether nothing but what the session began with was read yet."""
    began = history.reference
    return began is None or all(o.configuration == began for o in history.observations)


def _of_part(groups: Iterable[Group], restart: bool) -> list[Group]:
    found = ((f, tuple(m for m in moves if m.restart is restart)) for f, moves in groups)
    return [(f, moves) for f, moves in found if moves]


def _open(history: History, evidence: Evidence, current: Configuration, options: Live) -> tuple[list[str], list[Group]]:
    """What is told and not proposed, and the findings that speak for something, with what they may move."""
    told: list[str] = []
    weakly: list[str] = []
    groups: list[Group] = []
    ruled = [f for f in evidence.findings if f.ground == "rule" and f.strength >= options.least_strength]
    acted_on = [*strong(evidence, options), *ruled]
    outage = any(f.ground == "outage" for f in acted_on)
    waiting = [f.name for f in ruled] if outage else []
    for finding in evidence.findings:
        if finding.ground == "enough" or (finding.ground == "rule" and waiting):
            continue
        if finding not in acted_on:
            weakly.append(f"{'Note' if finding.ground == 'note' else 'Seen weakly'}: {finding.sentence}")
            continue
        moves: list[Move] = []
        for move in finding.moves:
            why_not = _why_not(history, evidence, current, move, options)
            if why_not:
                told.append(why_not)
            elif why_not is None and all(move.setting != m.setting for m in moves):
                moves.append(move)
        if moves:
            groups.append((finding, tuple(moves)))
    told += [waiting_rules(waiting)] if waiting else []
    return [*told, *weakly], groups


def _why_not(history: History, evidence: Evidence, current: Configuration, move: Move, options: Live) -> str | None:
    """Why a move is not proposed, empty if nobody need be told; None if it may be."""
    name = move.setting
    if move.after is None:
        return f"{move.sentence} No value can be offered for {name}: {move.obstacle}." if move.obstacle else ""
    if name not in history.space:
        needs = "it needs a restart, which is not allowed here" if move.restart else "it may not move here"
        return f"Not proposed because {needs}: {move.sentence}"
    if current[name] != move.before or move.after not in history.space[name].domain:
        return ""
    turned_down = objection(history.turned_down, evidence, name, move.before, move.after)
    if turned_down is not None:
        return of_turned_down(turned_down, name)
    if _steps(history, move) >= options.escalations:
        return persisting(move, options.escalations)
    return None


def _steps(history: History, move: Move) -> int:
    """How many values the setting has had since the first reading, on its way to where it is."""
    seen = [o.configuration[move.setting] for o in history.observations]
    if not seen or move.way == "set":
        return 0
    between = {v for v in seen if way(seen[0], v) == way(v, move.before) == move.way} | {move.before}
    return sum(v != seen[0] for v in between)


def _fitting(
    history: History, at: Configuration, wanted: Sequence[Move], most: int | None
) -> tuple[list[Move], list[str]]:
    """Those that the rules and the bound on changes allow, all of them together, else one after the other; and why the
    others are not proposed."""

    def obstacle(moves: Sequence[Move]) -> str | None:
        return _obstacle(history, at.replace({m.setting: m.after for m in moves}), most)

    if obstacle(wanted) is None:
        return list(wanted), []
    taken, told = list[Move](), list[str]()
    for move in wanted:
        against = obstacle([*taken, move])
        if against is None:
            taken.append(move)
        else:
            told.append(f"Not proposed because {against}: {move.sentence}")
    return taken, told


def _failed_under(history: History, moves: Sequence[Move]) -> str | None:
    """That the server would not run under the values that `moves` ask for, and never has; None if nothing says so.

    Of several cures that failed together nothing says which it was: none of them is tried once more.
    """
    tried = [o for o in history.observations if all(o.configuration[m.setting] == m.after for m in moves)]
    failed = [o.failure for o in tried if o.failure is not None and Failure.told(o.failure).code.did_not_take]
    if not failed or any(o.completed for o in tried):
        return None
    return f"a configuration with {', '.join(f'{m.setting} = {m.after}' for m in moves)} failed here ({failed[-1]})"


def _obstacle(history: History, reached: Configuration, most: int | None) -> str | None:
    """Which bound, guard or rule does not allow a configuration; None if all do."""
    began = history.reference
    if most is not None and began is not None and len(began.changes_to(reached)) > most:
        return f"this session changes at most {most} {'setting' if most == 1 else 'settings'}"
    again = undone(history.turned_down, history.evidence, history.current or {}, reached)
    if again is not None:
        return of_undone(again)
    if legal(history, reached):
        return None
    refusal = history.space.refusal(reached)
    outside = [f"{k.name} = {reached[k.name]}" for k in history.space if reached[k.name] not in k.domain]
    return refusal.message if refusal else f"{', '.join(outside)} is not allowed"
