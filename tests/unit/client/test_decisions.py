"""`lutra` on a live session: what a DBA reads, and what each decision does."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lutra_client.commands.program import main
from lutra_client.waiting import Recommendations

from tests.support.service.hosted import guard_event
from tests.support.service.live import Live

pytestmark = pytest.mark.slow
Advice = Callable[..., str]


def test_a_recommendation_is_read_and_a_part_of_it_approved(shop: Live, advice: Advice) -> None:
    assert "no session yet" in advice("status", "shop")
    assert "minimize p99_ms, reload_only, 0 of 9 trials" in advice("sessions", "open", "--trials", "9")
    told = advice("next", "shop")
    id_ = told.split()[0]
    assert f"{id_} proposed (evidence) 1 symptom shows" in told
    assert "work_mem 4MB → 8MB (reload) so against: more memory?[2J for each sort" in told
    assert "statements: ALTER SYSTEM SET work_mem = '8MB'; ALTER SYSTEM SET jit = 'off';" in told
    assert f"lutra approve {id_} [SETTING …]" in told
    assert told in advice("status", shop.agent.database)

    part = advice("approve", id_, "work_mem", "--because", "reports need the compiler")
    assert "work_mem 4MB → 8MB" in part
    assert "jit" not in part
    shop.carry_out(part.split()[0])
    assert "confirmed" in advice("show", part.split()[0])
    assert "rejected" in advice("show", id_)
    assert "work_mem 8MB → 4MB" in advice("rollback", part.split()[0])


def test_next_opens_a_session_where_none_is_open(shop: Live, run: Callable[..., Result]) -> None:
    first = run("next", "shop")
    assert "opened ts_" in first.output
    assert "work_mem 4MB → 8MB" in " ".join(first.output.split())
    assert "opened" not in run("next", "shop").output
    sessions = json.loads(run("sessions", "list", "shop", "--json").output)
    assert (sessions["state"], sessions["approval"], sessions["mode"]) == ("running", "manual", "reload_only")


def test_a_session_that_still_observes_says_for_how_long(
    shop: Live, advice: Advice, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wait in ("commands.decide.QUIET_S", "waiting.LONGEST_WAIT_S"):
        monkeypatch.setattr(f"lutra_client.{wait}", 1)  # nothing comes, however long one waits
    shop.agent = shop.service.agent(shop.service.database("bakery"), mode="reload_only")
    shop.agent.send()
    assert "lutra sessions open" not in advice("sessions", "open", "bakery")
    told = advice("next", "bakery")
    assert "observing" in told
    assert "windows" in told.partition("reload_only")[2]


def test_what_is_turned_down_says_why(shop: Live, advice: Advice) -> None:
    shop.open()
    told = advice("reject", advice("next").split()[0], "--because", "not before the sale")
    assert "reason: not before the sale" in told


def test_status_begins_with_what_happened_and_changes_lists_it(
    shop: Live, advice: Advice, run: Callable[..., Result]
) -> None:
    shop.open()
    id_ = advice("next").split()[0]
    advice("approve", id_)
    shop.carry_out(id_)
    shop.revert(id_, {"work_mem": 4096, "jit": "on"}, "p99: p99_ms is 146 for 36 s, bound 138.8, 69.42 before\x1b[2J")
    told = advice("status", "shop")
    there, back = "work_mem 4MB → 8MB, jit on → off", "work_mem 8MB → 4MB, jit off → on"
    assert told.startswith("since 20")
    why = "p99: p99_ms is 146 for 36 s, bound 138.8, 69.42 before?[2J"
    assert f"undid {back}: {why}" in told
    assert f"applied {there}, decided by test" in told
    assert told.index("undid") < told.index(shop.session_id)

    lines = run("history", "shop", "--since", "7d").output.splitlines()
    assert lines[0].split() == ["WHEN", "(UTC)", "DATABASE", "WHAT", "CHANGE", "BY", "WHY"]
    kinds = {json.loads(line)["what"]: json.loads(line) for line in run("history", "--json").output.splitlines()}
    assert set(kinds) == {"applied", "confirmed", "undone"}
    assert len(lines) == 1 + len(kinds)
    assert kinds["undone"]["changes"] == {"work_mem": ["8MB", "4MB"], "jit": ["off", "on"]}
    assert kinds["undone"]["recommendation"] == id_
    assert (kinds["applied"]["by"], kinds["applied"]["database"]) == ("test", "shop")
    assert "90d, 12h, 30m or 45s" in run("history", "--since", "a week").output


def test_status_says_what_the_agent_refused_and_why(shop: Live, advice: Advice) -> None:
    shop.open()
    id_ = advice("next").split()[0]
    advice("approve", id_)
    why = "the agent may not change this: work_mem. GRANT ALTER SYSTEM ON PARAMETER work_mem TO lutra;"
    refusal = shop.agent.outcome(shop.agent.next_directive(), "refused", code="insufficient_privilege", message=why)
    shop.agent.send(shop.agent.report(outcomes=[refusal]))
    assert f"its agent refused work_mem 4MB → 8MB, jit on → off: insufficient_privilege: {why}" in advice(
        "status", "shop"
    )
    assert advice("show", id_).count(why) == 1


def test_status_names_what_is_in_the_file_and_not_active(shop: Live, advice: Advice) -> None:
    agent = shop.agent
    agent.settings["work_mem"] = replace(agent.settings["work_mem"], persisted="24MB")
    agent.send(agent.report(settings_hash="pasted"))
    told = "work_mem is 4MB; 24MB is in the file but not active: a reload (SELECT pg_reload_conf()) activates it"
    assert told in advice("status", "shop")


def test_a_guard_that_undid_nothing_is_told_as_well_and_a_quiet_day_is_not(shop: Live, advice: Advice) -> None:
    assert "since" not in advice("status", "shop")
    shop.agent.send(shop.agent.report(events=[guard_event(shop.agent)]))
    assert "guard p99 fired, and there was no change to undo: p99: p99_ms@histogram is 60" in advice("status", "shop")


def test_what_a_token_undid_is_told_once_with_its_name_and_reason(
    shop: Live, advice: Advice, run: Callable[..., Result]
) -> None:
    shop.open()
    id_ = advice("next").split()[0]
    advice("approve", id_)
    shop.carry_out(id_)
    back = advice("rollback", id_, "--because", "reports are slower").split()[0]
    directive = shop.agent.next_directive()
    shop.agent.apply(directive["settings"])
    shop.agent.send(shop.agent.report(outcomes=[shop.agent.outcome(directive, "applied")]))
    assert shop.look(back)["state"] == "confirmed"
    told = [json.loads(line) for line in run("history", "--json").output.splitlines()]
    assert sorted(h["what"] for h in told) == ["applied", "confirmed", "undone"]
    (undone,) = [h for h in told if h["what"] == "undone"]
    assert (undone["by"], undone["why"]) == ("test", "reports are slower")


def test_what_an_undo_paused_goes_on_until_it_is_stopped(
    shop: Live, advice: Advice, run: Callable[..., Result]
) -> None:
    assert "no session is open" in run("sessions", "resume").output
    shop.open()
    id_ = advice("next").split()[0]
    advice("approve", id_)
    shop.carry_out(id_)
    advice("rollback", id_)
    assert "paused" in advice("status")
    assert "running" in advice("sessions", "resume", "shop")
    assert "stopped" in advice("sessions", "stop")
    assert "no session is open" in run("sessions", "stop").output


def test_who_stops_waiting_reads_that_the_approval_stands(
    shop: Live, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    shop.open()
    id_ = run("next").output.split()[0]
    monkeypatch.setattr(Recommendations, "wait", interrupted)
    told = run("approve", id_, "--wait")
    assert told.exit_code == 130
    assert f"{id_} is still approved; to undo it: `lutra rollback {id_}`" in told.output
    assert shop.look(id_)["state"] == "approved"


@pytest.mark.parametrize(
    ("words", "waits_in", "left"),
    [
        (("next", "shop"), "waiting.Recommendations.ask", "the service goes on, and `lutra next shop` continues"),
        (("watch", "shop"), "commands.look.sleep", "what was watched goes on"),
        (("status",), "operations.Databases.list", "the same command continues"),
    ],
)
def test_ctrl_c_at_a_wait_says_what_goes_on(
    shop: Live,
    run: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    waits_in: str,
    left: str,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    shop.open()
    monkeypatch.setattr(f"lutra_client.{waits_in}", interrupted)
    told = run(*words)
    assert (told.exit_code, left in told.stderr, told.stdout.count("\n") <= 1) == (130, True, True), told.output
    assert shop.session["state"] == "running"


def test_what_cannot_be_done_is_one_line(shop: Live, run: Callable[..., Result]) -> None:
    assert run("next", "bakery").output == "Error: there is no database 'bakery': this token reaches shop\n"
    assert "404 not_found" in run("show", f"rec_{'0' * 22}").output
    assert "there is no database 'rec_none' (an id has 22 characters after rec_)" in run("show", "rec_none").output
    assert run("show", "").output == "Error: recommendation: an id must not be empty\n"
    run("next")
    assert "409 conflict" in run("sessions", "open").output


def test_a_session_that_answers_in_another_mode_than_it_was_opened_in_says_why(shop: Live, advice: Advice) -> None:
    shop.agent.mode = "observe"
    shop.agent.send()
    told = advice("sessions", "open", "--mode", "reload_only")
    assert "minimize p99_ms, observe, 0 of" in told
    assert "reload_only was requested, but the agent's newest report allows observe" in told
    assert 'set mode = "reload_only" in [agent] of its file and restart it' in told


def test_an_unknown_name_is_answered_with_near_ones_and_not_with_all(shop: Live, run: Callable[..., Result]) -> None:
    told = " ".join(run("status", "shp").output.split())
    assert "there is no database 'shp': did you mean shop? This token reaches shop" in told
    shop.service.database("db_orders")
    assert "no session yet" in run("status", "db_orders").output, "a name may begin as an id does"
    for n in range(20):
        shop.service.database(f"orders-{n}")
    told = " ".join(run("status", "order").output.split())
    assert "did you mean" in told
    assert told.count("orders-") == 5
    assert "This token reaches 22" in told
    far = run("status", "zzz").output
    assert "did you mean" not in far
    assert "orders-" not in far


def test_a_database_is_retired_taken_back_and_deleted(shop: Live, advice: Advice, run: Callable[..., Result]) -> None:
    assert "shop: postgresql, retired at" in advice("databases", "retire", "shop")
    assert "there is no database 'shop'" in run("status", "shop").output
    assert "retired" not in advice("databases", "unretire", "shop")
    assert "no session yet" in advice("status", "shop")
    advice("databases", "retire", "shop")
    assert CliRunner().invoke(main, ["databases", "delete", "shop"], input="n\n").exit_code == 1
    assert "deleted" in advice("databases", "delete", "shop", "--yes")
    assert "there is no retired database 'shop'" in run("databases", "delete", "shop", "--yes").output


def test_findings_are_read_accepted_and_counted_again(
    shop: Live, run: Callable[..., Result], advice: Advice, tmp_path: Path
) -> None:
    for _ in range(2):
        shop.agent.send(
            shop.agent.report(
                **shop.agent.window(**{"database.temp_files_per_s": 2.0, "database.temp_bytes_per_s": 1.6e7})
            )
        )
    failing = run("findings", "shop", "--fail-on", "fault", "--junit", str(tmp_path / "report.xml"))
    assert failing.exit_code == 1
    assert "fault sorts_spill: " in " ".join(failing.output.split())
    assert '<failure message="' in (tmp_path / "report.xml").read_text()
    found = json.loads(run("findings", "shop", "--json").output)
    assert found["symptoms"][0]["accepted"] is None

    told = advice("risks", "accept", "sorts_spill", "shop", "--because", "reports\x1b[2J at night", "--until", "30d")
    assert "fault sorts_spill accepted by test until " in told
    assert "reports?[2J at night" in told
    assert told in advice("risks", "list", "shop")
    last = " ".join(run("findings", "shop").output.split())
    assert "accepted fault sorts_spill: " in last
    assert "reports?[2J at night" in last
    assert "withdrawn" in advice("risks", "withdraw", "sorts_spill", "shop")
    assert advice("risks", "list", "shop") == "no finding is accepted"
    assert advice("findings", "shop", "--gone") == ""
    assert run("risks", "accept", "sorts_spill", "shop", "--because", "x", "--until", "soon").exit_code != 0


def test_where_nothing_could_be_judged_a_script_is_told_so(shop: Live, run: Callable[..., Result]) -> None:
    shop.service.database("bakery")
    for words in (("bakery",), ("nothing",), ("shop", "--fail-on", "bad")):
        refused = run("findings", *words)
        assert refused.exit_code == 2, words
        assert "nothing could be judged: " in refused.output


def test_a_recommendation_is_watched_from_state_to_state_until_it_ends(
    shop: Live, advice: Advice, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.open()
    id_ = advice("next").split()[0]
    advice("approve", "shop")
    monkeypatch.setattr("lutra_client.commands.look.sleep", lambda _: shop.carry_out(id_))
    told = advice("watch", id_)
    assert told.index(f"{id_} approved") < told.index(f"{id_} confirmed") < told.index("work_mem 4MB → 8MB")


def test_a_session_is_watched_by_the_name_of_its_database(
    shop: Live, advice: Advice, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "`lutra sessions open shop`" in run("watch", "shop").output
    shop.open()
    stop = f"/v1/sessions/{shop.session_id}/stop"
    monkeypatch.setattr("lutra_client.commands.look.sleep", lambda _: shop.service.take("POST", stop))
    told = advice("watch", "shop")
    assert told.index(f"{shop.session_id} running, 0 of 20") < told.index(f"{shop.session_id} stopped")


def test_a_recommendation_is_named_by_its_database(shop: Live, advice: Advice, run: Callable[..., Result]) -> None:
    assert "no recommendation of shop has changes: ask with `lutra next`" in run("show", "shop").output
    shop.open()
    id_ = advice("next").split()[0]
    assert "no recommendation of shop is applied or confirmed" in run("rollback", "shop").output
    assert advice("approve", "shop").startswith(id_)
    assert "no recommendation of shop is proposed" in run("reject", "shop").output
    shop.carry_out(id_)
    assert advice("show", "shop").startswith(id_)
    assert "work_mem 8MB → 4MB" in advice("rollback", "shop")


def test_a_setting_without_a_value_is_refused(shop: Live, run: Callable[..., Result]) -> None:
    told = run("what-if", "shop", "work_mem")
    assert (told.exit_code, "work_mem is not SETTING=VALUE, such as work_mem=64MB" in told.output) == (2, True)
