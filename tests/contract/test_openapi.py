"""`service/openapi.json` is what a client may rely on. `python -m tests.contract.test_openapi` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lutra_service.api.problems import STATUS
from lutra_service.main import create_app
from lutra_service.settings import Settings

COMMITTED = Path(__file__).parents[2] / "service" / "openapi.json"
OPEN = ("/healthz", "/readyz", "/metrics")


def described() -> dict[str, Any]:
    spec: dict[str, Any] = create_app(Settings(database_url="sqlite:///never-opened.db")).openapi()
    return spec


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    paths = described()["paths"]
    return [(path, method, told) for path, methods in paths.items() for method, told in methods.items()]


def test_the_committed_description_is_true() -> None:
    assert json.loads(COMMITTED.read_text()) == described(), "run `python -m tests.contract.test_openapi`"


def test_every_operation_says_what_it_is_for_and_names_its_errors() -> None:
    for path, method, told in operations():
        assert told.get("summary"), (method, path)
        if path not in OPEN:
            assert "application/problem+json" in told["responses"]["default"]["content"], (method, path)
            assert told["security"], (method, path)


def test_every_post_that_creates_takes_an_idempotency_key() -> None:
    for path, method, told in operations():
        if method == "post" and "201" in told["responses"]:
            assert any(p["name"].lower() == "idempotency-key" for p in told["parameters"]), path


def test_every_error_code_has_its_status() -> None:
    found = {cls.code for cls in _errors()}
    assert found - {"error"} <= set(STATUS)


def _errors() -> list[Any]:
    import lutra_service.api.http.refusals
    import lutra_service.app.errors  # noqa: F401
    from lutra_models.errors import LutraError

    def below(cls: Any) -> list[Any]:
        return [s for c in cls.__subclasses__() for s in (c, *below(c))]

    return [cls for cls in below(LutraError) if not cls.__module__.startswith("lutra_agent")]


if __name__ == "__main__":
    COMMITTED.write_text(json.dumps(described(), indent=1, ensure_ascii=False) + "\n")
