from __future__ import annotations

import threading
from pathlib import Path

import pytest
from lutra_agent.reporting.spool import KEPT_ASIDE, Spool, SpoolLimits


def fill(spool: Spool, count: int) -> list[int]:
    return [spool.append(lambda sequence: f"report {sequence}".encode()) for _ in range(count)]


def texts(spool: Spool) -> list[bytes | None]:
    return [spool.read(sequence) for sequence in spool.waiting()]


def sent(spool: Spool) -> None:
    for sequence in spool.waiting():
        spool.accepted(sequence)


def test_what_was_accepted_is_gone_and_the_rest_waits_across_a_restart_of_the_agent(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 5)
    for sequence in (0, 1):
        spool.accepted(sequence)
    again = Spool(tmp_path)
    fill(again, 1)
    assert texts(again) == [f"report {i}".encode() for i in (2, 3, 4, 5)]


def test_the_epoch_and_the_numbering_survive_a_restart_and_a_reinstalled_agent_starts_anew(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "one")
    assert fill(spool, 3) == [0, 1, 2]
    sent(spool)
    again = Spool(tmp_path / "one")
    assert again.epoch == spool.epoch
    assert fill(again, 1) == [3]
    assert Spool(tmp_path / "two").epoch != spool.epoch


def test_a_refused_report_is_moved_aside_and_counted(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 3)
    spool.refuse(1)
    assert texts(spool) == [b"report 0", b"report 2"]
    assert [p.read_bytes() for p in (tmp_path / "refused").iterdir()] == [b"report 1"]
    assert (spool.refused, Spool(tmp_path).refused) == (1, 1)


def test_a_held_report_is_kept_across_a_restart_until_it_is_accepted_or_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 4)
    spool.hold(1)
    spool.hold(2)
    assert texts(spool) == [b"report 0", b"report 3"]
    again = Spool(tmp_path)
    assert (again.held(), again.read(1)) == ([1, 2], b"report 1")
    again.accepted(1)
    again.refuse(2)
    assert (again.held(), again.refused, again.dropped) == ([], 1, 0)
    assert fill(again, 1) == [4]


def test_a_number_that_only_a_held_report_bears_is_not_used_twice(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 3)
    spool.hold(2)
    (tmp_path / "spool.json").unlink()
    assert fill(Spool(tmp_path), 1) == [3]


def test_held_reports_are_bounded_and_the_oldest_counts_as_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    for sequence in fill(spool, KEPT_ASIDE + 3):
        spool.hold(sequence)
    assert (len(spool.held()), spool.held()[0], spool.dropped) == (KEPT_ASIDE, 3, 3)


def test_a_report_that_somebody_deleted_counts_as_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 3)
    next(tmp_path.glob("*1.json.gz")).unlink()
    assert texts(spool) == [b"report 0", None, b"report 2"]
    assert (len(spool), spool.dropped, Spool(tmp_path).dropped) == (2, 1, 1)


def test_what_was_dropped_while_it_was_sent_is_not_dropped_twice(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolLimits(reports=1))
    fill(spool, 1)
    assert spool.read(0) == b"report 0"
    fill(spool, 1)
    spool.accepted(0)
    assert (spool.read(0), spool.waiting(), spool.dropped) == (None, [1], 1)


def test_a_closed_spool_keeps_what_is_accepted_too_late(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 3)
    spool.close()
    spool.accepted(0)
    spool.refuse(1)
    spool.hold(2)
    assert Spool(tmp_path).waiting() == [0, 1, 2]


def test_reports_added_while_others_are_sent_are_neither_lost_nor_reordered(tmp_path: Path) -> None:
    spool, seen, full = Spool(tmp_path), list[bytes | None](), threading.Event()

    def send() -> None:
        while not full.is_set() or len(spool):
            for sequence in spool.waiting(7):
                seen.append(spool.read(sequence))
                spool.accepted(sequence)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        fill(spool, 60)
    finally:
        full.set()
        thread.join()
    assert seen == [f"report {i}".encode() for i in range(60)]
    assert Spool(tmp_path).dropped == 0


def test_a_full_spool_drops_the_oldest_first_and_says_how_many(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolLimits(reports=3))
    fill(spool, 5)
    assert spool.dropped == 2
    assert texts(spool) == [b"report 2", b"report 3", b"report 4"]


def test_a_spool_is_bounded_in_bytes_and_keeps_the_newest(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolLimits(bytes=20))
    fill(spool, 4)
    assert (len(spool), spool.dropped) == (2, 2)


def test_a_number_is_used_up_even_where_the_report_was_never_written(tmp_path: Path) -> None:
    spool = Spool(tmp_path)

    def broken(sequence: int) -> bytes:
        raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        spool.append(broken)
    assert fill(Spool(tmp_path), 1) == [1]
