from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.errors import ServiceRefused, ServiceUnavailable
from lutra_agent.spool import Spool, SpoolLimits
from lutra_models.wire import Receipt


def fill(spool: Spool, count: int) -> list[int]:
    return [spool.append(lambda sequence: f"report {sequence}".encode()) for _ in range(count)]


class Service:
    """Accepts in order; `away` after so many, `refuses` some."""

    def __init__(self, away_after: int = 10**9, refuses: tuple[bytes, ...] = ()) -> None:
        self.accepted: list[bytes] = []
        self._away_after = away_after
        self._refuses = refuses

    def __call__(self, body: bytes) -> Receipt:
        if len(self.accepted) >= self._away_after:
            raise ServiceUnavailable("away")
        if body in self._refuses:
            raise ServiceRefused("never")
        self.accepted.append(body)
        return Receipt()


def test_reports_are_sent_in_order_and_once(tmp_path: Path) -> None:
    spool, service = Spool(tmp_path), Service()
    fill(spool, 12)
    assert spool.drain(service) is not None
    assert service.accepted == [f"report {i}".encode() for i in range(12)]
    assert len(spool) == 0
    assert spool.drain(service) is None


def test_what_could_not_be_sent_waits_across_a_restart_of_the_agent(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    fill(spool, 5)
    with pytest.raises(ServiceUnavailable):
        spool.drain(Service(away_after=2))
    again, service = Spool(tmp_path), Service()
    fill(again, 1)
    again.drain(service)
    assert service.accepted == [f"report {i}".encode() for i in (2, 3, 4, 5)]


def test_the_epoch_and_the_numbering_survive_a_restart_and_a_reinstalled_agent_starts_anew(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "one")
    assert fill(spool, 3) == [0, 1, 2]
    spool.drain(Service())
    again = Spool(tmp_path / "one")
    assert again.epoch == spool.epoch
    assert fill(again, 1) == [3]
    assert Spool(tmp_path / "two").epoch != spool.epoch


def test_a_permanent_refusal_is_moved_aside_and_counted_and_the_next_is_sent(tmp_path: Path) -> None:
    spool, service = Spool(tmp_path), Service(refuses=(b"report 1",))
    fill(spool, 3)
    spool.drain(service)
    assert service.accepted == [b"report 0", b"report 2"]
    assert spool.refused == 1
    assert [p.read_bytes() for p in (tmp_path / "refused").iterdir()] == [b"report 1"]
    assert Spool(tmp_path).refused == 1


def test_a_report_that_somebody_deleted_counts_as_dropped_and_the_next_is_sent(tmp_path: Path) -> None:
    spool, service = Spool(tmp_path), Service()
    fill(spool, 3)
    next(tmp_path.glob("*1.json.gz")).unlink()
    spool.drain(service)
    assert service.accepted == [b"report 0", b"report 2"]
    assert (len(spool), spool.dropped, Spool(tmp_path).dropped) == (0, 1, 1)


def test_a_full_spool_drops_the_oldest_first_and_says_how_many(tmp_path: Path) -> None:
    spool, service = Spool(tmp_path, SpoolLimits(reports=3)), Service()
    fill(spool, 5)
    assert spool.dropped == 2
    spool.drain(service)
    assert service.accepted == [b"report 2", b"report 3", b"report 4"]


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
