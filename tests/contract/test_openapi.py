"""`service/openapi.json` is what a client may rely on. `python -m tests.contract.test_openapi` writes it anew."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lutra_service.api.http.problems import STATUS

from tests.support.service.application import first_application
from tests.support.service.documented import Documented

COMMITTED = Path(__file__).parents[2] / "service" / "openapi.json"
OPEN = ("/healthz", "/readyz", "/metrics")


def described() -> dict[str, Any]:
    spec: dict[str, Any] = first_application().openapi()
    return spec


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = described()["paths"]
    return [(path, method, told) for path, methods in paths.items() for method, told in methods.items()]


def test_the_committed_description_is_true() -> None:
    assert json.loads(COMMITTED.read_text()) == described(), "run `python -m tests.contract.test_openapi`"


def test_every_operation_says_what_it_is_for_and_names_its_errors() -> None:
    for path, method, told in operations():
        assert told.get("summary"), (method, path)
        assert told.get("description"), (method, path)
        if path not in OPEN:
            assert {"default", "401", "403", "422", "429", "503"} <= set(told["responses"]), (method, path)
            assert told["security"], (method, path)


def test_every_problem_is_the_one_named_schema_with_its_closed_set_of_codes() -> None:
    document = described()
    for path, method, told in operations():
        for status, response in told["responses"].items():
            if path not in OPEN and not status.startswith("2"):
                assert list(response) == ["$ref"], (method, path, status)
    for name, response in document["components"]["responses"].items():
        schema = response["content"]["application/problem+json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Problem"}, name
    assert document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"] == sorted(STATUS)
    for name in ("TooMany", "Unavailable"):
        assert "Retry-After" in document["components"]["responses"][name]["headers"]


def test_what_is_answered_besides_the_usual_is_named() -> None:
    answered = {told["operationId"]: told["responses"] for _, _, told in operations()}
    assert {"201", "202"} <= set(answered["ask_recommendation"])
    assert "content" not in answered["get_directive"]["204"]
    assert set(answered["list_trials"]["200"]["content"]) == {"application/json", "text/csv"}
    assert answered["get_history"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/HistoryAnswer")
    assert "503" in answered["check_ready"]


def test_operations_are_called_as_a_person_would_call_them() -> None:
    names = [told["operationId"] for _, _, told in operations()]
    assert len(set(names)) == len(names)
    assert {"list_databases", "ask_recommendation", "approve_recommendation", "open_session"} <= set(names)
    for name in names:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name), name


def test_every_schema_parameter_and_property_is_described() -> None:
    for name, schema in described()["components"]["schemas"].items():
        assert schema["description"], name
        for field, told in schema.get("properties", {}).items():
            assert told.get("description"), f"{name}.{field}"
    for path, method, told in operations():
        for parameter in told.get("parameters", ()):
            assert parameter.get("description"), (method, path, parameter["name"])


def test_every_schema_has_an_example_and_the_example_is_one() -> None:
    document = described()
    for name, schema in document["components"]["schemas"].items():
        for example in schema["examples"]:
            Documented(document).fits(name, example)


def test_what_takes_one_of_a_few_words_names_them() -> None:
    schemas = described()["components"]["schemas"]
    for name, fields in WORDS.items():
        for field in fields:
            assert "enum" in json.dumps(schemas[name]["properties"][field]), f"{name}.{field}"
    asked = {(t["operationId"], p["name"]): p for _, _, t in operations() for p in t.get("parameters", ())}
    assert "enum" in json.dumps(asked["list_recommendations", "state"])
    assert "enum" in json.dumps(asked["get_recommendation", "until"])


WORDS = {
    "RecommendationAnswer": ("state", "origin", "kind"),
    "TrialAnswer": ("state", "origin"),
    "SessionAnswer": ("state", "mode", "effective_mode", "approval", "p99_source", "p99_of"),
    "NewSession": ("mode", "approval"),
    "ObjectiveBody": ("goal",),
    "NewToken": ("scopes",),
    "TokenAnswer": ("scopes",),
    "DatabaseAnswer": ("role",),
    "SettingAnswer": ("applies",),
    "KnobAnswer": ("kind", "applies", "risk"),
    "EventAnswer": ("guard",),
    "GuardrailBody": ("origin",),
}


def test_what_is_written_has_the_shape_of_what_is_read() -> None:
    paths = described()["paths"]
    for resource in ("guardrails", "maintenance-windows"):
        operations = paths[f"/v1/databases/{{database}}/{resource}"]
        read = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert operations["put"]["requestBody"]["content"]["application/json"]["schema"] == read


def test_no_body_may_be_null() -> None:
    for path, method, told in operations():
        if "requestBody" in told:
            schema = told["requestBody"]["content"]["application/json"]["schema"]
            assert list(schema) == ["$ref"], (method, path)


def test_every_post_that_creates_takes_an_idempotency_key() -> None:
    for path, method, told in operations():
        if method == "post" and "201" in told["responses"]:
            assert any(p["name"].lower() == "idempotency-key" for p in told["parameters"]), path


def test_every_error_code_has_its_status() -> None:
    found = {cls.code for cls in _errors()}
    assert found - {"error"} <= set(STATUS)


def _errors() -> list[Any]:
    from lutra_models.errors import LutraError

    def below(cls: Any) -> list[Any]:
        return [s for c in cls.__subclasses__() for s in (c, *below(c))]

    return [cls for cls in below(LutraError) if cls.__module__.startswith(("lutra_models", "lutra_service"))]


if __name__ == "__main__":
    COMMITTED.write_text(json.dumps(described(), indent=1, ensure_ascii=False) + "\n")
