from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from lutra_models.errors import FitFailed
from lutra_service.app import computing

from tests.support.service import Agent, Document, FakeExecutor, Fakes, Service, fake_executor, running

OBSERVE = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


class Breaking(Executor):
    """A pool whose worker dies at each task."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        if args:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        return


def asked(service: Service) -> tuple[Agent, Document]:
    agent = service.agent(service.database(), mode="reload_only")
    agent.send()
    service.take("POST", f"/v1/databases/{agent.database}/sessions", OBSERVE)
    path = f"/v1/databases/{agent.database}/recommendations"
    return agent, service.take("POST", path, None, Prefer="wait=10")


def test_a_broken_pool_is_built_anew_and_the_work_done(tmp_path: Path) -> None:
    pools = iter([Breaking(), FakeExecutor(Fakes())])
    with running(tmp_path, executor=lambda: next(pools)) as service:
        _, made = asked(service)
        assert made["state"] == "proposed"


def test_work_that_is_lost_again_and_again_is_given_up(tmp_path: Path) -> None:
    with running(tmp_path, executor=Breaking) as service:
        _, made = asked(service)
        assert made["state"] == "failed"
        assert "lost 3 times" in made["error"]


def test_a_fit_that_fails_says_so_and_pauses_the_session(tmp_path: Path) -> None:
    class Failing(Fakes):
        def recommend(self, request: Mapping[str, Any]) -> Document:
            raise FitFailed("the covariance is not positive definite")

    with running(tmp_path, executor=fake_executor(Failing())) as service:
        agent, made = asked(service)
        assert made["state"] == "failed"
        assert "not positive definite" in made["error"]
        (session,) = service.take("GET", f"/v1/databases/{agent.database}/sessions")["items"]
        assert session["state"] == "paused"


def test_a_lease_is_one_workers_until_it_runs_out(tmp_path: Path) -> None:
    class Never(Fakes):
        def recommend(self, request: Mapping[str, Any]) -> Document:
            raise AssertionError("not reached")

    with running(tmp_path, executor=fake_executor(Never())) as service:
        service.client.app.state.store.listeners.clear()  # type: ignore[attr-defined]
        store = service.store
        agent = service.agent(service.database(), mode="reload_only")
        agent.send()
        service.take("POST", f"/v1/databases/{agent.database}/sessions", OBSERVE)
        # The application's own sweeper may have been first: either way, one of the two holds the lease.
        service.take("POST", f"/v1/databases/{agent.database}/recommendations")
        first = store.write(lambda u: computing.claim(u, 60, 3))
        assert len(first) <= 1
        assert store.write(lambda u: computing.claim(u, 60, 3)) == []
