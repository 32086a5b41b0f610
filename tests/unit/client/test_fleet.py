"""`lutra databases`, `policy`, `guardrails`, `windows`, `events`, `tokens`, `receivers` and `audit` on a service."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from tests.support.service.hosted import guard_event
from tests.support.service.live import Live

pytestmark = pytest.mark.slow
Run = Callable[..., Result]
Advice = Callable[..., str]


def test_without_a_database_status_shows_the_service_and_every_database(shop: Live, advice: Advice) -> None:
    shop.service.database("bakery")
    shop.open()
    told = advice("status")
    assert told.startswith("service 0.1.0 at http")
    assert "DATABASE ENGINE AGENT LAST REPORT SESSION" in told
    assert "bakery postgresql - never -" in told
    assert "running, 0 of 20" in told


def test_databases_and_sessions_are_tables(shop: Live, advice: Advice) -> None:
    assert "DATABASE ID ENGINE ROLE LABEL LAST REPORT REGISTERED (UTC) shop db_" in advice("databases", "list")
    assert advice("databases", "list", "--retired") == "no database is retired"
    assert "no session yet" in advice("sessions", "list", "shop")
    shop.open()
    assert f"{shop.session_id} running minimize p99_ms reload_only 0 of 20" in advice("sessions", "list", "shop")


def test_parts_of_the_policy_are_changed_and_the_others_stay(shop: Live, advice: Advice, run: Run) -> None:
    before = json.loads(run("policy", "shop", "--json").output)
    assert "memory_fraction 0.6" in advice("policy", "shop", "memory_fraction=0.6", 'pins={"work_mem": "16MB"}')
    after = json.loads(run("policy", "shop", "--json").output)
    assert after == {**before, "memory_fraction": 0.6, "pins": after["pins"]}
    assert list(after["pins"]) == ["work_mem"]
    assert "memory is not PART=VALUE; the parts are pins, " in run("policy", "shop", "memory").output
    assert "past" in advice("policy", "shop", "past=none")


def test_a_limit_is_set_for_one_guard_and_the_others_stay(shop: Live, advice: Advice, run: Run) -> None:
    assert "GUARD LIMIT HOLD STATE SET BY MEANING" in advice("guardrails", "shop")
    before = json.loads(run("guardrails", "shop", "--json").output)["guardrails"]
    assert "p99 1.5 60 s on service" in advice("guardrails", "shop", "p99=1.5:60s", "disk=off")
    after = json.loads(run("guardrails", "shop", "--json").output)["guardrails"]
    assert not after["disk"]["enabled"]
    assert {n: r for n, r in after.items() if n not in ("p99", "disk")} == {
        n: r for n, r in before.items() if n not in ("p99", "disk")
    }
    assert "the guards are p99" in run("guardrails", "shop", "p98=2").output
    assert "p99=much" in run("guardrails", "shop", "p99=much").output


def test_maintenance_windows_are_replaced_and_removed(shop: Live, advice: Advice, run: Run) -> None:
    assert "nothing is restarted" in advice("windows", "shop")
    assert "sat,sun 02:00 90m Europe/Berlin" in advice("windows", "shop", "sat,sun 02:00 90m Europe/Berlin")
    assert "mon 03:00 60m UTC" in advice("windows", "shop", "mon 03:00 1h")
    assert "such as" in run("windows", "shop", "monday").output
    assert "90d, 12h" in run("windows", "shop", "mon 03:00 long").output
    assert "nothing is restarted" in advice("windows", "shop", "none")


def test_one_command_sets_what_all_databases_of_a_label_share(shop: Live, advice: Advice, run: Run) -> None:
    shop.service.database("bakery")
    shop.service.database("till")
    assert "no database has the label 'stores'" in run("policy", "label:stores").output
    assert advice("databases", "label", "stores", "shop", "bakery") == "shop: stores bakery: stores"
    told = advice("policy", "label:stores", "past=none")
    assert told.startswith("shop: PART VALUE")
    assert told.count('past "none"') == 2
    assert advice("windows", "label:stores", "mon 03:00 1h").count("mon 03:00 60m UTC") == 2
    assert advice("guardrails", "label:stores", "p99=1.5").count("p99 1.5 30 s on service") == 2
    assert "nothing is restarted" in advice("windows", "till")
    assert advice("databases", "label", "none", "bakery") == "bakery: no label"
    assert advice("policy", "label:stores").startswith("PART VALUE")


def test_of_several_databases_the_worst_comes_first(shop: Live, advice: Advice, run: Run) -> None:
    shop.service.database("bakery")
    spilling = {"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7}
    for _ in range(2):
        shop.agent.send(shop.agent.report(**shop.agent.window(**spilling)))
    found = run("findings", "--fail-on", "fault")
    assert found.exit_code == 1
    head, first, last = found.output.splitlines()
    assert head.split() == ["DATABASE", "KIND", "WORST", "FINDING", "WHAT"]
    assert first.split()[:3] == ["shop", "fault", "sorts_spill"]
    assert last.split() == ["bakery", "-", "-", "nothing", "was", "measured"]
    documents = [json.loads(line) for line in run("findings", "--json").output.splitlines()]
    assert {d["database"]: d["windows"] > 0 for d in documents} == {"shop": True, "bakery": False}


def test_guards_that_fired_are_listed(shop: Live, advice: Advice) -> None:
    assert advice("events", "shop") == "no guard has fired in this time"
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    told = advice("events", "shop")
    assert "FIRED (UTC) GUARD METRIC VALUE BOUND FOR UNDID" in told
    assert "p99 p99_ms" in told


def test_tokens_are_created_listed_rotated_and_revoked_by_their_names(shop: Live, run: Run, advice: Advice) -> None:
    made = advice("tokens", "create", "--name", "me", "--scope", "read", "--database", "shop", "--expires", "90d")
    assert made.startswith("lutra_")
    told = run("tokens", "list").output
    assert made not in told
    (row,) = [line.split() for line in told.splitlines() if line.startswith("me ")]
    assert row[2:4] == ["read", "shop"]
    new = advice("tokens", "rotate", "me", "--grace", "1h")
    assert (new.startswith("lutra_"), new != made) == (True, True)
    assert "2 valid tokens are named 'me'" in run("tokens", "revoke", "me").output
    assert "me (tok_" in advice("tokens", "revoke", row[1])
    assert "there is no valid token 'you'" in run("tokens", "revoke", "you").output
    assert row[1] not in run("tokens", "list").output
    assert row[1] in run("tokens", "list", "--all").output
    assert "not_found" in run("tokens", "revoke", f"tok_{'0' * 22}").output


@pytest.mark.parametrize("wrong", ["soon", "90", "-1d", "9999999d", "1.5h"])
def test_a_duration_that_is_none_is_refused(run: Run, wrong: str) -> None:
    told = run("tokens", "create", "--name", "a", "--scope", "read", f"--expires={wrong}")
    assert (told.exit_code, "90d, 12h, 30m or 45s" in told.output) == (2, True)


def test_the_audit_trail_tells_who_did_what(shop: Live, run: Run, advice: Advice) -> None:
    secret = run("tokens", "create", "--name", "me\u200b", "--scope", "read")
    assert secret.exit_code == 0, secret.output
    assert "token.create" in advice("audit", "--action", "token.create", "--limit", "1")
    header, *rows = run("audit", "--database", "shop", "--since", "7d").output.splitlines()
    assert header.split() == ["AT", "(UTC)", "ACTION", "TARGET", "DATABASE", "BY", "ADDRESS", "WHAT"]
    assert all(" shop " in row for row in rows)
    found = [json.loads(line) for line in run("audit", "--json", "--since", "999999d").output.splitlines()]
    assert {"before", "after"} <= found[0].keys()


def test_receivers_are_added_tested_and_removed_by_their_names(shop: Live, run: Run, advice: Advice) -> None:
    assert advice("receivers", "list") == "no receiver"
    quiet = ("--quiet", "22:00 07:00 Europe/Berlin")
    secret = advice("receivers", "add", "oncall", "http://127.0.0.1:9/s3cr3t", "--only", "guard", *quiet)
    assert secret.startswith("whsec_")
    shown = advice("receivers", "show", "oncall") + advice("receivers", "list")
    assert "22:00 to 07:00 Europe/Berlin" in shown
    assert "webhook http://127.0.0.1:9/… guard enabled" in shown
    assert "s3cr3t" not in shown
    failed = run("receivers", "test", "oncall")
    assert (failed.exit_code, "no connection: Connection refused" in failed.output) == (1, True)
    assert "test failed 1 no connection: Connection refused A test of" in advice("receivers", "deliveries", "oncall")
    assert advice("receivers", "disable", "oncall") == "oncall is disabled"
    assert "disabled: by an operator" in advice("receivers", "list")
    assert advice("receivers", "enable", "oncall") == "oncall is enabled"
    assert advice("receivers", "remove", "oncall") == "oncall is removed"
    assert "there is no receiver 'oncall'" in run("receivers", "show", "oncall").output
