"""`lutra login`, `contexts` and `doctor`: the services that somebody works with, and whether all is well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from lutra_client import Client, contexts
from lutra_client.client import Client as Real
from lutra_client.commands import doctor
from lutra_client.commands.program import main
from lutra_client.contexts import Context

from tests.docs.pages import ROOT
from tests.support.service.hosted import Service, running

pytestmark = pytest.mark.slow
URL = "http://lutra.example"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Every client that a verb makes for its address reaches this service."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with running(tmp_path) as found:

        def reached(url: str, token: str | None, *, ca_file: str | None = None) -> Client:
            return Real(token=token, http=found.client)

        for module in ("lutra_client.client", "lutra_client.commands.doctor"):
            monkeypatch.setattr(f"{module}.Client", reached)
        yield found


def lutra(*words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=typed)


def secret(service: Service) -> str:
    return service.headers["Authorization"].removeprefix("Bearer ")


def checks(result: Result) -> dict[str, Any]:
    return {found["check"]: found for found in map(json.loads, result.output.splitlines())}


def test_a_token_is_checked_kept_and_never_printed(service: Service) -> None:
    told = lutra("login", URL, typed=secret(service) + "\n")
    assert (told.exit_code, told.output) == (0, f"lutra.example: {URL}; the token reaches 0 databases\n")
    assert contexts.current() == Context("lutra.example", URL, secret(service))


def test_a_token_that_the_service_does_not_accept_is_not_kept(service: Service) -> None:
    told = lutra("login", URL, "--name", "away", typed="lutra_" + "x" * 43)
    assert told.exit_code == 1
    assert "does not accept this token" in told.output
    assert "`lutra tokens create`" in told.output
    assert lutra("login", URL, typed="\n").output == (
        "Error: no token was given: type it at the prompt, or pipe it in\n"
    )
    assert not contexts.load().saved


def test_contexts_are_listed_switched_and_forgotten(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`lutra up` or `lutra login URL`" in lutra("contexts").output
    lutra("login", URL, "--name", "home", typed=secret(service))
    lutra("login", URL, "--name", "work", typed=secret(service))
    rows = [line.split() for line in lutra("contexts").output.splitlines()]
    assert rows == [["CONTEXT", "URL", "CA", "FILE"], ["home", URL, "-"], ["*", "work", URL, "-"]]
    assert lutra("contexts", "use", "home").output == f"in use: home, {URL}\n"
    used = {row["name"]: row["used"] for row in map(json.loads, lutra("contexts", "--json").output.splitlines())}
    assert used == {"home": True, "work": False}
    assert lutra("contexts", "forget", "work").output == "forgotten: work\n"
    assert "there is no context 'work': there are home" in lutra("contexts", "use", "work").output
    monkeypatch.setenv("LUTRA_URL", URL)
    assert "LUTRA_URL from the environment takes precedence" in lutra("contexts").output


def test_a_script_reads_contexts_without_their_tokens(service: Service) -> None:
    for words in (
        ("login", URL),
        ("contexts",),
        ("contexts", "use", "lutra.example"),
        ("contexts", "forget", "lutra.example"),
    ):
        told = lutra(*words, "--json", typed=secret(service))
        (found,) = map(json.loads, told.stdout.splitlines())
        assert found == {"name": "lutra.example", "url": URL, "ca_file": None, "used": "forget" not in words}, words
        assert secret(service) not in told.output


def test_a_script_reads_each_check_with_its_documented_fields(service: Service) -> None:
    found = checks(lutra("doctor", "--json"))
    contexts.save(Context("home", URL, secret(service)))
    found |= checks(lutra("doctor", "--json"))
    page = Path(ROOT, "docs", "operate", "program.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| `doctor` |"))
    for check in found.values():
        assert {name: type(value) for name, value in check.items()} == {
            "check": str,
            "passed": bool,
            "found": str,
            "way_out": str,
        }
        assert all(f"`{name}`" in row for name in check)


def test_where_all_is_well_every_check_passes(service: Service) -> None:
    contexts.save(Context("home", URL, secret(service)))
    service.agent(service.database(), mode="observe").send()
    told = lutra("doctor")
    assert told.exit_code == 0, told.output
    assert "FAILED" not in told.output
    assert list(checks(lutra("doctor", "--json"))) == [
        "context",
        "version",
        "schema",
        "clocks",
        "token",
        "agent of shop",
    ]


def test_each_failed_check_names_its_way_out(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    told = lutra("doctor", "--json")
    assert (told.exit_code, "`lutra up`" in checks(told)["context"]["way_out"]) == (1, True)
    contexts.save(Context("home", URL, secret(service)))
    service.database()
    assert "`lutra-agent run`" in checks(lutra("doctor", "--json"))["agent of shop"]["way_out"]
    monkeypatch.setattr(doctor, "version", lambda _: "9.9")
    assert "install the same version" in checks(lutra("doctor", "--json"))["version"]["way_out"]
    made = service.take("POST", "/v1/tokens", {"name": "reader", "scopes": ["read"]})
    contexts.save(Context("home", URL, made["token"]))
    assert "it may read" in checks(lutra("doctor", "--json"))["token"]["found"]
    contexts.save(Context("home", URL, "lutra_" + "x" * 43))
    refused = checks(lutra("doctor", "--json"))
    assert f"`lutra login {URL}`" in refused["token"]["way_out"]
    assert "agent of shop" not in refused


def test_a_clock_that_differs_and_an_agent_that_is_silent_are_told() -> None:
    now = datetime(2026, 11, 26, 12, tzinfo=UTC)
    assert doctor._clocks("Thu, 26 Nov 2026 12:00:20 GMT", now).passed
    late = doctor._clocks("Thu, 26 Nov 2026 12:05:00 GMT", now)
    assert (late.found, "timedatectl" in late.way_out) == ("the service's clock differs by 300 s", True)
    found: Any = {"name": "shop", "last_report_at": now - timedelta(hours=3), "agent": {"version": "0.1.0"}}
    silent = doctor._agent(found, now)
    assert (silent.found, "`lutra-agent check`" in silent.way_out) == ("0.1.0, reported 3 h ago", True)
    ill = doctor._agent({**found, "last_report_at": now, "agent": {"problems": ["no rights"]}}, now)
    assert ill.way_out == "no rights"


def test_a_service_that_does_not_answer_is_told_with_the_way_out(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    away = httpx.Client(transport=httpx.MockTransport(refuse), base_url=URL)
    monkeypatch.setattr(doctor, "Client", lambda *_, **__: Real(token="lutra_x", http=away))
    contexts.save(Context("home", URL, "lutra_x"))
    told = checks(lutra("doctor", "--json"))
    assert list(told) == ["context", "service"]
    assert "`lutra up` on this machine" in told["service"]["way_out"]
