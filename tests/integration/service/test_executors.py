"""The real workers: processes that end, hang, grow or lie, and a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from lutra_service.common.settings import Settings
from lutra_service.workers.cluster import Cluster, cluster_worker
from lutra_service.workers.maker import make_worker
from lutra_service.workers.processes import WorkerProcess, local_worker
from lutra_service.workers.protocol import ComputationFailed, Limits, NoWorker, Worker, WorkerLost
from lutra_service.workers.worker_process import NICE

from tests.support.service import cluster as clusters
from tests.support.service import poison
from tests.support.service.hosted import Agent, Document, Service, running
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}
LIMITS = Limits(PATIENCE_S, 2 << 30)
SHORT_S = 1.0
POISON = "tests.support.service.poison"


@pytest.fixture(autouse=True)
def _findable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers' processes find the tests' own tasks."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def poisoned() -> Callable[[], Worker]:
    return lambda: local_worker(LIMITS, POISON)


class Impatient:
    """Waits a second for the answer to a session's request whose seed is `seed`, and patiently for every other one."""

    def __init__(self, seed: int) -> None:
        self._seed, self._worker = seed, local_worker(LIMITS, POISON)
        self._patient = self._worker._patience
        self._short = local_worker(Limits(SHORT_S, LIMITS.memory_bytes), POISON)._patience
        self.start, self.kill, self.close = self._worker.start, self._worker.kill, self._worker.close
        self.pause = self._worker.pause

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        self._worker._patience = self._short if payload["entropy"][0] == self._seed else self._patient
        return self._worker.run(task, payload)


def an_agent_in_a_session(service: Service, name: str = "shop", seed: int = 0) -> Agent:
    agent = service.agent(service.database(name), mode="reload_only")
    agent.observe()
    service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, "seed": seed})
    return agent


def asked(service: Service, agent: Agent) -> Document:
    found: Document = service.take("POST", f"/v1/databases/{agent.database}/recommendations")
    return found


def ended(service: Service, agent: Agent) -> Document:
    return settled(service, asked(service, agent))


def settled(service: Service, made: Document) -> Document:
    return service.until(f"/v1/recommendations/{made['id']}", lambda r: r["state"] != "computing")


def session_of(service: Service, agent: Agent) -> Document:
    (session,) = service.take("GET", f"/v1/databases/{agent.database}/sessions")["items"]
    found: Document = session
    return found


@pytest.mark.parametrize(("workers", "seed"), [(1, poison.ENDS), (2, poison.KILLED)], ids=["ends", "is killed"])
def test_a_computation_that_ends_its_process_fails_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, workers: int, seed: int
) -> None:
    with running(tmp_path, executor=poisoned(), workers=workers) as service:
        bad = an_agent_in_a_session(service, "bad", seed)
        sound = [an_agent_in_a_session(service, f"sound {n}") for n in range(4)]
        made = [asked(service, agent) for agent in (*sound[:2], bad, *sound[2:])]
        found = [settled(service, one) for one in made]
        assert [r["state"] for r in found] == ["proposed", "proposed", "failed", "proposed", "proposed"]
        assert "lost 3 times: its process" in found[2]["error"]
        lost = [record.args for record in caplog.records if record.msg == "%s was lost"]
        assert lost == [(found[2]["id"],)] * 3
        assert {session_of(service, agent)["state"] for agent in sound} == {"running"}
        assert session_of(service, bad)["state"] == "paused"


@pytest.mark.parametrize(
    ("seed", "hangs", "why"),
    [
        (poison.HANGS, True, "no answer within 1 s (LUTRA_FIT_TIMEOUT_S; a candidate: half of it)"),
        (poison.STOPS, True, "no answer within 1 s (LUTRA_FIT_TIMEOUT_S; a candidate: half of it)"),
        (poison.GROWS, False, "more memory than LUTRA_FIT_MEMORY_BYTES allows (a candidate: half of it)"),
        (poison.NO_NUMBER, False, "internal_error: the answer is not a plain document"),
        (poison.LONG, False, "its answer was longer than"),
        (poison.ENVIRONMENT, False, "invalid_answer"),
    ],
)
def test_one_that_hangs_grows_or_lies_fails_alone_and_its_worker_is_free_again(
    tmp_path: Path, seed: int, hangs: bool, why: str
) -> None:
    executor = (lambda: Impatient(seed)) if hangs else poisoned()
    with running(tmp_path, executor=executor, workers=1) as service:
        bad, sound = an_agent_in_a_session(service, "bad", seed), an_agent_in_a_session(service, "sound")
        failed = ended(service, bad)
        assert (failed["state"], why in failed["error"]) == ("failed", True), failed["error"]
        assert ended(service, sound)["state"] == "proposed"
        assert session_of(service, sound)["state"] == "running"


@pytest.mark.parametrize(
    ("seed", "why"),
    [(poison.EXITS, r"it ended its process: sys\.exit\(3\)"), (poison.ENDS, "its process ended with status 7")],
    ids=["sys.exit", "os._exit"],
)
def test_how_a_computation_ended_its_process_is_told(seed: int, why: str) -> None:
    worker = poisoned()()
    try:
        with pytest.raises(WorkerLost, match=why):
            worker.run("recommend", {"entropy": [seed]})
    finally:
        worker.close()


def test_what_was_installed_since_is_found_by_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, request = local_worker(LIMITS, POISON), {"entropy": [poison.ENVIRONMENT], "packages": {"any": {}}}
    try:
        worker.run("recommend", request)
        before = worker.pid
        worker.run("recommend", request)
        assert worker.pid == before
        package = tmp_path / "late.dist-info"
        package.mkdir()
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
        (package / "entry_points.txt").write_text("[lutra.surrogates]\nlate = late:Late\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        worker.run("recommend", {**request, "packages": {}})
        assert worker.pid == before, "what needs no package needs no new process"
        worker.run("recommend", request)
        assert worker.pid != before
    finally:
        worker.close()


def test_what_a_task_prints_is_no_answer() -> None:
    worker = poisoned()()
    try:
        with pytest.raises(ComputationFailed):  # the request is none; what was printed would have been an answer
            worker.run("recommend", {"entropy": [poison.TALKS]})
    finally:
        worker.close()


def test_a_worker_does_not_know_the_services_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUTRA_DATABASE_URL", "postgresql://lutra:secret@127.0.0.1/lutra")
    worker = poisoned()()
    try:
        found = worker.run("recommend", {"entropy": [poison.ENVIRONMENT]})["environment"]
        assert "PATH" in found
        assert not [name for name in found if name.startswith("LUTRA_")]
    finally:
        worker.close()


@contextmanager
def asked_of(worker: Worker, request: Document) -> Iterator[list[Exception]]:
    """What its one computation ends in, once it does; the worker is gone afterwards."""
    ended: list[Exception] = []

    def run() -> None:
        try:
            worker.run("recommend", request)
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ended
    finally:
        worker.close()
        thread.join()


def test_time_in_which_a_worker_is_paused_does_not_count() -> None:
    worker = local_worker(Limits(SHORT_S, LIMITS.memory_bytes), POISON)
    worker.start()
    worker.pause(True)
    worker.pause(False)
    assert worker.run("recommend", {"entropy": [poison.ENVIRONMENT]})
    worker.pause(True)
    with asked_of(worker, {"entropy": [poison.TALKS]}) as ended:
        began = time.monotonic()
        until(lambda: ended or time.monotonic() - began > 3 * SHORT_S)
        assert not ended
        worker.pause(False)
        until(lambda: ended)
    assert [type(error) for error in ended] == [ComputationFailed]  # it was computed: the request lacks its history


def test_what_a_computation_started_ends_with_it(tmp_path: Path) -> None:
    told = tmp_path / "child"
    worker = local_worker(LIMITS, POISON, warm=False, beside=True)
    with asked_of(worker, {"entropy": [poison.FORKS], "told": str(told)}) as ended:
        until(lambda: told.exists() and told.read_text())
        child = psutil.Process(int(told.read_text()))
        assert (child.nice(), Path(f"/proc/{child.pid}/oom_score_adj").read_text()) == (NICE, "1000\n")
        worker.kill()
        until(lambda: ended)
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_process_that_does_not_get_ready_is_nobodys_fault() -> None:
    worker = local_worker(LIMITS, "tests.support.no_such_module")
    with pytest.raises(NoWorker, match="ended with status 1"):
        worker.run("recommend", {})


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    made: list[WorkerProcess] = []

    def make() -> Worker:
        made.append(local_worker(LIMITS))
        return made[-1]

    with running(tmp_path, executor=make, workers=1) as service:
        agent = an_agent_in_a_session(service)
        until(lambda: made and made[0].pid)
        assert made[0].pid is not None
        os.kill(made[0].pid, signal.SIGKILL)
        assert ended(service, agent)["state"] == "proposed"


def test_no_process_is_left_behind(tmp_path: Path) -> None:
    before = set(psutil.Process().children(recursive=True))
    with running(tmp_path, executor=poisoned(), workers=2) as service:
        hanging, sound = an_agent_in_a_session(service, "a", poison.HANGS), an_agent_in_a_session(service, "b")
        asked(service, hanging)
        assert ended(service, sound)["state"] == "proposed"
    left = set(psutil.Process().children(recursive=True)) - before
    assert not psutil.wait_procs(left, timeout=PATIENCE_S)[1]


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    with clusters.local(tmp_path, threads_per_worker=2) as address:
        yield address


def test_a_dask_cluster_computes_without_any_other_change(tmp_path: Path, scheduler: str) -> None:
    settings = Settings(dask_scheduler=scheduler)
    with running(tmp_path, executor=lambda: make_worker(settings), dask_scheduler=scheduler) as service:
        agent = an_agent_in_a_session(service)
        found = ended(service, agent)
        assert (found["state"], found["origin"]) == ("proposed", "evidence")


def test_in_a_cluster_too_a_computation_that_ends_its_process_fails_alone(tmp_path: Path, scheduler: str) -> None:
    def make() -> Worker:
        return cluster_worker(Cluster(scheduler, connect_s=PATIENCE_S), LIMITS, POISON)

    with running(tmp_path, executor=make, workers=2) as service:
        bad, sound = an_agent_in_a_session(service, "bad", poison.ENDS), an_agent_in_a_session(service, "sound")
        made = [asked(service, agent) for agent in (bad, sound)]
        found = [settled(service, one) for one in made]
        assert [r["state"] for r in found] == ["failed", "proposed"]
        assert "lost 3 times: its process ended with status 7" in found[0]["error"]


def test_a_cluster_that_cannot_be_reached_is_nobodys_fault() -> None:
    worker = cluster_worker(Cluster("tcp://127.0.0.1:1", connect_s=SHORT_S), LIMITS, POISON)
    with pytest.raises(NoWorker):
        worker.run("recommend", {"entropy": [0]})


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        ("a pickle that runs code", WorkerLost, "not plain data: a pickle names pathlib.Path.touch"),
        ("a pickled error that runs code", NoWorker, "the cluster sent a pickle that names"),
        ("no text", WorkerLost, "is a int, no text"),
        ("no JSON", ComputationFailed, "JSONDecodeError"),
    ],
)
def test_what_a_hostile_cluster_answers_runs_nowhere(
    tmp_path: Path, answer: str, error: type[Exception], why: str
) -> None:
    """The cluster's worker is in this process, where `compute` is not what the service thinks it is."""
    marker = tmp_path / "marker"
    with clusters.answering(answer, marker) as address:
        worker = cluster_worker(Cluster(address, connect_s=PATIENCE_S), LIMITS, POISON)
        try:
            with pytest.raises(error, match=why):
                worker.run("recommend", {"entropy": [0]})
        finally:
            worker.close()
    assert not marker.exists()


def test_the_same_answer_runs_where_it_is_unpickled(tmp_path: Path) -> None:
    """The attack above is one: a client of `distributed` is taken over by it."""
    distributed = pytest.importorskip("distributed")
    marker = tmp_path / "marker"
    with (
        clusters.answering("a pickle that runs code", marker) as address,
        distributed.Client(address, set_as_default=False) as client,
    ):
        from lutra_service.workers import cluster

        client.submit(cluster.compute, "recommend", "{}", LIMITS, POISON, pure=False).result(timeout=PATIENCE_S)
    assert marker.exists()


def test_an_encrypted_cluster_computes_for_who_has_a_certificate(tmp_path: Path) -> None:
    with clusters.encrypted(tmp_path) as (address, files):
        settings: dict[str, Any] = {"dask_scheduler": address, **files}
        worker = make_worker(Settings(**settings))
        stranger = cluster_worker(Cluster(address, tls_ca=files["dask_tls_ca"], connect_s=SHORT_S), LIMITS)
        try:
            with pytest.raises(ComputationFailed, match="KeyError"):  # computed: the request lacks its history
                worker.run("recommend", {})
            with pytest.raises(NoWorker):
                stranger.run("recommend", {})
        finally:
            worker.close()
            stranger.close()
