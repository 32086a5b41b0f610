"""Training the memory: each workload is fitted once, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_client.commands.program import main
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.errors import FitFailed
from lutra_models.gp.options import DEFAULT
from lutra_service.app.jobs import training, workload_jobs
from lutra_service.app.jobs.training import Trained
from lutra_service.app.workloads import choose, lessons
from lutra_service.common.settings import Settings
from lutra_service.db.schema import records
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store, utc_now
from lutra_service.workers.protocol import NoWorker

from tests.support.service.hosted import Document, Fakes, a_model, fake_executor
from tests.support.waiting import PATIENCE_S

HOUR = timedelta(hours=1)
SPACE = KnobSpace([Knob("work_mem", Number(64, 65536, unit="kB", log=True, integer=True))])


class Learning(Fakes):
    """Counts what it is asked to fit; from the `until`-th on nothing can compute."""

    def __init__(self, until: int = 1000, error: type[Exception] = NoWorker) -> None:
        self.until, self.error = until, error
        self.fitted: list[float] = []

    def learn(self, request: Mapping[str, Any]) -> Document:
        if len(self.fitted) >= self.until:
            raise self.error("the machine went away")
        self.fitted.append(request["history"]["observations"][0]["metrics"]["qps"])
        return {"snapshot": a_model(request)}


def history(qps: float) -> History:
    seen = [Observation({"work_mem": 1024 * (i + 1)}, {"qps": qps + i}) for i in range(3)]
    return History(SPACE, Objective("qps", "maximize"), observations=seen)


def imported(store: Store, *levels: float) -> list[str]:
    return [
        store.write(partial(lambda q, u: lessons.imported(u, history(q), "postgresql", f"set {q}")[0], level))
        for level in levels
    ]


def train(store: Store, fakes: Fakes, workers: int = 1) -> Trained:
    settings = Settings(workers=workers, sweep_s=0.05)
    return training.train(store, settings, threading.Event(), lambda _: None, fake_executor(fakes))


def test_each_data_set_is_kept_once_and_fitted_once(store: Store) -> None:
    assert len(set(imported(store, 100.0, 200.0, 300.0, 100.0))) == 3
    fakes = Learning()
    trained = train(store, fakes, workers=2)
    assert (trained.ends, trained.known, sorted(fakes.fitted)) == ({"fitted": 3}, 0, [100.0, 200.0, 300.0])
    again = train(store, fakes)
    assert (again.ends, again.known, len(fakes.fitted)) == ({}, 3, 3)
    imported(store, 400.0)
    assert train(store, fakes).ends == {"fitted": 1}
    assert fakes.fitted[3:] == [400.0]


def test_a_training_that_ended_halfway_is_gone_on_with(store: Store) -> None:
    imported(store, *(100.0 * i for i in range(1, 7)))
    with pytest.raises(NoWorker, match="the machine went away"):
        train(store, first := Learning(until=3))
    assert train(store, second := Learning()).ends == {"fitted": 3}
    assert sorted(first.fitted + second.fitted) == [100.0 * i for i in range(1, 7)]


def test_what_somebody_else_fits_is_left_to_them_until_their_lease_ends(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "WAIT_S", 0.01)
    (id_,) = imported(store, 100.0)
    store.write(workload_jobs.queue)
    assert store.write(lambda u: u.jobs.claim(id_, "somebody", u.now, u.now + HOUR))
    ends: list[Trained] = []
    thread = threading.Thread(target=lambda: ends.append(train(store, Learning())))
    thread.start()
    later = Store(make_engine(url), clock=lambda: utc_now() + 2 * HOUR)
    assert train(later, Learning()).ends == {"fitted": 1}
    thread.join(PATIENCE_S)
    assert [trained.ends for trained in ends] == [{}]
    later.close()


def test_two_processes_that_train_fit_each_workload_once(store: Store, url: str) -> None:
    levels = [100.0 * i for i in range(1, 13)]
    imported(store, *levels)
    one, other, elsewhere = Learning(), Learning(), Store(make_engine(url))
    thread = threading.Thread(target=lambda: train(elsewhere, other))
    thread.start()
    train(store, one)
    thread.join(PATIENCE_S)
    assert sorted(one.fitted + other.fitted) == levels
    elsewhere.close()


def test_what_is_fitted_meanwhile_or_deleted_is_not_fitted_again(store: Store) -> None:
    ids = imported(store, 100.0, 200.0, 300.0)
    store.write(workload_jobs.queue)
    want = store.read(workload_jobs._fitted_as_now)
    store.write(lambda u: u.workloads.learn(ids[0], u.now, fitted_with=want))
    store.write(lambda u: u.workloads._delete(u.workloads.table.c.id == ids[1]))
    assert train(store, fakes := Learning()).ends == {"fitted": 1}
    assert fakes.fitted == [300.0]


def test_what_cannot_be_fitted_says_why_and_is_not_tried_again(store: Store) -> None:
    (id_,) = imported(store, 100.0)
    assert train(store, Learning(until=0, error=FitFailed)).ends == {"failed": 1}
    row = store.read(lambda u: u.workloads.get(id_))
    assert (row.error, row.taught) == ("ComputationFailed: the machine went away", None)
    assert train(store, Learning()).ends == {}


class Wrong(Fakes):
    def learn(self, request: Mapping[str, Any]) -> Document:
        model = a_model(request)
        model["knobs"][0]["name"] = "fsync"
        return {"snapshot": model}


def test_a_model_of_settings_that_nobody_asked_about_is_no_answer(store: Store) -> None:
    (id_,) = imported(store, 100.0)
    assert train(store, Wrong()).ends == {"failed": 1}
    error = store.read(lambda u: u.workloads.get(id_)).error
    assert error is not None
    assert "settings that were not requested: fsync" in error


def database(store: Store, name: str, engine: str = "postgresql", past: str = "label") -> records.Database:
    made = records.Database(f"db_{name}", name, engine, {"past": past}, utc_now())
    return store.write(lambda u: u.databases.add(made))


def leant_on(store: Store, asking: records.Database) -> int:
    return len(store.read(lambda u: choose.likeliest(u, asking, "ts_none", history(150.0), DEFAULT)))


def test_what_was_imported_is_leant_on_by_every_database_of_the_engine_that_learns_from_others(store: Store) -> None:
    imported(store, 100.0, 200.0)
    one, other, closed = (
        database(store, "one"),
        database(store, "other", engine="mysql"),
        database(store, "closed", past="none"),
    )
    assert leant_on(store, one) == 0, "it was not trained yet"
    train(store, Learning())
    assert [leant_on(store, d) for d in (one, other, closed)] == [2, 0, 0]


def test_another_process_sees_what_was_trained_and_what_is_gone(store: Store, url: str) -> None:
    one, elsewhere = database(store, "one"), Store(make_engine(url))
    ids = imported(store, 100.0, 200.0)
    assert leant_on(elsewhere, one) == 0
    train(store, Learning())
    assert leant_on(elsewhere, one) == 2
    store.write(lambda u: u.workloads.learn(ids[0], u.now, merged_into=ids[1]))
    assert leant_on(elsewhere, one) == 1
    elsewhere.close()


class Undone(Exception):
    pass


def test_what_was_never_committed_is_leant_on_by_nobody(store: Store) -> None:
    one = database(store, "one")
    imported(store, 100.0)
    train(store, Learning())

    def ghost(u: Any) -> None:
        row = u.workloads.page(limit=1)[0]
        u.workloads.add(replace(row, id="wl_zzz", key="other", changed_at=u.now))
        assert len(choose.likeliest(u, one, "ts_none", history(150.0), DEFAULT)) == 2
        raise Undone

    with pytest.raises(Undone):
        store.write(ghost)
    assert leant_on(store, one) == 1


@pytest.mark.slow
def test_an_operator_trains_by_a_command_with_real_models(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = database(store, "one")
    imported(store, 100.0, 200.0)
    monkeypatch.setenv("LUTRA_DATABASE_URL", url)
    told = CliRunner().invoke(main, ["train", "--workers", "1"])
    assert told.output.splitlines()[-1].startswith("2 fitted, 0 taught nothing, 0 failed; 0 known")
    assert leant_on(store, one) == 2
    again = CliRunner().invoke(main, ["train"])
    assert again.output.splitlines()[-1].startswith("0 fitted, 0 taught nothing, 0 failed; 2 known")


def test_who_may_see_few_of_the_likeliest_is_given_the_likeliest_that_it_may_see(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = database(store, "closed", past="none")
    monkeypatch.setattr(choose, "LOOKED_AT", 2)
    own, *_ = imported(store, 100.0, 200.0, 300.0, 400.0)
    train(store, Learning())
    store.write(lambda u: u.workloads.learn(own, u.now, database_id=closed.id))
    mine = store.read(lambda u: u.workloads.get(own)).snapshot_id
    assert [
        r.snapshot_id for r in store.read(lambda u: choose.likeliest(u, closed, "ts_none", history(150.0), DEFAULT))
    ] == [mine]


def test_what_the_memory_uses_stays_and_what_it_has_no_room_for_goes(store: Store) -> None:
    one = database(store, "one")
    ids = imported(store, 100.0, 200.0, 300.0)
    train(store, Learning())
    for id_ in ids:
        store.write(partial(lambda i, u: u.workloads.learn(i, u.now, database_id=one.id), id_))
    later = utc_now() + timedelta(days=1)
    assert store.write(lambda u: u.retention.delete_snapshots(later, 1)) == 0
    assert store.write(lambda u: u.retention.delete_surplus_workloads(one.id, 2)) == 1
    assert store.write(lambda u: u.retention.delete_snapshots(later, 1)) == 1
    assert leant_on(store, one) == 2
