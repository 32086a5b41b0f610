"""A settings file with some settings changed, and every other line as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.mysql.sources.mysql import rewritten as rewritten_persisted
from lutra_agent.engines.postgresql.settings import parse_settings_file, rewritten
from lutra_agent.engines.postgresql.settings import persisted as persisted_texts
from lutra_agent.engines.postgresql.source import AutoConf

NAMES = ("work_mem", "jit", "search_path")
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30)


@given(st.dictionaries(st.sampled_from(NAMES), st.none() | TEXTS), st.dictionaries(st.sampled_from(NAMES), TEXTS))
def test_a_postgresql_file_says_what_was_asked_and_keeps_the_rest(
    asked: dict[str, str | None], before: dict[str, str]
) -> None:
    others = "# a comment\narchive_command = 'cp %p ''/b''/%f'\n"
    text = rewritten(others, dict(before))
    found = rewritten(text, asked)
    assert found.startswith(others)
    expected = {**before, **asked}
    said = parse_settings_file(found)
    assert {n: said.get(n) for n in NAMES} == {n: expected.get(n) for n in NAMES}


AUTO: dict[str, Any] = {
    "Version": 2,
    "mysql_static_parse_early_variables": {"table_open_cache_instances": {"Value": "4", "Metadata": {"Timestamp": 1}}},
    "mysql_dynamic_variables": {"sort_buffer_size": {"Value": "262144", "Metadata": {"Timestamp": 2}}},
}


def mysql(texts: dict[str, str | None], content: bytes = json.dumps(AUTO).encode()) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rewritten_persisted(content, texts, 7.0))
    return found


def test_a_mysql_file_keeps_the_section_of_each_setting() -> None:
    found = mysql({"table_open_cache_instances": "8", "sort_buffer_size": None, "thread_stack": "1048576"})
    early = found["mysql_static_parse_early_variables"]["table_open_cache_instances"]
    assert (early["Value"], early["Metadata"]["Timestamp"]) == ("8", 7_000_000)
    assert found["mysql_dynamic_variables"] == {}
    assert found["mysql_static_variables"]["thread_stack"]["Value"] == "1048576"
    assert mysql({"sort_buffer_size": "262144"}) == AUTO


def test_a_mysql_file_that_is_not_there_is_begun() -> None:
    found = mysql({"sort_buffer_size": "1"}, b"")
    assert (found["Version"], found["mysql_dynamic_variables"]["sort_buffer_size"]["Value"]) == (2, "1")


@pytest.mark.parametrize("content", [b"[]", b"no JSON"])
def test_what_is_no_mysql_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        mysql({"sort_buffer_size": "1"}, content)


def test_bytes_of_another_encoding_in_a_postgresql_file_stay_as_they_are(tmp_path: Path) -> None:
    """ALTER SYSTEM in a LATIN1 database leaves such a line."""
    theirs = "log_line_prefix = 'caf\xe9 %m '\n".encode("latin-1")
    file = tmp_path / "postgresql.auto.conf"
    file.write_bytes(theirs)
    nobody: Any = None
    assert list(persisted_texts(nobody, file) or ()) == ["log_line_prefix"]
    assert AutoConf(nobody).rewritten(theirs, {"work_mem": "8MB"}).startswith(theirs)
