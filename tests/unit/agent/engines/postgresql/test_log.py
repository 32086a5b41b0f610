"""Durations from a server's log: what its lines say, where they are, and what they add up to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.telemetry.log.durations import Durations, Tally, p99
from lutra_agent.engines.postgresql.telemetry.log.reader import Follower, LogReader
from lutra_agent.engines.postgresql.telemetry.log.records import LONGEST_RECORD, Duration, Records, parser
from lutra_agent.engines.postgresql.telemetry.log.settings import Logged, parse
from lutra_agent.errors import CollectionFailed

PREFIX = "%m [%p] %q%u@%d "
AT = "2026-11-22 19:00:00.123"
SAMPLED = {"log_min_duration_sample": "0", "log_statement_sample_rate": "0.1", "log_line_prefix": PREFIX}
WHOLE = {"log_transaction_sample_rate": "0.1", "log_line_prefix": PREFIX}


def plain(text: str, prefix: str = PREFIX, bare: bool = False) -> list[Duration]:
    return list(parser("stderr", prefix, bare)(Records("stderr").ended(text)))


def line(message: str, pid: int = 7, at: str = AT) -> str:
    return f"{at} UTC [{pid}] me@shop LOG:  {message}\n"


def row(message: str) -> str:
    """As the server writes it: texts in quotes, with the quotes in them doubled."""
    quoted = message.replace('"', '""')
    return f'{AT} UTC,"me","shop",7,"[local]",6.1,1,"SELECT",{AT} UTC,3/4,0,LOG,00000,"{quoted}",,,,,,,,,"","x",,0\n'


def of_rows(texts: Sequence[str]) -> list[float]:
    records, read = Records("csvlog"), parser("csvlog", "", False)
    return [d.ms for text in texts for d in read(records.ended(text))]


def test_a_line_of_each_format_gives_the_same_duration() -> None:
    message = "duration: 12.345 ms  statement: SELECT 1,\n'a \"b\"'"
    as_json = json.dumps({"timestamp": f"{AT} UTC", "pid": 7, "error_severity": "LOG", "message": message}) + "\n"
    found = plain(line(message.replace("\n", "\n\t")))
    for form, text in (("jsonlog", as_json), ("csvlog", row(message))):
        records = Records(form)
        for part in (text + text[:20], text[20:]):
            assert list(parser(form, "", False)(records.ended(part))) == found
    assert [(d.ms, d.part, d.pid) for d in found] == [(12.345, "other", 7)]


@pytest.mark.parametrize("prefix", ["%m [%p] ", "%t:%h:%u [%5p]: ", "", "%n %p %a %% "])
def test_a_prefix_is_read_as_the_server_writes_it(prefix: str) -> None:
    begin = prefix.replace("%m", f"{AT} UTC").replace("%t", "2026-11-22 19:00:00 UTC").replace("%h", "10.0.0.1")
    begin = begin.replace("%u", "me").replace("%5p", "    7").replace("%p", "7").replace("%n", "1795374000.123")
    begin = begin.replace("%a", "shop").replace("%%", "%")
    found = plain(f"{begin}LOG:  duration: 3.000 ms  execute s1: UPDATE t\n", prefix)
    assert [(d.ms, d.part) for d in found] == [(3.0, "other")]


def test_no_statement_can_write_a_line_of_another() -> None:
    faked = line("duration: 1.000 ms  statement: SELECT '\n" + "\t" + line("duration: 99999.000 ms  statement: x"))
    assert [d.ms for d in plain(faked)] == [1.0]
    assert plain("LOG:  duration: 5.000 ms  statement: x\n") == []
    assert plain(line("statement: SELECT 'duration: 5.000 ms  statement: x'")) == []


FORGED = "x LOG:  duration: 99999.000 ms"
SEVERITIES = ["LOG", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "DEBUG", "DETAIL", "HINT", "QUERY"]
SEVERITIES += ["CONTEXT", "LOCATION", "STATEMENT", "BACKTRACE", "FEHLER", "ОШИБКА", "错误"]


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("forged", [FORGED, f"{FORGED}  statement: "])
def test_no_client_forges_a_duration_where_the_prefix_names_it(severity: str, forged: str) -> None:
    begin = f"{AT} UTC [7] "
    assert plain(f'{begin}me@shop {severity}:  invalid input syntax: "{forged}"\n') == []
    for names in (f"{forged}@shop", f"me@{forged}"):
        assert plain(f"{begin}{names} {severity}:  something\n") == []
        assert plain(f"{begin}{names} LOG:  duration: 1.000 ms  statement: x\n") == []


@pytest.mark.parametrize("name", ["a b", "a@b", "[9]", "a:b", "me LOG: x", "é"])
def test_names_that_leave_a_line_clear_are_read(name: str) -> None:
    text = f"{AT} UTC [7] {name}@{name} LOG:  duration: 1.000 ms  statement: x\n"
    assert [(d.ms, d.pid) for d in plain(text)] == [(1.0, 7)]


def test_no_name_forges_a_process() -> None:
    message = "LOG:  duration: 1.000 ms  statement: x\n"
    assert [d.pid for d in plain(f"me:[9]: @shop:[7]: {message}", "%u@%d:[%p]: ")] == [7]
    assert [d.pid for d in plain(f"me [7] shop {message}", "%u [%p] %d ")] == [7]
    assert plain(f"me [9] [7] shop {message}", "%u [%p] %d ") == []
    assert plain(f"me17 {message}", "%u%p ") == []


def test_a_prefix_without_names_lets_a_statement_say_anything() -> None:
    text = f"{AT} UTC [7] LOG:  duration: 1.000 ms  statement: SELECT 'ERROR:  {FORGED}'\n"
    assert [d.ms for d in plain(text, "%m [%p] ")] == [1.0]
    assert plain(f"{AT} UTC [7] ERROR:  {FORGED}\n", "%m [%p] ") == []


@pytest.mark.parametrize(
    "prefix", [PREFIX, "%t:%r:%u@%d:[%p]: ", "%u%p %d", "%a%u%d%h%p", "%u [%p] %d [%l] ", "%5p%-9p%u"]
)
@pytest.mark.parametrize("unit", [":", "@", ":[1]: ", "1", " ", "[", ":@:[", "LOG:  duration: ", "A"])
def test_long_lines_cost_no_more_than_their_length(prefix: str, unit: str) -> None:
    """Where a part of a line was read again for each of its characters, this would not end."""
    long = unit * (300_000 // len(unit))
    for begin in (f"{AT} UTC [7] ", "2026-11-22 19:00:00 UTC:", "7", ""):
        assert plain(f"{begin}{long}LOG:  duration: 1.000 msx\n", prefix) == []


@pytest.mark.parametrize("width", ["-4294967296", "9" * 20, "-" + "9" * 5000, "-", "007"])
def test_a_padding_of_any_width_is_a_prefix(width: str) -> None:
    assert plain(f"{AT} UTC [7] LOG:  duration: 1.000 ms  statement: x\n", f"%{width}m [%p] ")


ONE = row("duration: 1.000 ms  statement: x")
TWO = row("duration: 2.000 ms  statement: '\n\"'")
FAKE = f"{AT} UTC,me,shop,7,local,6.1,1,SELECT,,,,LOG,00000,duration: 99999.000 ms,,"


def test_a_record_of_many_lines_and_samples_is_read_once() -> None:
    """Where each line or each sample read the whole record again, this would not end."""
    lines = row("duration: 3.000 ms  statement: SELECT '" + '"\n' * 300_000 + "'")
    for texts in ([lines, ONE], [*lines[:200_000], lines[200_000:], ONE]):
        records = Records("csvlog")
        assert [r + "\n" for text in texts for r in records.ended(text)] == [lines, ONE]


@pytest.mark.parametrize("text", ["x", "x\n", "\n", '"\n', f"\n{FAKE}\n"])
def test_a_record_that_is_too_long_is_left_out_whole(text: str) -> None:
    lines = row(f"duration: 3.000 ms  statement: {text * (LONGEST_RECORD // len(text) + 1)}")
    middle = len(lines) // 2
    assert of_rows([ONE, lines[:middle], lines[middle:], ONE, TWO]) == [1.0, 1.0, 2.0]
    assert plain("x" * (LONGEST_RECORD + 1) + "\n" + line("duration: 1.000 ms"))[0].ms == 1.0


@pytest.mark.parametrize("fake", [FAKE, ONE.strip(), FAKE.replace(",me,shop,", ',"",,').replace(",local", ',"local')])
def test_reading_that_begins_amid_a_record_finds_the_next_and_believes_no_text(fake: str) -> None:
    cut = row(f"duration: 3.000 ms  statement: '\n{fake}\n{fake}\n'").partition("\n")[2]
    assert of_rows([cut, ONE, TWO, ONE, TWO]) == [1.0, 2.0, 1.0, 2.0]
    assert of_rows([cut.partition("\n")[0] + "\n" + ONE]) == [1.0]


def test_garbage_gives_nothing_and_raises_nothing() -> None:
    for form in ("jsonlog", "csvlog"):
        texts = [
            '{"message": "duration: 1.000 ms"',
            '["duration: "]',
            '"duration: ',
            "duration: ,,,",
            "[" * 5000 + "duration: ",
        ]
        assert list(parser(form, "", False)(texts)) == []


class Server:
    """Answers what is asked about its log."""

    def __init__(self, file: Path | None, **settings: str) -> None:
        self.file, self.settings = file, settings

    def rows(self, _query: str, _parameters: object) -> list[tuple[str, str]]:
        return list(self.settings.items())

    def row(self, _query: str, parameters: tuple[str]) -> tuple[str | None]:
        return (str(self.file) if self.file and parameters == ("stderr",) else None,)


def test_the_agents_own_statements_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.touch()
    server, reader = cast(Connection, Server(file, **SAMPLED)), LogReader()
    reader.read(server, tmp_path)
    own = line("duration: 1.000 ms  statement: SELECT /* lutra-agent */ 1")
    file.write_text(own + line("duration: 2.000 ms  statement: SELECT 1") + "half a li")
    found = reader.read(server, tmp_path)
    assert found is not None
    assert sum(found.lines) == 1
    assert reader.objection(server, tmp_path) == ""


def test_a_log_that_cannot_be_read_is_named_with_the_way_out(tmp_path: Path) -> None:
    gone = cast(Connection, Server(tmp_path / "gone.log", **SAMPLED))
    assert "let the agent's account read it" in LogReader().objection(gone, tmp_path)
    with pytest.raises(CollectionFailed, match=r"gone\.log"):
        LogReader().read(gone, tmp_path)
    assert "database.server_log" in LogReader().objection(cast(Connection, Server(None)), tmp_path)
    (tmp_path / "a.log").touch()
    silent = cast(Connection, Server(None))
    assert "database.server_log" in LogReader().objection(gone, None)  # of another host
    assert "logs no durations" in LogReader(tmp_path / "a.log").objection(silent, None)
    assert LogReader(tmp_path / "a.log").read(silent, None) is None


def test_bare_durations_are_left_out_where_every_statement_has_one() -> None:
    assert plain(line("duration: 1.000 ms"), bare=True) == []
    assert [d.ms for d in plain(line("duration: 1.000 ms"))] == [1.0]


def tallied(settings: dict[str, str], durations: Sequence[Duration]) -> Durations:
    tally = Tally(parse(settings, "stderr"))
    tally.add(durations)
    return tally.durations()


def nothing(settings: dict[str, str]) -> Durations:
    return tallied(settings, [])


def test_sampled_statements_give_the_p99_of_all() -> None:
    found = p99(nothing(SAMPLED), tallied(SAMPLED, [Duration(1.0)] * 950 + [Duration(40.0)] * 50), None)
    assert found is not None
    assert found.of == "statement"
    assert found.ms == pytest.approx(40, rel=0.15)
    assert 0 < found.error_share < 0.5


def test_slow_statements_that_are_logged_in_any_case_count_once() -> None:
    settings = {**SAMPLED, "log_min_duration_statement": "30"}
    found = tallied(settings, [Duration(1.0)] * 100 + [Duration(40.0)] * 9)
    assert sum(found.masses) == pytest.approx(1009)
    told = p99(nothing(settings), found, None)
    assert told is not None
    assert told.ms < 2


def test_a_threshold_needs_the_number_of_all_statements() -> None:
    settings = {"log_min_duration_statement": "10", "log_line_prefix": PREFIX}
    slow = tallied(settings, [Duration(20.0)] * 50)
    assert p99(nothing(settings), slow, None) is None
    found = p99(nothing(settings), slow, 2000)
    assert found is not None
    assert found.ms == pytest.approx(20, rel=0.15)
    assert p99(nothing(settings), slow, 20_000) is None, "below the threshold nobody knows"


def test_a_transaction_is_as_long_as_from_its_begin_to_its_end() -> None:
    steps = [
        Duration(0.1, "begin", 7, 100.0001),
        Duration(1.0, "other", 7, 100.004),
        Duration(9.0, "other", 8, 100.009),
        Duration(5.0, "end", 7, 100.020),
        Duration(3.0, "end", 9, 100.030),
        Duration(0.2, "before", 8, 100.040),
        Duration(0.3, "other", 8, 100.041),
    ]
    found = tallied(WHOLE, steps)
    assert found.logged.of == "transaction"
    assert sum(found.lines) == 3
    assert sum(found.masses) == pytest.approx(30)
    longest = max(i for i, n in enumerate(found.lines) if n)
    assert tallied(WHOLE, [Duration(20.0, "other", 1, 1.0)]).lines[longest] == 1


@pytest.mark.parametrize(
    ("settings", "of"),
    [
        (SAMPLED, "statement"),
        (WHOLE, "transaction"),
        ({**WHOLE, "log_line_prefix": "%t "}, "statement"),
        ({**WHOLE, **SAMPLED}, "statement"),
        ({"log_min_duration_statement": "0", "log_line_prefix": PREFIX}, "transaction"),
    ],
)
def test_transactions_are_told_where_the_log_has_them_whole(settings: dict[str, str], of: str) -> None:
    assert parse(settings, "stderr").of == of


def test_a_server_that_logs_no_durations_and_changed_rules_give_no_p99() -> None:
    assert parse({}, "stderr").least_ms is None
    assert p99(nothing(SAMPLED), tallied(WHOLE, [Duration(1.0)] * 500), None) is None
    few = tallied(SAMPLED, [Duration(1.0)] * 9)
    assert p99(nothing(SAMPLED), few, None) is None


def test_a_line_stands_for_as_many_as_the_rules_say() -> None:
    both = Logged(100.0, 10.0, 0.5, 0.2, False, "", True)
    assert [both.weight(ms) for ms in (1, 50, 200)] == pytest.approx([5, 1 / 0.6, 1])


def test_a_log_is_followed_from_its_end_across_rotation_and_truncation(tmp_path: Path) -> None:
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text("old\n")
    follower = Follower()
    assert follower.appended(first) == b""
    first.write_text("old\nnew\n")
    assert follower.appended(first) == b"new\n"
    first.write_text("old\nnew\nlast")
    second.write_text("next\n")
    assert follower.appended(second) == b"last\nnext\n"
    second.write_text("x\n")
    assert follower.appended(second) == b"x\n"
    first.unlink()
    second.rename(first)
    second.write_text("again\n")
    assert follower.appended(second) == b"again\n"
    second.unlink()
    with pytest.raises(OSError, match="No such file"):
        follower.appended(second)


def test_of_more_than_can_be_read_the_latest_whole_lines_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lutra_agent.engines.postgresql.telemetry.log.reader.MOST_BYTES", 10)
    file = tmp_path / "a.log"
    file.touch()
    follower = Follower()
    follower.appended(file)
    file.write_text("123456789\nabc\ndef\n")
    assert follower.appended(file) == b"abc\ndef\n"
