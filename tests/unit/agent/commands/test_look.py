"""One look at the server behind a URL: who answers, what is judged, and what is said where nothing can be."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from lutra_agent.commands.cli import look, main
from lutra_agent.commands.look import run
from lutra_agent.commands.look.document import Document, Look, document
from lutra_agent.commands.look.judge import HARDWARE, judge
from lutra_agent.commands.look.page import page
from lutra_agent.commands.look.reach import POOLED, Address, Reached, address, reach
from lutra_agent.commands.look.told import lines
from lutra_agent.engines.common.health import ServerIdentity
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.telemetry import Visible
from lutra_agent.errors import (
    CollectionFailed,
    DatabaseUnavailable,
    LoginRefused,
    OtherEngine,
    ServerStarting,
)
from lutra_models.errors import LutraError
from lutra_models.server import Server
from lutra_models.symptoms import MeasuredWindow
from lutra_service.api.databases.symptom_schemas import SymptomsAnswer

from tests.docs.pages import ROOT
from tests.support.reported.postgresql import a_server
from tests.unit.symptoms.cases import CASES

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HERE = Place(process=7, folder=Path("/data"))
GRANT = Visible("pg_monitor", False, "other accounts' activity is hidden", 'GRANT pg_monitor TO "me";')
pytestmark = pytest.mark.usefixtures("own_environment")
CASE = next(c for c in CASES if c.name == "checkpoints_forced")
FORCED = CASE.of(CASE.shown)
PRIMARY = ServerIdentity("15.4", "primary", "")


class Health:
    """Raises, or is, what it is given, one after the other."""

    def __init__(self, *answers: ServerIdentity | LutraError) -> None:
        self.answers = list(answers)

    def ping(self) -> None:
        return None

    def identity(self) -> ServerIdentity:
        answer = self.answers.pop(0)
        if isinstance(answer, LutraError):
            raise answer
        return answer

    def close(self) -> None:
        return None


def named(url: str, *answers: ServerIdentity | LutraError) -> Address:
    """A server that answers so."""
    health = Health(*answers)
    found = address(url)
    opened: Callable[[Any], Any] = lambda section: SimpleNamespace(health=health, section=section)  # noqa: E731
    return replace(found, family=replace(found.family, open=opened))


@pytest.mark.parametrize(
    ("url", "answer", "told"),
    [
        (
            "postgresql://me@host:5433/shop",
            DatabaseUnavailable("Connection refused"),
            "no server answers at host, port 5433: Connection refused; start the server there, or correct the URL",
        ),
        (
            "redis://[::1]:7000",
            DatabaseUnavailable("Network is unreachable"),
            "no server answers at ::1, port 7000: Network is unreachable; start the server there, or correct the URL",
        ),
        (
            "postgresql://me@host/shop",
            LoginRefused("fe_sendauth: no password supplied (set database.password_file, PGPASSFILE or PGPASSWORD)"),
            "the server refuses the login: fe_sendauth: no password supplied (set a line in ~/.pgpass, PGPASSFILE or "
            "PGPASSWORD)",
        ),
        (
            "postgresql://me@host/shop",
            LoginRefused("no pg_hba.conf entry, no encryption (set database.tls_ca)"),
            "(set sslmode=verify-full and sslrootcert=FILE in the URL)",
        ),
        (
            "mysql://me@host",
            LoginRefused("insecure transport are prohibited: set database.tls_ca"),
            "set ssl-ca=FILE in the URL",
        ),
        (
            "postgresql://me@host/shop",
            ServerStarting("the database system is starting up"),
            "the server does not accept connections yet: the database system is starting up; try again in a minute",
        ),
        (
            "redis://host",
            CollectionFailed("NOPERM: ACL SETUSER app on -@all resetkeys +info +config|set"),
            "NOPERM: ACL SETUSER app +info",
        ),
        ("postgresql://me@host/shop", replace(PRIMARY, pooled=True), POOLED),
        (
            "postgresql://me@host/shop",
            ServerIdentity("11.22", "primary", ""),
            "postgresql 11.22 is too old to be judged: 12 and later are known; upgrade the server",
        ),
        ("redis://host", OtherEngine("", "the server reports dragonfly_version 1"), "reports dragonfly_version 1"),
    ],
)
def test_why_a_server_cannot_be_looked_at_is_one_sentence(
    url: str, answer: ServerIdentity | LutraError, told: str
) -> None:
    with pytest.raises(LutraError) as refused:
        reach(named(url, answer), None)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "the agent" not in str(refused.value)


def test_a_replica_is_looked_at_and_said_to_be_one() -> None:
    assert reach(named("postgresql://me@host/shop", replace(PRIMARY, role="standby")), None).engine
    told = lines(a_document(replace(a_server("15"), role="standby"), HERE))
    assert "it is a replica: look at its primary as well, which has settings and findings of its own" in told


def test_a_password_is_asked_for_once_where_somebody_can_answer() -> None:
    asked: list[str] = []
    refusal = LoginRefused("using password: NO")

    def ask(what: str) -> str:
        asked.append(what)
        return "secret"

    reached = reach(named("mariadb://me@host", refusal, PRIMARY), ask)
    assert isinstance(reached, Reached)
    assert (asked, os.environ["MYSQL_PWD"]) == (["Password of me"], "secret")
    with pytest.raises(DatabaseUnavailable):
        reach(named("mariadb://me@host", LoginRefused("using password: YES")), ask)
    assert len(asked) == 1


def test_a_password_in_the_url_is_used_and_warned_of() -> None:
    found = address("redis://me:secret@host")
    assert (os.environ["REDISCLI_AUTH"], found.shown) == ("secret", "redis://me@host")
    assert "put it into REDISCLI_AUTH" in found.warning
    assert not address("redis://me@host").warning


def a_document(server: Server, place: Place, *windows: MeasuredWindow, problems: tuple[str, ...] = ()) -> Document:
    judgement = judge(server, windows, problems, place)
    found = Look("postgresql://me@host/shop", "me", place, (GRANT, Visible("locks", True)), judgement)
    return document(found, str, NOW, NOW)


def names(made: Document) -> set[str]:
    return {s["name"] for s in made["findings"]["symptoms"]}


def test_a_finding_has_the_statements_of_its_cure() -> None:
    made = a_document(CASE.server, HERE, FORCED)
    (forced,) = [s for s in made["findings"]["symptoms"] if s["name"] == "checkpoints_forced"]
    assert any(line.startswith("ALTER SYSTEM SET max_wal_size = ") for line in forced["statements"])
    assert forced["statements"][-1] == "SELECT pg_reload_conf();"


def test_what_depends_on_unknown_hardware_is_not_judged() -> None:
    server = a_server("15", memory_gb=4, shared_buffers="3GB", work_mem="1GB", max_connections=900, fsync="off")
    here, elsewhere = a_document(server, HERE, FORCED), a_document(server, Place(doubt="it is elsewhere"), FORCED)
    assert "writes_not_forced" in names(here) & names(elsewhere)
    unknown = {name: found["why"] for found in elsewhere["unknown"] for name in found["names"]}
    assert {unknown[name] for name in names(here) - names(elsewhere)} == {HARDWARE}
    assert names(here) - names(elsewhere)
    assert elsewhere["memory"]["limit_bytes"] is None
    assert "effective_cache_size" not in {s["setting"] for s in elsewhere["settings"]}


def test_what_is_not_judged_has_its_reason() -> None:
    denied = "archiver: permission denied"
    made = a_document(a_server("15", archive_mode="on"), Place(doubt="it is elsewhere"), FORCED, problems=(denied,))
    reasons = {name: found["why"] for found in made["unknown"] for name in found["names"]}
    assert reasons["swapping"] == "it is elsewhere"
    assert denied in reasons.values()
    assert reasons.keys() == {n["name"] for n in made["findings"]["not_judged"]}


def test_the_document_has_the_shape_that_is_documented() -> None:
    made = a_document(a_server("15", work_mem="64MB"), HERE, FORCED)
    assert made["findings"].keys() == SymptomsAnswer.model_fields.keys()
    SymptomsAnswer.model_validate(made["findings"])
    text = (ROOT / "docs/operate/check.md").read_text(encoding="utf-8")
    for key, part in made.items():
        assert f"| `{key}" in text
        one = part[0] if isinstance(part, list) and part else part
        assert key == "findings" or [name for name in one if f"`{name}`" not in text] == []


def test_a_person_reads_what_is_hidden_and_how_to_show_it() -> None:
    text = "\n".join(lines(a_document(a_server("15", work_mem="64MB"), HERE, FORCED)))
    assert "account me sees 1 of 2 sources of figures" in text
    assert '      GRANT pg_monitor TO "me";' in text
    assert "set on purpose, and not changed: work_mem = 64MB (configuration file)" in text
    assert "not judged, which does not mean that nothing is wrong:" in text


def test_the_page_asks_no_network_and_escapes_what_a_server_said() -> None:
    made = a_document(a_server("15"), HERE, FORCED)
    made["server"]["version"] = "<script>"
    text = page(made, NOW)
    assert "&lt;script&gt;" in text
    assert not any(word in text for word in ("<script", "src=", "href=", "@import", "url("))


def test_both_programs_have_the_same_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (found,) = entry_points(group="lutra.commands", name="check")
    assert found.load() is look is main.commands["look"]
    judgement = judge(CASE.server, (FORCED,), (), HERE)
    monkeypatch.setattr(run, "look", lambda *_: Look("postgresql://me@host/shop", "me", HERE, (), judgement))
    url, file = "postgresql://me:secret@host/shop", tmp_path / "page.html"
    done = CliRunner().invoke(
        look, [url, "--fail-on", "fault", "--html", str(file), "--junit", str(tmp_path / "j.xml")]
    )
    assert done.exit_code == 1, done.output
    assert "secret" not in done.output + file.read_text() + (tmp_path / "j.xml").read_text()
    assert CliRunner().invoke(look, [url, "--fail-on", "bad"]).exit_code == 2
    refused = CliRunner().invoke(look, ["oracle://host"])
    assert (refused.exit_code, "'oracle' names no server" in refused.output) == (2, True)


def test_ctrl_c_says_that_nothing_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lutra_agent.commands.look.run.looked", interrupted)
    ended = CliRunner().invoke(look, ["redis://host"])
    assert (ended.exit_code, ended.stdout) == (130, "")
    assert "nothing was judged, and nothing was changed" in ended.stderr
