"""The server's own file: what it says, and what a change leaves of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.redis.sources.conf import PIKA, REDIS, same

FILE = b"""# made by hand
requirepass "a secret"
Maxmemory 1gb
save 3600 1
save 300 100
hz 10
hz 20   """
NAMES = frozenset({"maxmemory", "save", "hz", "appendonly"})


def test_it_says_the_last_line_of_a_setting_and_all_pairs_of_one_that_has_such() -> None:
    said = {"maxmemory": "1gb", "save": "3600 1 300 100", "hz": "20"}
    assert REDIS.says(FILE, NAMES) == {**said, "requirepass": "a secret"}
    assert REDIS.says(b"user a on\nuser b off\n", NAMES) == {"user": "a on\nb off"}
    assert REDIS.says(FILE + b'\nsave ""\n', NAMES)["save"] == ""
    assert REDIS.says(b"save 'not ended", NAMES) is not None


def test_a_change_replaces_all_lines_of_a_setting_and_leaves_every_other_one_alone() -> None:
    new = REDIS.rewritten(FILE, {"hz": "50", "save": "60 1 900 2", "maxmemory": "1gb", "appendonly": None})
    assert new == b'# made by hand\nrequirepass "a secret"\nMaxmemory 1gb\nhz 50\nsave 60 1\nsave 900 2\n'
    assert REDIS.rewritten(new, {"save": ""}).endswith(b'hz 50\nsave ""\n')


def test_a_unit_in_a_file_is_what_its_product_takes_it_for() -> None:
    assert same("20M", "20971520", PIKA.kilo)
    assert same("20M", "20000000", REDIS.kilo)
    assert same("20mb", "20971520", REDIS.kilo)
    assert not same("20M", "20000000", PIKA.kilo)


def test_what_no_line_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="hz: no line of the server's file contains"):
        REDIS.rewritten(b"", {"hz": "1\nrequirepass x"})


def test_pika_reads_another_name_from_its_file_than_it_answers_to() -> None:
    content = b"max-write-buffer-number : 9\nmax-write-buffer-num : 3\ntimeout : 60\n"
    settings = frozenset({"max-write-buffer-number"})
    assert PIKA.says(content, settings) == {"max-write-buffer-number": "3", "timeout": "60"}
    new = PIKA.rewritten(content, {"max-write-buffer-number": "5"})
    assert new == b"max-write-buffer-number : 9\ntimeout : 60\nmax-write-buffer-num : 5\n"


def test_a_long_line_and_many_lines_cost_no_more_than_their_length() -> None:
    """Where each space, or each line, read what is before it again, this would not end."""
    spaces = b" " * 1_000_000
    assert REDIS.says(b"masteruser x" + spaces + b"y\n hz  20" + spaces, NAMES) == {"masteruser": "x y", "hz": "20"}
    assert PIKA.says(b"hz" + spaces + b": 20" + spaces + b"\n", NAMES) == {"hz": "20"}
    assert PIKA.says(b"a : x" + spaces + b"y\n", NAMES)["a"].startswith("x  ")
    assert len(REDIS.says(b"user a\n" * 300_000, NAMES)["user"]) == 2 * 300_000 - 1
    assert REDIS.says(b"save 1 2\n" * 200_000, NAMES)["save"].startswith("1 2 1 2")


@given(st.binary(max_size=200), st.sampled_from(["20", "", "a b", 'x"y', "\\"]))
def test_whatever_a_file_holds_it_says_what_was_written_last(content: bytes, text: str) -> None:
    assert same(REDIS.says(REDIS.rewritten(content, {"hz": text}), NAMES)["hz"], text)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [("1gb", "1073741824", True), ("1g", "1000000000", True), ("yes", "YES", True), ("1kb", "1000", False)],
)
def test_texts_of_one_value(one: str, other: str, equal: bool) -> None:
    assert same(one, other) is equal
