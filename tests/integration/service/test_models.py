"""Two processes of the service over one PostgreSQL: what one promotes both serve, and what a package brought can go."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.hosted import LONGEST, Agent, Api, Document
from tests.support.service.served import LUTRA, UNHURRIED, Served
from tests.support.waiting import until, until_done

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.thorough]

INSTALLED = Path(__file__).parents[2] / "installed"
SHIPPED = "mv_0000000000000000000000"
FEW = {"everywhere": 32, "near": 32, "climbers": 1, "asked": 8}
QUICK = {"surrogate": {"name": "numpy"}, "search": FEW}
TOY = {
    "surrogate": {"name": "toygp_forest", "kernel": "toygp_ranges"},
    "search": {**FEW, "acquisition": "toygp_bound"},
}
PARTS = {"surrogate.name": "toygp_forest", "surrogate.kernel": "toygp_ranges", "search.acquisition": "toygp_bound"}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Where the service's processes will find the package of somebody else, and nothing besides."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


def install(packages: Path) -> None:
    for name in ("toygp", "toygp.dist-info"):
        shutil.copytree(INSTALLED / name, packages / name)


@pytest.fixture
def pair(tmp_path: Path, packages: Path, empty_postgres_url: str) -> Iterator[tuple[Served, Served]]:
    with ExitStack() as stack:
        made = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            env = {"PYTHONPATH": str(packages), "LUTRA_SWEEP_S": "0.2", **UNHURRIED}
            made.append(stack.enter_context(Served(tmp_path / name, empty_postgres_url, **env)))
        yield made[0], made[1]


class Session:
    """A lab's session, of which each recommendation may be asked of another process."""

    def __init__(self, api: Api) -> None:
        self.database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        path = f"/v1/databases/{self.database}"
        token = api.take("POST", f"{path}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
        self.agent = Agent(api.client, token, self.database)
        self.agent.send()
        body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "max_trials": 30}
        api.take("POST", f"{path}/sessions", body)
        self.asked = 0

    def next(self, api: Api) -> Document:
        """One more trial: asked of this process, and carried out."""
        self.asked += 1
        asked = api.take("POST", f"/v1/databases/{self.database}/recommendations", None, Prefer=LONGEST)["id"]
        path = f"/v1/recommendations/{asked}"
        until(lambda: api.take("GET", path, None, Prefer=LONGEST)["state"] != "computing")
        made = api.take("GET", path)
        assert made["state"] == "proposed", made
        api.take("POST", f"{path}/approve")
        directive = self.agent.next_directive()
        self.agent.carry_out(directive, qps=900.0 + 20 * (self.asked % 5), p99_ms=12.0 - self.asked % 3)
        return dict(made)


def registered(api: Api, name: str, options: Document) -> str:
    return str(api.take("POST", "/v1/models", {"name": name, "options": options})["id"])


def model(api: Api, id_: str) -> Any:
    return api.take("GET", f"/v1/models/{id_}")


def scorecard(api: Api, id_: str) -> Document:
    """Once it is computed."""
    found = until_done(lambda: model(api, id_), lambda now: now["scoring"]["state"] != "waiting")
    assert found["scorecard"] is not None, found["scoring"]
    return dict(found["scorecard"])


def replayed(served: Served, *made: Document) -> None:
    for one in made:
        assert "the same bits" in served.run("replay", one["id"])


def test_a_kernel_a_forest_and_an_acquisition_of_ones_own_serve_without_a_restart_and_may_go(
    pair: tuple[Served, Served], packages: Path
) -> None:
    one, two = pair
    session = Session(one.api)
    first = registered(one.api, "quick", QUICK)

    before = [session.next(api) for api in (one.api, two.api)]
    one.api.take("POST", f"/v1/models/{first}/promote")
    after = [session.next(api) for api in (two.api, one.api, two.api)]
    two.api.take("POST", "/v1/models/rollback")
    back = session.next(one.api)
    assert [r["model"] for r in (*before, *after, back)] == [SHIPPED] * 2 + [first] * 3 + [SHIPPED]
    replayed(one, before[-1], after[-1])

    one.api.take("POST", f"/v1/models/{first}/promote")
    assert one.api.code("POST", "/v1/models", {"name": "toy", "options": TOY})[0] == 422
    install(packages)
    second = registered(two.api, "toy", TOY)
    assert "was not scored" in one.api.ask("POST", f"/v1/models/{second}/promote").json()["detail"]
    two.api.take("POST", f"/v1/models/{second}/score")
    suites = scorecard(one.api, second)["conformance"]
    assert suites == [{"option": option, "name": name, "faults": []} for option, name in PARTS.items()]
    assert two.api.take("POST", f"/v1/models/{second}/promote")["serves"]
    theirs = session.next(one.api)
    assert theirs["model"] == second
    replayed(two, theirs)

    shutil.rmtree(packages / "toygp.dist-info")
    shutil.rmtree(packages / "toygp")
    gone = model(one.api, second)
    assert (gone["state"], gone["serves"]) == ("champion", False)
    kinds = ("surrogate", "kernel", "acquisition")
    missing = [
        f"{kind} {name!r} of toygp 1.0 is not installed" for kind, name in zip(kinds, PARTS.values(), strict=True)
    ]
    assert gone["missing"] == missing
    former = session.next(two.api)
    assert former["model"] == first
    assert "toygp 1.0 is not installed; the previous version serves" in two.log
    assert "toygp 1.0 is not installed" in one.run("models", "list")
    refused = subprocess.run([LUTRA, "replay", theirs["id"]], env=one.env, capture_output=True, text=True, check=False)
    assert "toygp 1.0 is not installed" in refused.stderr
    assert one.api.code("POST", f"/v1/models/{second}/score") == (409, "missing_extension")
    assert one.api.take("POST", "/v1/models/rollback")["id"] == first
