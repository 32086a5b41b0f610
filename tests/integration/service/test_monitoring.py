"""The board and the alert rules that the project ships, under a real Prometheus that scrapes a real service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from lutra_lab.servers.ports import free_port

from tests.support.service.fleet import MEMBERS, Steward
from tests.support.service.served import UNHURRIED, Served
from tests.support.waiting import PATIENCE_S, until, until_done

pytestmark = [pytest.mark.slow, pytest.mark.engine]
SHIPPED = Path(__file__).parents[3] / "service" / "monitoring"
CASES = Path(__file__).with_name("alerts.yml")
BOARD = json.loads((SHIPPED / "grafana" / "board.json").read_text())
RULES = yaml.safe_load((SHIPPED / "alerts.yml").read_text())["groups"][0]["rules"]


def queries() -> list[tuple[str, str]]:
    """Title and expression of each panel's queries and of each annotation."""
    panels = [(panel["title"], t["expr"]) for panel in BOARD["panels"] for t in panel.get("targets", ())]
    return [*panels, *((note["name"], note["expr"]) for note in BOARD["annotations"]["list"])]


@contextmanager
def a_prometheus(served: Served) -> Iterator[httpx.Client]:
    """It scrapes `served` each second with a token that may read, and evaluates the shipped rules."""
    token = served.api.take("POST", "/v1/tokens", {"name": "prometheus", "scopes": ["read"]})["token"]
    folder, port = served.directory, free_port()
    (folder / "prometheus.token").write_text(token)
    config: dict[str, Any] = yaml.safe_load((SHIPPED / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(SHIPPED / "alerts.yml")]
    config["scrape_configs"][0]["authorization"]["credentials_file"] = str(folder / "prometheus.token")
    config["scrape_configs"][0]["static_configs"] = [{"targets": [served.client.base_url.netloc.decode()]}]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = (
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/prometheus",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
            until(lambda: _ready(client))
            yield client
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/-/ready").status_code == 200
    except httpx.TransportError:
        return False


def answered(client: httpx.Client, expression: str) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/query", params={"query": expression.replace("$database", ".*")})
    assert answer.status_code == 200, answer.text
    result: list[dict[str, Any]] = answer.json()["data"]["result"]
    return result


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Beside a database with a session of some trials, and a proposal that waits for a decision."""
    with Served(tmp_path_factory.mktemp("monitored"), LUTRA_SWEEP_S="0.2", **UNHURRIED) as served:
        shop, till = (Steward(served, member) for member in MEMBERS[:2])
        with a_prometheus(served) as client, shop.at_work():
            served.api.take("POST", f"/v1/databases/{till.database}/recommendations", {"settings": {"work_mem": "8MB"}})
            until(lambda: bool(answered(client, "lutra_job_seconds_count > 2")))
            yield client


def test_each_panel_and_annotation_of_the_board_gets_data(prometheus: httpx.Client) -> None:
    for title, expression in queries():
        asked = expression.removesuffix(" > 0")  # an annotation shows what happened: here it is asked for its series
        found = until_done(lambda asked=asked: answered(prometheus, asked), bool)  # type: ignore[misc]
        assert found, title


def test_every_database_is_a_row_of_the_boards_table(prometheus: httpx.Client) -> None:
    found = until_done(
        lambda: {r["metric"]["database"] for r in answered(prometheus, "lutra_memory_headroom_bytes")},
        lambda f: len(f) == 2,
    )
    assert found == {"shop", "till"}
    assert {r["metric"]["database"] for r in answered(prometheus, "lutra_p99_seconds")} >= {"shop"}


def test_the_rules_are_loaded_and_none_fires_on_a_healthy_fleet(prometheus: httpx.Client) -> None:
    rules = until_done(
        lambda: prometheus.get("/api/v1/rules").json()["data"]["groups"][0]["rules"],
        lambda rules: all(rule["health"] == "ok" for rule in rules),
    )
    assert {rule["name"] for rule in rules} == {rule["alert"] for rule in RULES}
    assert not [rule["name"] for rule in rules if rule["state"] == "firing"]


def test_each_alert_fires_in_its_case_and_none_on_a_normal_day() -> None:
    cases = yaml.safe_load(CASES.read_text())["tests"]
    firing = {a["alertname"] for case in cases for a in case["alert_rule_test"] if a.get("exp_alerts")}
    assert firing == {rule["alert"] for rule in RULES}
    done = subprocess.run(["promtool", "test", "rules", CASES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
