"""One queue of jobs, of whatever kind: who may compute one, and who may end it."""

from __future__ import annotations

from datetime import timedelta

from lutra_service.db.schema.records import Database, Job
from lutra_service.db.store import Store, utc_now

MINUTE = timedelta(minutes=1)


def queued(store: Store, *jobs: Job) -> None:
    store.write(lambda u: u.jobs.add_all(jobs))


def job(id_: str = "rec_1", database_id: str | None = None) -> Job:
    return Job(id_, "recommendation", utc_now(), database_id)


def claimed(store: Store, owner: str, id_: str = "rec_1") -> bool:
    return store.write(lambda u: u.jobs.claim(id_, owner, u.now, u.now + MINUTE))


def renewed(store: Store, owner: str, by: timedelta = MINUTE) -> set[str]:
    return store.write(lambda u: u.jobs.renew(owner, ["rec_1"], u.now + by))


def waiting(store: Store, *busy: str) -> list[str]:
    return [found.id for found in store.read(lambda u: u.jobs.waiting(("recommendation",), u.now, busy))]


def test_a_lease_is_one_owners_until_it_runs_out_and_then_only_the_next_one_ends_the_job(store: Store) -> None:
    queued(store, job())
    assert claimed(store, "one")
    assert not claimed(store, "other")
    assert renewed(store, "one", -MINUTE) == {"rec_1"}
    assert claimed(store, "other")
    assert renewed(store, "one") == set()
    assert not store.write(lambda u: u.jobs.end(job(), "one", u.now))
    assert store.write(lambda u: u.jobs.end(job(), "other", u.now))
    assert waiting(store) == []


def test_a_lease_that_ran_out_is_still_the_owners_to_renew_while_nobody_else_wants_it(store: Store) -> None:
    queued(store, job())
    assert claimed(store, "one")
    assert renewed(store, "one", -MINUTE) == renewed(store, "one") == {"rec_1"}
    assert not claimed(store, "other")


def test_a_lease_that_was_given_back_is_not_renewed(store: Store) -> None:
    """Whoever sweeps has read a moment ago what is held, and it may have ended since."""
    queued(store, job())
    assert claimed(store, "one")
    store.write(lambda u: u.jobs.release("rec_1", "one", 2))
    assert renewed(store, "one") == set()
    found = store.read(lambda u: u.jobs.get("rec_1"))
    assert (found.owner, found.lease_until, found.attempts) == (None, None, 2)


def test_a_cancelled_job_is_nobodys_to_renew_or_to_end(store: Store) -> None:
    queued(store, job())
    assert claimed(store, "one")
    store.write(lambda u: u.jobs.cancel(["rec_1"]))
    assert renewed(store, "one") == set()
    assert not store.write(lambda u: u.jobs.end(job(), "one", u.now))


def databases(store: Store, *ids: str) -> None:
    for id_ in ids:
        store.write(lambda u, i=id_: u.databases.add(Database(i, i, "postgresql", {}, u.now)))  # type: ignore[misc]


def test_jobs_of_one_database_come_one_after_another_and_others_need_not_wait(store: Store) -> None:
    databases(store, "db_a", "db_b")
    queued(store, job("rec_1", "db_a"), job("rec_2", "db_a"), job("rec_3", "db_b"), job("rec_4"), job("rec_5"))
    assert waiting(store) == ["rec_1", "rec_3", "rec_4", "rec_5"]
    assert waiting(store, "db_b") == ["rec_1", "rec_4", "rec_5"]
    assert claimed(store, "one")
    assert waiting(store) == ["rec_3", "rec_4", "rec_5"]
    assert store.read(lambda u: u.jobs.count("recommendation", u.now)) == (1, 4)


def test_databases_take_turns(store: Store) -> None:
    databases(store, *(f"db_{n}" for n in "abc"))
    queued(store, *(job(f"rec_{n}{i}", f"db_{n}") for n in "abc" for i in range(2)))
    order = []
    while found := waiting(store):
        order.append(found[0])
        done = store.read(lambda u: u.jobs.get(order[-1]))
        assert claimed(store, "one", done.id)
        assert store.write(lambda u, d=done: u.jobs.end(d, "one", u.now))  # type: ignore[misc]
    assert order == ["rec_a0", "rec_b0", "rec_c0", "rec_a1", "rec_b1", "rec_c1"]
