"""`--json`: what scripts read has the documented shape, by the types of the REST interface where it has one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

from tests.docs.pages import ROOT
from tests.support.service.hosted import guard_event
from tests.support.service.live import Live

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

COMPONENTS = json.loads((ROOT / "service" / "openapi.json").read_text())["components"]
TEXT: Any = {"type": "string"}
OWN: dict[str, Any] = {
    "status DATABASE": {
        "database": {"$ref": "#/components/schemas/DatabaseAnswer"},
        "sessions": {"type": "array", "items": {"$ref": "#/components/schemas/SessionAnswer"}},
        "recommendations": {"type": "array", "items": {"$ref": "#/components/schemas/RecommendationAnswer"}},
    },
    "history": {
        "at": TEXT,
        "database": TEXT,
        "what": {"enum": ["applied", "confirmed", "undone", "guard fired"]},
        "by": TEXT,
        "why": TEXT,
        "changes": {"type": "object", "additionalProperties": {"type": "array", "items": TEXT, "minItems": 2}},
        "recommendation": {"type": ["string", "null"]},
    },
}
ANSWERS = {
    ("status",): "DatabaseAnswer",
    ("databases", "list"): "DatabaseAnswer",
    ("sessions", "list"): "SessionAnswer",
    ("findings", "shop"): "SymptomsAnswer",
    ("risks", "list", "shop"): "AcceptedAnswer",
    ("events", "shop"): "EventAnswer",
    ("guardrails", "shop"): "GuardrailsBody",
    ("windows", "shop"): "MaintenanceBody",
    ("policy", "shop"): "PolicyBody",
    ("tokens", "list"): "TokenAnswer",
    ("tokens", "create", "--name", "x", "--scope", "read"): "NewTokenAnswer",
    ("audit",): "AuditAnswer",
    ("receivers", "add", "x", "http://127.0.0.1:9/"): "NewReceiverAnswer",
    ("receivers", "list"): "ReceiverAnswer",
    ("receivers", "show", "x"): "ReceiverAnswer",
    ("next", "shop"): "RecommendationAnswer",
    ("show", "shop"): "RecommendationAnswer",
    ("approve", "shop"): "RecommendationAnswer",
    ("watch", "SESSION"): "SessionAnswer",
    ("sessions", "resume", "shop"): "SessionAnswer",
    ("receivers", "deliveries", "x"): "DeliveryAnswer",
}
PAGE = Path(ROOT, "docs", "operate", "program.md")


def objects(output: str) -> list[Any]:
    try:
        return [json.loads(line) for line in output.splitlines()]
    except ValueError:  # one document over several lines
        return [json.loads(output)]


def test_what_a_script_reads_has_the_type_of_the_rest_interface(shop: Live, run: Run) -> None:
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    shop.window(**{"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7})
    shop.observe()
    shop.open()
    page = PAGE.read_text()
    empty = []
    for words, name in ANSWERS.items():
        if words[0] == "watch":
            shop.service.take("POST", f"/v1/sessions/{shop.session_id}/stop")
        if words[:2] == ("sessions", "resume"):
            shop.open()
            shop.service.take("POST", f"/v1/sessions/{shop.session_id}/pause")
        result = run(*(shop.session_id if word == "SESSION" else word for word in words), "--json")
        assert result.exit_code == (2 if words[0] == "findings" else 0), (words, result.output)
        found = objects(result.stdout)
        empty += [] if found else [words[0]]
        checker = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": COMPONENTS})
        assert [e.message for one in found for e in checker.iter_errors(one)] == [], words
        assert f"`{name}`" in page, name
    assert empty == ["risks"]


@pytest.mark.parametrize("verb", OWN)
def test_what_no_type_of_the_rest_interface_describes_has_the_documented_fields(
    shop: Live, run: Run, verb: str
) -> None:
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    shop.open()
    found = objects(run(*verb.replace("DATABASE", "shop").split(), "--json").stdout)
    shape = {"properties": OWN[verb], "required": list(OWN[verb]), "additionalProperties": False}
    checker = Draft202012Validator({**shape, "components": COMPONENTS})
    assert [e.message for one in found for e in checker.iter_errors(one)] == []
    assert found
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{verb}` |"))
    assert all(f"`{field}`" in row for field in OWN[verb])
