"""What the reference lists is what the programs know."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import get_args

import lutra_service.main  # noqa: F401  (which makes the service's metrics)
import pytest
from lutra_agent.commands.agent_file import parse
from lutra_agent.engines.families import FAMILIES, family
from lutra_agent.errors import ConfigError
from lutra_models.errors import codes
from lutra_models.guardrails import GUARDS
from lutra_service.app.access.audit import Action
from lutra_service.common.settings import Settings
from prometheus_client import REGISTRY

from benchmarks.__main__ import BENCHMARKS
from tests.docs.pages import ROOT, name, pages

REFERENCE = ROOT / "docs" / "reference"
OPENAPI = json.loads((ROOT / "service" / "openapi.json").read_text())
CALL = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`\s?…]*)")
AGENT = {
    "service": {"url": "http://127.0.0.1:8000", "database": "db_1"},
    "database": {"engine": "postgresql", "host": "/", "port": 1, "dbname": "d"},
}


def test_every_variable_of_the_service_is_listed() -> None:
    listed = (REFERENCE / "service.md").read_text()
    assert not [n for n in Settings.model_fields if f"`LUTRA_{n.upper()}`" not in listed]


def test_every_code_of_a_failure_is_explained() -> None:
    explained = (REFERENCE / "rest.md").read_text()
    assert not [code for code in codes().values() if f"`{code}`" not in explained]


def test_every_action_of_the_audit_trail_is_listed() -> None:
    listed = (ROOT / "docs" / "operate" / "access.md").read_text()
    assert not [action for action in get_args(Action) if f"`{action}`" not in listed]


def test_every_metric_of_the_service_itself_is_listed() -> None:
    listed = (REFERENCE / "metrics.md").read_text()
    ours = [
        m.name + ("_total" if m.type == "counter" else "") for m in REGISTRY.collect() if m.name.startswith("lutra_")
    ]
    assert ours
    assert not [n for n in ours if f"`{n}`" not in listed]


def test_the_alert_rules_and_the_board_name_metrics_that_exist() -> None:
    shipped, listed = ROOT / "service" / "monitoring", (REFERENCE / "metrics.md").read_text()
    texts = (shipped / "alerts.yml").read_text() + (shipped / "grafana" / "board.json").read_text()
    named = {name.removesuffix("_bucket") for name in re.findall(r"\blutra_\w+", texts)}
    assert len(named) > 5
    assert not [name for name in named if f"`{name}`" not in listed]


def test_every_benchmark_is_in_its_index() -> None:
    index = (ROOT / "benchmarks" / "README.md").read_text()
    listed = set(re.findall(r"^\| \[?([\w.]+)", index, re.MULTILINE)) - {"benchmark"}
    assert listed == {benchmark for benchmark, _ in BENCHMARKS}


def test_every_guard_is_listed_with_its_defaults() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| ([\d.]+ \| \d+ s) \|", (ROOT / "docs/operate/guardrails.md").read_text(), re.M)
    )
    assert {n: tuple(float(x) for x in re.findall(r"[\d.]+", row)) for n, row in rows.items()} == {
        g.name: (g.default.limit, g.default.hold_s) for g in GUARDS
    }


DATABASES = [("database", f.name) for f in FAMILIES]


@pytest.mark.parametrize(
    ("section", "engine"),
    [*((s, "postgresql") for s in ("service", "agent", "restart", "guard", "prometheus")), *DATABASES],
)
def test_every_key_of_the_agents_file_is_in_the_reference(section: str, engine: str) -> None:
    optional = {"url": "http://127.0.0.1:9090", "query": "q"} if section == "prometheus" else {}
    has = {f.name for f in fields(family(engine).section)}
    database = {k: v for k, v in {**AGENT["database"], "engine": engine}.items() if k in has}
    made = {**AGENT, "database": database}
    with pytest.raises(ConfigError) as refused:
        parse({**made, section: {**made.get(section, optional), "no such key": 1}})
    known = re.findall(r"\w+", str(refused.value).partition("known here: ")[2])
    text = (REFERENCE / "agent-file.md").read_text()
    guards = (ROOT / "docs/operate/guardrails.md").read_text()
    assert known
    assert not [k for k in known if not re.search(rf"\b{k} = ", text) and f"`{k}`" not in guards]


def test_every_call_that_a_page_names_is_in_the_openapi_document() -> None:
    known = {(m.upper(), re.sub(r"{\w+}", "{}", path)) for path, calls in OPENAPI["paths"].items() for m in calls}
    named = {(name(p), method, path) for p in pages() for method, path in CALL.findall(p.read_text())}
    assert len(named) > 15
    assert not {n for n in named if (n[1], re.sub(r"{\w+}", "{}", n[2])) not in known}
