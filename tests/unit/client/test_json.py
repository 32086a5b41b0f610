"""`--json`: what scripts read has the documented shape, by the types of the REST interface where it has one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator
from lutra_client.commands.changes import What

from tests.docs.pages import ROOT
from tests.support.cli import commands, components, faults, objects
from tests.support.service.hosted import guard_event
from tests.support.service.live import Live

pytestmark = pytest.mark.slow
SPILLING = {"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7}
Run = Callable[..., Result]

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
        "what": {"enum": list(get_args(What))},
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
    ("summary",): "SummaryAnswer",
    ("receivers", "add", "x", "http://127.0.0.1:9/"): "NewReceiverAnswer",
    ("receivers", "list"): "ReceiverAnswer",
    ("receivers", "show", "x"): "ReceiverAnswer",
    ("next", "shop"): "RecommendationAnswer",
    ("show", "shop"): "RecommendationAnswer",
    ("approve", "shop"): "RecommendationAnswer",
    ("watch", "SESSION"): "SessionAnswer",
    ("sessions", "resume", "shop"): "SessionAnswer",
    ("receivers", "deliveries", "x"): "DeliveryAnswer",
    ("receivers", "disable", "x"): "ReceiverAnswer",
    ("receivers", "enable", "x"): "ReceiverAnswer",
    ("receivers", "test", "x"): "DeliveryAnswer",
    ("receivers", "remove", "x"): "ReceiverAnswer",
}
STATUS = {("findings", "shop"): 2, ("receivers", "test", "x"): 1}
"""Of those that say more by it: something could not be judged, a test did not arrive."""
CHANGING = {
    ("risks", "accept", "sorts_spill", "shop", "--because", "at night", "--until", "30d"): "AcceptedAnswer",
    ("risks", "withdraw", "sorts_spill", "shop"): "AcceptedAnswer",
    ("reject", "shop"): "RecommendationAnswer",
    ("sessions", "stop", "shop"): "SessionAnswer",
    ("sessions", "open", "shop"): "SessionAnswer",
    ("next", "shop"): "RecommendationAnswer",
    ("approve", "shop"): "RecommendationAnswer",
    ("rollback", "shop"): "RecommendationAnswer",
    ("tokens", "rotate", "a script"): "NewTokenAnswer",
    ("tokens", "revoke", "a script"): "TokenAnswer",
    ("databases", "label", "shops", "other"): "DatabaseAnswer",
    ("databases", "retire", "other"): "DatabaseAnswer",
    ("databases", "unretire", "other"): "DatabaseAnswer",
    ("databases", "delete", "third", "--yes"): "DatabaseAnswer",
}
"""In the order of one life."""
SERVICES, UP = "tests/unit/client/test_services.py", "tests/unit/service/commands/test_up.py"
ELSEWHERE = {
    ("check",): "tests/unit/agent/commands/test_look.py::test_the_document_has_the_shape_that_is_documented",
    ("what-if",): "tests/unit/service/recommendations/test_predictions.py::test_the_program_answers_what_if",
    ("models", "list"): f"{UP}::test_one_command_starts_a_service_that_the_program_finds_and_another_ends_it",
    ("demo",): "tests/e2e/test_demo.py::test_the_demo_tunes_a_real_server_and_tells_its_figures",
    **dict.fromkeys(
        (("login",), ("contexts",), ("contexts", "use"), ("contexts", "forget")),
        f"{SERVICES}::test_a_script_reads_contexts_without_their_tokens",
    ),
    ("doctor",): f"{SERVICES}::test_a_script_reads_each_check_with_its_documented_fields",
}
"""By verb, the test of its shape that needs more than a live session."""
NO_JSON = {
    ("mcp",): "it speaks a protocol of its own",
    ("logs",): "it shows lines, which are JSON already",
    ("serve",): "it runs until it is ended",
    ("notebook",): "it runs until it is ended",
    ("export",): "its output are data, in the format that is asked for",
    ("admin-token",): "it prints the token and nothing else",
    ("up",): "it makes a context, which `lutra contexts --json` shows",
    ("down",): "its exit status says it",
    ("add",): "it asks a person; `lutra status --json` shows what came of it",
    ("remove",): "it asks a person; `lutra databases list --retired --json` shows what came of it",
    ("migrate",): "its exit status says it",
    ("prune",): "it is for the host of the store",
    ("train",): "it is for the host of the store",
    ("replay",): "its exit status says it",
    ("import", "file"): "it is for the host of the store",
    ("import", "public"): "it is for the host of the store",
    **{
        ("models", verb): "it is for the host of the store; scripts ask /v1/models"
        for verb in ("options", "promote", "register", "retire", "rollback", "score", "shadow", "show")
    },
}
"""By verb, why it prints no JSON."""
PAGE = Path(ROOT, "docs", "operate", "program.md")


def test_what_a_script_reads_has_the_type_of_the_rest_interface(shop: Live, run: Run) -> None:
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    shop.window(**{"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7})
    shop.observe()
    shop.open()
    run("risks", "accept", "sorts_spill", "shop", "--because", "at night", "--until", "30d")
    page = PAGE.read_text()
    for words, name in ANSWERS.items():
        if words[0] == "watch":
            shop.service.take("POST", f"/v1/sessions/{shop.session_id}/stop")
        if words[:2] == ("sessions", "resume"):
            shop.open()
            shop.service.take("POST", f"/v1/sessions/{shop.session_id}/pause")
        result = run(*(shop.session_id if word == "SESSION" else word for word in words), "--json")
        assert result.exit_code == STATUS.get(words, 0), (words, result.output)
        assert faults(name, result.stdout) == [], words
        assert f"`{name}`" in page, name


def test_what_changes_something_answers_with_what_it_changed(shop: Live, run: Run) -> None:
    shop.window(**SPILLING)
    shop.window(**SPILLING)
    shop.open()
    shop.ask()
    for name in ("other", "third"):
        shop.service.database(name)
    run("tokens", "create", "--name", "a script", "--scope", "read")
    run("databases", "retire", "third")
    for words, name in CHANGING.items():
        result = run(*words, "--json")
        assert result.exit_code == 0, (words, result.output)
        assert faults(name, result.stdout) == [], words
        if words[0] == "approve":
            shop.carry_out(objects(result.stdout)[0]["id"])


def test_every_verb_prints_json_and_its_shape_is_tested() -> None:
    """A new verb takes --json and stands in one of the tables above."""
    tables = [key for table in (ANSWERS, CHANGING, dict.fromkeys(tuple(o.split()) for o in OWN)) for key in table]
    for path, command in commands():
        takes = any("--json" in option.opts for option in command.params)
        tested = path in ELSEWHERE or any(key[: len(path)] == path for key in tables)
        assert takes == (path not in NO_JSON), path
        assert tested == takes, path
    for where in ELSEWHERE.values():
        file, _, name = where.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), where


@pytest.mark.parametrize("verb", OWN)
def test_what_no_type_of_the_rest_interface_describes_has_the_documented_fields(
    shop: Live, run: Run, verb: str
) -> None:
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    shop.open()
    found = objects(run(*verb.replace("DATABASE", "shop").split(), "--json").stdout)
    shape = {"properties": OWN[verb], "required": list(OWN[verb]), "additionalProperties": False}
    checker = Draft202012Validator({**shape, "components": components()})
    assert [e.message for one in found for e in checker.iter_errors(one)] == []
    assert found
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{verb}` |"))
    assert all(f"`{field}`" in row for field in OWN[verb])
