"""The next step on a live database: evidence, what was measured, or nothing; never merely to learn."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation, Refusal
from lutra_models.advice import Recommendation
from lutra_models.evidence import Change, Compared, Evidence, Finding, Ground, How, Move, TurnedDown, Verdict
from lutra_models.gp import fit, recommend
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.history import Window
from lutra_models.knobs import Value
from lutra_models.metrics import TAKEN
from lutra_models.serial import history_from_dict, history_to_dict

pytestmark = pytest.mark.slow

SPACE = KnobSpace(
    [
        Knob("wal", Number(512, 16384, log=True, integer=True)),
        Knob("timeout", Number(30, 3600, log=True, integer=True)),
        Knob("cost", Number(1.0, 8.0)),
        Knob("jit", Choice(("on", "off"))),
        Knob("pool", Number(128, 8192, log=True, integer=True), applies="restart"),
    ]
)
NOW = Configuration({"wal": 1024, "timeout": 300, "cost": 4.0, "jit": "on", "pool": 128})
P99 = Objective("p99_ms", "minimize")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def move(setting: str, after: Value, *, restart: bool = False, at: Configuration = NOW) -> Move:
    return Move(setting, at[setting], after, f"Move {setting} to {after}: so.", restart, "it costs something")


def finding(name: str, *moves: Move, strength: float = 0.9, ground: Ground = "fault") -> Finding:
    return Finding(name, ground, strength, f"{name} was seen.", tuple(m.setting for m in moves), moves)


def known(*findings: Finding, **more: Any) -> Evidence:
    said = {"version": "15", "memory_bytes": 2**33, "cores": 4.0, "evaluated": 30, "rules": 8, "windows": 60}
    return Evidence(**{**said, "seconds": 600.0, **more}, findings=findings)


def windows(at: Configuration, p99: float, count: int = 6, noise: float = 0.02, seed: int = 0) -> list[Observation]:
    rng, begins = np.random.default_rng([seed, int(p99 * 1000)]), NOON
    read = p99 * np.exp(noise * rng.standard_normal(count))
    times = [begins + timedelta(seconds=10 * i) for i in range(count + 1)]
    return [
        Observation(at, {"p99_ms": v}, window=Window(a, b)) for v, a, b in zip(read, times[:-1], times[1:], strict=True)
    ]


def history(evidence: Evidence | None, read: list[Observation] | None = None, **more: Any) -> History:
    space = more.pop("space", SPACE)
    arguments = {"current": NOW, "baseline": NOW, "evidence": evidence, **more}
    return History(space, P99, observations=windows(NOW, 10.0) if read is None else read, **arguments)


def advice(known_of: History, exploration: int = 0, **more: Any) -> Recommendation:
    return recommend(known_of, rng=np.random.default_rng(1), safe=True, exploration=exploration, **more)


def changed(given: Recommendation, at: Configuration = NOW) -> dict[str, Value]:
    return {name: after for name, (_, after) in at.changes_to(given.configuration).items()}


def turned_down(*changes: Change, how: How = "rejected", of: Evidence | None = None, why: str = "") -> TurnedDown:
    basis = (of or known()).basis(c.setting for c in changes)
    return TurnedDown(changes, how, NOON, basis, why)


RULES = tuple(finding(m.setting, m, strength=0.5, ground="rule") for m in (move("cost", 1.1), move("jit", "off")))
POOL = finding("pool", move("pool", 2048, restart=True), strength=0.5, ground="rule")
FORCED = finding("checkpoints_forced", move("wal", 4096), move("timeout", 900))


def test_the_first_proposal_is_all_that_is_plainly_wrong_with_a_reason_each() -> None:
    given = advice(history(known(FORCED, *RULES)))
    assert given.origin == "evidence"
    assert changed(given) == {"wal": 4096, "timeout": 900, "cost": 1.1, "jit": "off"}
    assert given.reasons[0].sentence == "Move wal to 4096: so."
    assert all(r.against == "it costs something" for r in given.reasons)


def test_a_value_that_somebody_set_far_outside_is_counted_by_itself() -> None:
    strange = finding("timeout", move("timeout", 900), strength=0.6, ground="outlying")
    given = advice(history(known(strange, *RULES)))
    assert changed(given) == {"timeout": 900, "cost": 1.1, "jit": "off"}
    assert given.basis is not None
    first, second = given.basis.sentence.split("\n")
    assert first == "Far out of range: timeout was seen."
    assert "Proposed: 1 value far out of range corrected, and 2 changes by rules for this hardware" in second
    assert "none is strong" in second, "of the symptoms"


def test_what_needs_a_restart_comes_by_itself_after_the_rest_and_is_told_before() -> None:
    first = advice(history(known(FORCED, POOL)))
    assert changed(first) == {"wal": 4096, "timeout": 900}
    assert first.basis is not None
    assert any("maintenance window" in s and "pool" in s for s in first.basis.notes)
    assert changed(advice(history(known(POOL)))) == {"pool": 2048}


def test_where_the_mode_forbids_a_restart_it_is_told_and_not_proposed() -> None:
    reloads = KnobSpace([k for k in SPACE if k.applies == "reload"])
    now = NOW.restrict(reloads.names)
    read = windows(now, 10.0)
    given = advice(history(known(POOL), read, space=reloads, current=now, baseline=now))
    assert given.origin == "nothing"
    assert given.basis is not None
    assert any("restart" in s and "pool" in s for s in given.basis.notes)


def test_later_one_symptom_moves_at_a_time_the_strongest_first() -> None:
    moved = NOW.replace({"jit": "off"})
    read = [*windows(NOW, 10.0), *windows(moved, 10.0)]
    costs = finding("costs", move("cost", 1.1), strength=0.6)
    given = advice(history(known(FORCED, costs), read, current=moved))
    assert changed(given, moved) == {"wal": 4096, "timeout": 900}


def notes(given: Recommendation) -> str:
    assert given.basis is not None
    return " ".join(given.basis.notes)


def test_where_nothing_of_the_strongest_symptom_may_be_proposed_the_next_one_is_and_it_says_why() -> None:
    def full(configuration: Configuration) -> Refusal | None:
        return Refusal("memory_budget_exceeded", "the memory is full") if configuration["wal"] != 1024 else None

    moved = NOW.replace({"jit": "off"})
    read = [*windows(NOW, 10.0), *windows(moved, 10.0)]
    wal, costs = finding("forced", move("wal", 4096)), finding("costs", move("cost", 1.1), strength=0.6)
    last = finding("slow", move("timeout", 900), strength=0.5)
    given = advice(history(known(wal, costs, last), read, current=moved, space=KnobSpace(SPACE.knobs, [full])))
    assert changed(given, moved) == {"cost": 1.1}
    assert "Not proposed because the memory is full: Move wal to 4096" in notes(given)
    given = advice(history(known(wal, costs), read, current=moved), max_changes=1)
    assert changed(given, moved) == {}
    assert notes(given).count("at most 1 setting:") == 2


def test_where_this_database_objects_to_the_strongest_cure_the_next_one_is_proposed() -> None:
    harmed = NOW.replace({"wal": 4096})
    read = [*windows(NOW, 10.0), *windows(harmed, 20.0), *windows(NOW, 10.0, seed=1)]
    costs = finding("costs", move("cost", 1.1), strength=0.6)
    given = advice(history(known(finding("forced", move("wal", 4096)), costs), read))
    assert changed(given) == {"cost": 1.1}
    assert "Its cure is not proposed" in notes(given)
    less = finding("other", move("wal", 2048), strength=0.5)
    now = windows(NOW, 10.0)
    assert changed(advice(history(known(finding("forced", move("wal", 4096)), less), now))) == {"wal": 4096}


@pytest.mark.parametrize("why", ["did_not_start", "invalid_value: not in this version"])
def test_a_cure_under_which_the_server_would_not_run_is_not_proposed_again(why: str) -> None:
    failed = Observation.failed(NOW.replace({"pool": 2048}), why)
    again = known(replace(POOL, ground="fault"), replace(RULES[0], strength=0.5))
    read = [*windows(NOW, 10.0), failed, *windows(NOW, 10.0, seed=1)]
    given = advice(history(again, read))
    assert changed(given) == {"cost": 1.1}
    given = advice(history(known(POOL), read))
    assert given.origin == "nothing"
    assert f"a configuration with pool = 2048 failed here ({why})" in notes(given)


def test_a_cure_is_not_blamed_for_what_failed_otherwise_or_beside_it() -> None:
    larger = NOW.replace({"pool": 2048})
    read = windows(NOW, 10.0)
    assert changed(advice(history(known(POOL), [*read, Observation.failed(larger, "driver_failed")]))) == {"pool": 2048}
    beside = Observation.failed(larger.replace({"wal": 16384}), "did_not_start")
    ran = [*windows(larger, 10.0), beside, *read]
    assert changed(advice(history(known(POOL), ran))) == {"pool": 2048}
    other = Observation.failed(NOW.replace({"pool": 8192}), "did_not_start")
    assert changed(advice(history(known(POOL), [*read, other]))) == {"pool": 2048}


def test_a_weak_symptom_is_told_and_not_acted_on() -> None:
    given = advice(history(known(finding("weak", move("wal", 4096), strength=0.35))))
    assert given.origin == "nothing"
    assert given.basis is not None
    assert given.basis.notes == ("Seen weakly: weak was seen.",)


def test_what_no_setting_cures_and_what_is_enough_change_nothing() -> None:
    locks = Finding("row_locks", "elsewhere", 0.9, "Sessions wait for locks.")
    room = finding("roomy", move("pool", 256, restart=True), ground="enough")
    given = advice(history(known(locks, room)))
    assert (given.origin, given.configuration) == ("nothing", NOW)
    assert given.basis is not None
    assert given.basis.sentence.startswith(
        "Outside the settings: Sessions wait for locks.\nNo setting that Lutra moves would cure this."
    )
    assert given.basis.notes == ()


URGENT = (
    replace(finding("standby"), ground="outage", statements=("ALTER SYSTEM RESET synchronous_standby_names;",)),
    replace(finding("fsync", strength=0.3), ground="danger"),
)
LOCKS = Finding("row_locks", "elsewhere", 1.0, "Sessions wait for locks.")


def lines(given: Recommendation) -> list[str]:
    assert given.basis is not None
    return given.basis.sentence.split("\n")


def test_findings_are_the_first_lines_and_rules_come_after_them_and_are_called_rules() -> None:
    told = lines(advice(history(known(FORCED, LOCKS, *RULES))))
    assert told[:2] == ["Fault: checkpoints_forced was seen.", "Outside the settings: Sessions wait for locks."]
    assert told[2].startswith(
        "Proposed: 2 changes to cure findings, and 2 changes by rules for this hardware, without a finding. "
        "30 symptoms could be evaluated over 60 windows (10 min): 2 are strong."
    )
    assert "compared" not in " ".join(told)
    ruled = lines(advice(history(known(*RULES))))
    assert ruled[0].startswith("Proposed: 2 changes by rules for this hardware, without a finding.")


def test_during_an_outage_that_is_the_first_line_with_its_statement_and_rules_wait() -> None:
    given = advice(history(known(*URGENT, FORCED, *RULES)))
    assert lines(given)[:2] == [
        "Outage: standby was seen. ALTER SYSTEM RESET synchronous_standby_names;",
        "Danger: fsync was seen.",
    ]
    assert changed(given) == {"wal": 4096, "timeout": 900}
    assert "Rules for this hardware wait until the outage is over: cost, jit." in notes(given)
    assert "Rules for this hardware wait" not in notes(advice(history(known(URGENT[1], *RULES))))


def test_what_is_for_a_person_is_said_to_be() -> None:
    told = lines(advice(history(known(URGENT[0]))))
    assert told[1].startswith("No setting that Lutra moves would cure this: a person has to run the statements.")


def test_further_findings_are_notes_and_so_are_statements_that_no_line_holds() -> None:
    many = [replace(finding(f"danger_{i}"), ground="danger") for i in range(5)]
    given = advice(history(known(*many)))
    assert len(lines(given)) == 4
    assert notes(given) == "Danger: danger_3 was seen. Danger: danger_4 was seen."
    long = replace(URGENT[0], statements=tuple(f"ALTER SYSTEM SET enable_{i} = on;" for i in range(40)))
    told = advice(history(known(long)))
    assert lines(told)[0] == "Outage: standby was seen."
    assert notes(told).startswith("standby: ALTER SYSTEM SET enable_0 = on; ")


def test_where_the_objective_is_not_read_that_is_said_and_what_evidence_speaks_for_is_proposed() -> None:
    given = advice(history(known(FORCED, unread="p99_ms is not read: nothing was asked."), []))
    assert changed(given) == {"wal": 4096, "timeout": 900}
    assert lines(given)[-1].endswith("p99_ms is not read: nothing was asked.")
    assert "the model" not in lines(given)[-1].lower()


def test_with_nothing_to_change_it_says_what_it_looked_at() -> None:
    given = advice(history(known()))
    assert given.origin == "nothing"
    assert given.reasons == ()
    seen = given.basis
    assert seen is not None
    assert (seen.symptoms, seen.shown, seen.rules, seen.windows) == (30, 0, 8, 60)
    assert "30 symptoms could be evaluated over 60 windows (10 min): none is strong" in seen.sentence
    assert "Nothing is worth changing" in seen.sentence


def test_without_evidence_and_without_a_model_nothing_is_proposed() -> None:
    given = advice(history(None))
    assert given.origin == "nothing"


def test_what_was_turned_down_is_not_proposed_again_nor_farther_the_same_way() -> None:
    evidence = known(FORCED)
    no = turned_down(Change("wal", 1024, 2048), of=evidence, why="the disk is full")
    given = advice(history(evidence, turned_down=[no]))
    assert changed(given) == {"timeout": 900}
    assert given.basis is not None
    assert any("wal was rejected on 2026-03-01 (the disk is full)" in s for s in given.basis.notes)


def test_what_was_turned_down_is_proposed_again_once_what_it_depends_on_has_changed() -> None:
    no = turned_down(Change("wal", 1024, 4096), of=known(FORCED))
    for now in (known(FORCED, version="16"), known(FORCED, memory_bytes=2**35), known(FORCED, cores=8.0)):
        assert "wal" in changed(advice(history(now, turned_down=[no])))
    weak = turned_down(Change("wal", 1024, 4096), of=known(replace(FORCED, strength=0.5)))
    assert "wal" in changed(advice(history(known(FORCED), turned_down=[weak])))
    strong = turned_down(Change("wal", 1024, 4096), of=known(replace(FORCED, strength=1.0)))
    assert "wal" not in changed(advice(history(known(replace(FORCED, strength=0.5)), turned_down=[strong])))


@pytest.mark.parametrize("how", ["rolled_back", "reverted"])
def test_a_cure_that_was_taken_back_is_not_proposed_again_because_its_symptom_is_back(how: How) -> None:
    cured = turned_down(Change("wal", 1024, 4096), of=known(FORCED), how=how)
    assert "wal" not in changed(advice(history(known(FORCED), turned_down=[cured])))


def test_of_what_a_guard_undid_one_setting_may_move_for_a_fault_come_since_and_never_the_whole() -> None:
    costs = finding("costs", move("cost", 1.1), strength=0.9)
    both = turned_down(
        Change("wal", 1024, 4096), Change("cost", 4.0, 1.1), of=known(FORCED), how="reverted", why="p99 rose"
    )
    given = advice(history(known(FORCED, costs), turned_down=[both]))
    assert changed(given) == {"timeout": 900, "cost": 1.1}
    weak = turned_down(*both.changes, of=known(replace(FORCED, strength=0.5)), how="reverted", why="p99 rose")
    given = advice(history(known(FORCED, costs), turned_down=[weak]))
    assert changed(given) == {"wal": 4096, "timeout": 900}
    assert "a guard undid this change of wal, cost on 2026-03-01 (p99 rose)" in notes(given)
    moved = NOW.replace({"wal": 4096})
    read = [*windows(NOW, 10.0), *windows(moved, 10.0)]
    assert changed(advice(history(known(costs), read, current=moved, turned_down=[weak])), moved) == {}
    alone = turned_down(Change("wal", 1024, 4096), of=known(), how="reverted")
    assert "wal" not in changed(advice(history(known(FORCED), turned_down=[alone])))
    assert "wal" in changed(advice(history(known(FORCED, cores=8.0), turned_down=[alone])))


def test_the_other_way_was_not_turned_down() -> None:
    no = turned_down(Change("wal", 1024, 512), of=known(FORCED))
    assert changed(advice(history(known(FORCED), turned_down=[no])))["wal"] == 4096


def test_a_symptom_that_persists_is_acted_on_a_few_times_and_then_told() -> None:
    values = [NOW, *(NOW.replace({"wal": v}) for v in (2048, 4096, 8192))]
    for done in (1, 2, 3):
        at = values[done]
        read = [o for c in values[: done + 1] for o in windows(c, 10.0)]
        again = finding("checkpoints_forced", move("wal", 16384, at=at))
        given = advice(history(known(again), read, current=at))
        assert changed(given, at) == ({} if done == 3 else {"wal": 16384})
    assert given.basis is not None
    assert any("3 times" in s for s in given.basis.notes)


def test_a_cure_that_this_database_has_shown_to_harm_is_not_repeated() -> None:
    harmed = NOW.replace({"wal": 4096})
    read = [*windows(NOW, 10.0), *windows(harmed, 20.0), *windows(NOW, 10.0, seed=1)]
    given = advice(history(known(finding("checkpoints_forced", move("wal", 4096))), read))
    assert changed(given) == {}
    assert given.basis is not None
    told = "Its cure is not proposed: it was active before, and the current settings are better: p99_ms"
    assert told in notes(given)


def test_back_to_known_settings_is_no_experiment_and_mixed_with_none() -> None:
    worse = NOW.replace({"jit": "off"})
    read = [*windows(NOW, 10.0), *windows(worse, 20.0)]
    given = advice(history(known(finding("costs", move("cost", 1.1))), read, current=worse))
    assert given.origin == "return"
    assert given.configuration == NOW
    (reason,) = given.reasons
    assert "ran under before" in reason.sentence
    assert "% higher, worse (90 % interval: " in reason.sentence
    assert "by 6 windows against 6 before at comparable load" in reason.sentence


def swinging(at: Configuration, effect: float, rates: tuple[float, ...], seed: int = 0) -> list[Observation]:
    """Windows whose p99 grows with the offered rate."""
    rng = np.random.default_rng([seed, int(effect * 1000)])
    levels = [effect * (4.0 + (rate / 300.0) ** 2) * np.exp(0.02 * rng.standard_normal()) for rate in rates]
    times = [NOON + timedelta(seconds=10 * i) for i in range(len(rates) + 1)]
    return [
        Observation(at, {"p99_ms": level, "qps": rate}, window=Window(a, b))
        for level, rate, a, b in zip(levels, rates, times[:-1], times[1:], strict=True)
    ]


SWING = (300.0, 500.0, 800.0, 1200.0, 900.0, 600.0, 350.0, 1000.0, 1300.0, 400.0)
BUSY = (1200.0, 1300.0, 1250.0, 1100.0, 1280.0, 1150.0)


def test_a_load_that_rose_after_a_change_is_no_reason_to_return() -> None:
    moved = NOW.replace({"jit": "off"})
    read = [*swinging(NOW, 1.0, SWING), *swinging(moved, 1.0, BUSY)]
    assert advice(history(known(), read, current=moved)).origin == "nothing"
    lost = [*swinging(NOW, 1.0, SWING), *swinging(moved, 1.3, BUSY)]
    given = advice(history(known(), lost, current=moved))
    assert (given.origin, given.configuration) == ("return", NOW)
    hidden = [*swinging(NOW, 1.0, SWING), *swinging(moved, 1.3, (300.0, 350.0, 400.0, 320.0, 380.0, 450.0))]
    assert advice(history(known(), hidden, current=moved)).origin == "return"


def test_a_load_that_fell_with_a_setting_is_not_taken_for_that_settings_gain() -> None:
    costs = [NOW.replace({"cost": c}) for c in (4.0, 3.7, 3.4, 3.1, 2.8)]
    falls = [tuple(1400.0 * 0.85**i * share for share in (1.0, 1.02, 0.985, 1.01, 0.99, 1.005)) for i in range(5)]
    read = [o for i, (c, rates) in enumerate(zip(costs, falls, strict=True)) for o in swinging(c, 1.0, rates, seed=i)]
    given = advice(history(known(), read, current=costs[-1]))
    assert given.origin == "nothing"


def test_a_prediction_is_for_the_load_of_now_or_for_one_that_is_named_and_was_measured() -> None:
    moved = NOW.replace({"jit": "off"})
    read = [*swinging(NOW, 1.0, SWING, seed=3), *swinging(moved, 0.7, SWING[::-1], seed=4)]
    snapshot = fit(history(known(), read, current=moved), rng=np.random.default_rng(1)).snapshot
    again = Snapshot.from_dict(snapshot.to_dict())
    (now,) = again.predict([NOW])
    here = float(np.median([o.metrics["qps"] for o in read[-3:]]))
    assert now["p99_ms"].holds(4.0 + (here / 300.0) ** 2)
    widths = []
    for rate in (300.0, 600.0, 1200.0):
        told = again.at_rate(now, rate)
        assert set(told) == {"p99_ms"}
        assert told["p99_ms"].holds(4.0 + (rate / 300.0) ** 2), rate
        widths.append(np.log(told["p99_ms"].high / told["p99_ms"].low))
    assert min(widths) >= np.log(now["p99_ms"].high / now["p99_ms"].low)
    with pytest.raises(ValueError, match="qps 9000: measured were 300 to 1300"):
        again.at_rate(now, 9000.0)
    steady = fit(history(known()), rng=np.random.default_rng(1)).snapshot
    assert steady.at_rate(steady.predict([NOW])[0], 500.0) == {}


def compared(verdict: Verdict, *changes: Change) -> Compared:
    return Compared(changes, verdict, f"p99_ms moved, {verdict}.", 1.2)


def test_what_was_compared_over_more_windows_than_the_history_holds_decides() -> None:
    moved = NOW.replace({"jit": "off"})
    lost = compared("worse", Change("jit", "on", "off"))
    quiet = [*windows(NOW, 10.0), *windows(moved, 10.0)]
    given = advice(history(known(compared=(lost,)), quiet, current=moved))
    assert (given.origin, given.configuration) == ("return", NOW)
    assert "p99_ms moved, worse." in given.reasons[0].sentence
    none = replace(lost, verdict="no_difference_seen")
    loud = [*windows(NOW, 10.0), *windows(moved, 20.0)]
    assert advice(history(known(compared=(none,)), loud, current=moved)).origin == "nothing"
    elsewhere = compared("worse", Change("jit", "on", "off"), Change("unknown", 1, 2))
    assert advice(history(known(compared=(elsewhere,)), quiet, current=moved)).origin == "nothing"


def test_a_cure_back_to_what_the_current_settings_are_better_than_is_not_proposed() -> None:
    raised = NOW.replace({"wal": 4096})
    gained = compared("better", Change("wal", 1024, 4096))
    lower = finding("wal_large", move("wal", 1024, at=raised))
    read = [*windows(NOW, 10.0), *windows(raised, 10.0)]
    given = advice(history(known(lower, compared=(gained,)), read, current=raised))
    assert changed(given, raised) == {}
    assert "and the current settings are better: p99_ms moved, better." in notes(given)


def test_a_live_session_ends_on_nothing_that_lost_and_keeps_what_gained() -> None:
    moved = NOW.replace({"jit": "off"})
    rng = np.random.default_rng(1)
    read = [*swinging(NOW, 1.0, SWING), *swinging(moved, 1.0, BUSY)]
    gained = compared("better", Change("jit", "on", "off"))
    best = fit(history(known(compared=(gained,)), read, current=moved), rng=rng).best()
    assert (best.origin, best.configuration) == ("handover", moved)
    lost = replace(gained, verdict="worse")
    faster = [*swinging(NOW, 1.0, BUSY), *swinging(moved, 1.0, SWING)]
    assert fit(history(known(compared=(lost,)), faster, current=moved), rng=rng).best().configuration == NOW


def test_it_does_not_return_to_what_is_no_better_nor_to_what_was_turned_down() -> None:
    other = NOW.replace({"jit": "off"})
    alike = [*windows(NOW, 10.0), *windows(other, 10.1)]
    assert advice(history(known(), alike, current=other)).origin == "nothing"
    better = [*windows(NOW, 10.0), *windows(other, 5.0)]
    no = turned_down(Change("jit", "on", "off"))
    assert advice(history(known(), better)).origin == "return"
    assert advice(history(known(), better, turned_down=[no])).configuration != other


def test_the_models_own_proposal_needs_a_gain_that_is_probable() -> None:
    given = improving()
    assert given.origin == "improvement"
    assert changed(given, WIDER).keys() == {"cost"}
    assert "probably improves" in given.reasons[0].sentence
    costs = [NOW.replace({"cost": c}) for c in COSTS]
    flat = [o for i, c in enumerate(costs) for o in windows(c, 10.0, seed=i)]
    told = advice(history(known(), flat, current=costs[-1]))
    assert told.origin == "nothing"
    assert told.basis is not None
    assert told.basis.predicted_gain is not None
    assert "The model predicts no change with a gain of 5 % and a probability of 90 %." in told.basis.sentence


COSTS = (4.0, 3.7, 3.4, 3.1, 2.8)
WIDER = NOW.replace({"wal": 2048})
"""Current, and not to go back to what cheaper costs were measured with."""


def improving(then: dict[str, float] | None = None, now: dict[str, float] | None = None) -> Recommendation:
    """p99 fell with each cheaper cost; `then` and `now` are what those windows and the current ones show beside it."""
    falling = [o for i, c in enumerate(COSTS) for o in windows(NOW.replace({"cost": c}), 10.0 * 0.8**i)]
    read = [replace(o, metrics={**o.metrics, **(then or {})}) for o in falling]
    newest = [replace(o, window=later(o.window)) for o in windows(WIDER, 10.0)]
    read += [replace(o, metrics={**o.metrics, **(now or {})}) for o in newest]
    no = turned_down(Change("wal", 2048, 1024))
    return advice(history(known(), read, current=WIDER, turned_down=[no]))


def later(window: Window | None) -> Window:
    assert window is not None
    return Window(window.start + timedelta(hours=1), window.end + timedelta(hours=1))


def test_no_improvement_is_told_of_a_value_that_was_never_measured() -> None:
    """However steeply it fell until there."""
    assert float(improving().configuration["cost"]) >= min(COSTS)
    costs = [NOW.replace({"cost": c}) for c in COSTS]
    falling = [o for i, c in enumerate(costs) for o in windows(c, 10.0 * 0.8**i)]
    given = advice(history(known(), falling, current=costs[-1]))
    assert given.origin == "nothing"
    assert given.basis is not None
    assert given.basis.predicted_gain == 0.0


@pytest.mark.parametrize(
    ("then", "now", "origin"),
    [
        ({"qps": 40.0}, {"qps": 42.0}, "improvement"),
        ({"qps": 40.0}, {"qps": 0.0}, "nothing"),
        ({"qps": 0.0}, {"qps": 0.0}, "nothing"),
        ({"qps": 40.0}, {"qps": 90.0}, "nothing"),
        ({TAKEN: 0.8}, {TAKEN: 0.8}, "improvement"),
        ({TAKEN: 0.8}, {TAKEN: 0.1}, "nothing"),
    ],
    ids=["like load", "idle now", "always idle", "another load", "the same neighbours", "neighbours that went"],
)
def test_an_improvement_rests_on_windows_under_the_load_and_the_neighbours_of_now(
    then: dict[str, float], now: dict[str, float], origin: str
) -> None:
    assert improving(then, now).origin == origin


def test_of_an_idle_database_nothing_is_known() -> None:
    other = NOW.replace({"jit": "off"})
    idle = [*windows(NOW, 0.0), *windows(other, 0.0)]
    assert advice(history(known(), idle, current=other)).origin == "nothing"


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_proposed_to_learn_without_a_budget_and_it_says_so_with_one(seed: int) -> None:
    read = [o for i in range(3) for o in windows(NOW, 10.0, seed=seed + i)]
    assert advice(history(known(), read)).origin == "nothing"
    given = advice(history(known(), read), exploration=2)
    assert given.origin == "exploration"
    assert all("trials whose only purpose is to learn" in r.sentence for r in given.reasons)


def test_what_a_rule_refuses_is_left_out_and_the_rest_stays() -> None:
    def full(configuration: Configuration) -> Refusal | None:
        return Refusal("memory_budget_exceeded", "too much") if float(configuration["wal"]) > 3000 else None

    given = advice(history(known(FORCED, *RULES), space=KnobSpace(SPACE.knobs, [full])))
    assert changed(given) == {"timeout": 900, "cost": 1.1, "jit": "off"}


def test_no_more_settings_change_than_the_session_allows() -> None:
    assert changed(advice(history(known(FORCED, *RULES)), max_changes=2)) == {"wal": 4096, "timeout": 900}


def test_evidence_and_what_was_turned_down_survive_as_a_document_and_make_another_question() -> None:
    no = turned_down(Change("wal", 1024, 4096), of=known(FORCED), why="no")
    lost = compared("worse", Change("wal", 1024, 4096))
    full = history(known(FORCED, POOL, compared=(lost,)), turned_down=[no])
    again = history_from_dict(history_to_dict(full))
    assert (again.evidence, again.turned_down) == (full.evidence, full.turned_down)
    assert again.key == full.key
    assert len({full.key, replace(full, turned_down=()).key, replace(full, evidence=None).key}) == 3
    assert replace(full, evidence=known(FORCED, POOL)).key != full.key


def test_a_document_of_an_earlier_version_has_neither() -> None:
    plain = history_to_dict(history(None))
    assert not {"evidence", "turned_down"} & plain.keys()
    assert history_from_dict(plain).evidence is None


def test_exploration_is_for_one_safe_recommendation_with_a_current_configuration() -> None:
    with pytest.raises(ValueError, match="safe"):
        recommend(history(known()), rng=np.random.default_rng(1), exploration=0)
    with pytest.raises(ValueError, match="current"):
        advice(history(known(), current=None, baseline=None))
