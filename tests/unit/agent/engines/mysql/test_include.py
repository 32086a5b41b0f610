from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.mysql.sources import include
from lutra_agent.engines.mysql.sources.include import Entry, entries
from lutra_models.catalog.statements.mariadb import line


def test_a_line_is_written_replaced_and_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "zz-lutra.cnf"
    include.write(file, line("sort_buffer_size", "4194304"), 10.5)
    include.write(file, line("max_connections", "200"), 11.0)
    include.write(file, line("sort_buffer_size", "8388608"), 12.25)
    assert include.read(file) == {"max_connections": Entry("200", 11.0), "sort_buffer_size": Entry("8388608", 12.25)}
    include.write(file, line("max_connections", None), 13.0)
    assert list(include.read(file)) == ["sort_buffer_size"]
    assert "[mariadbd]" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_long_line_costs_no_more_than_its_length() -> None:
    """Where each space read what is before it again, this would not end."""
    spaces = " " * 1_000_000
    assert entries(f"[server]\na = x{spaces}y{spaces}\n")["a"].value.startswith("x  ")
    assert entries(f'[server]\na = "x"{spaces}y\nb = "x" # 1.5{spaces}')["b"] == Entry("x", 1.5)
    assert entries(f"[{spaces}\n[ server {spaces}]\na = 1\n") == {"a": Entry("1", None)}
    assert include.others(f"[{spaces}\n") == ""


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert include.read(tmp_path / "absent.cnf") == {}
    assert include.read(None) == {}


def test_what_an_operator_wrote_there_is_kept_and_read(tmp_path: Path) -> None:
    file = tmp_path / "zz-lutra.cnf"
    file.write_text("# by hand\n[mysqld]\nsort-buffer-size=2M\nskip_name_resolve\n")
    file.chmod(0o640)
    assert include.read(file) == {"sort_buffer_size": Entry("2M", None)}
    include.write(file, line("join_buffer_size", "262144"), 1.0)
    assert file.read_text().startswith("# by hand\n[mysqld]\nsort-buffer-size=2M\nskip_name_resolve\n")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "zz-lutra.cnf"
    include.write(file, line("max_connections", "200"), 1.0)
    before = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        include.write(file, line("max_connections", "300"), 2.0)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["zz-lutra.cnf"]


@given(st.text(st.characters(codec="utf-8"), max_size=300))
def test_reading_is_total_on_arbitrary_text(text: str) -> None:
    assert all(isinstance(e.value, str) for e in entries(text).values())


@given(
    st.from_regex(r"[a-z][a-z_]{0,30}", fullmatch=True),
    st.one_of(
        st.integers(-(2**63), 2**64).map(str),
        st.floats(0, 1e9).map(repr),
        st.sampled_from(["on", "O_DIRECT", "mrr=on,mrr_cost_based=off", "a b", "x#y"]),
    ),
    st.floats(1, 4e9),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: str, at: float
) -> None:
    file = tmp_path_factory.mktemp("include") / "x.cnf"
    include.write(file, line(name, value), at)
    found = include.read(file)[name]
    assert found.value == value
    assert found.written_s == pytest.approx(at, abs=0.001)


def test_a_file_that_belongs_to_another_account_keeps_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "zz-lutra.cnf"
    file.write_text("# made beforehand\n[mariadbd]\n")
    file.chmod(0o664)
    inode = file.stat().st_ino

    def denied(descriptor: int, uid: int, gid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.fchown", denied)
    monkeypatch.setattr("os.geteuid", lambda: 998)
    include.write(file, line("max_connections", "200"), 1.0)
    assert include.read(file) == {"max_connections": Entry("200", 1.0)}
    assert (file.stat().st_ino, file.stat().st_mode & 0o777) == (inode, 0o664)
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


OTHERS = """[mariadbd]
loose_sort_buffer_size = 262144 # 1.000

[client]
sort_buffer_size = 7
"""


def test_what_stands_under_another_section_is_not_the_servers() -> None:
    assert entries(OTHERS) == {"sort_buffer_size": Entry("262144", 1.0)}
    assert entries("[mariadb-10.5]\nsort_buffer_size = 7\n") == {}
    assert entries("sort_buffer_size = 7\n") == {}


@pytest.mark.parametrize(
    "more", ["[client]\nuser = me\n", "[mysqld_safe]\n", "!includedir /etc/other\n", "[mysqld-8.0]\n"]
)
def test_a_file_that_is_not_the_agents_own_is_named_and_left_alone(tmp_path: Path, more: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[mariadbd]\n{more}")
    with pytest.raises(OSError, match="give the agent a separate file") as refused:
        include.write(file, line("max_connections", "200"), 1.0)
    assert more.split("\n", 1)[0] in str(refused.value)
    assert file.read_text() == f"[mariadbd]\n{more}"


def test_lines_go_under_a_section_that_the_server_reads() -> None:
    assert include.rewritten("# nothing yet\n", {"max_connections": "9"}, 1.0) == (
        "# nothing yet\n[mariadbd]\nloose_max_connections = 9 # 1.000\n"
    )
    changed = include.rewritten(OTHERS, {"sort_buffer_size": "9"}, 2.0)
    assert changed == ("[mariadbd]\n\n[client]\nsort_buffer_size = 7\n[mariadbd]\nloose_sort_buffer_size = 9 # 2.000\n")


@pytest.mark.parametrize("value", ['a"b', "1\n!include /tmp/evil.cnf", "1\x00"])
def test_a_value_that_would_be_more_than_one_line_is_refused(tmp_path: Path, value: str) -> None:
    file = tmp_path / "zz-lutra.cnf"
    with pytest.raises(OSError, match="no line of an option file"):
        include.write(file, line("max_connections", value), 1.0)
    assert not file.exists()


def test_bytes_of_another_encoding_stay_as_they_are(tmp_path: Path) -> None:
    theirs = "[mysqld]\n# caf\xe9\n".encode("latin-1")
    file = tmp_path / "lutra.cnf"
    file.write_bytes(theirs)
    assert include.read(file) == {}
    include.write(file, line("sort_buffer_size", "262144"), 7.0)
    assert file.read_bytes().startswith(theirs)
    assert set(include.read(file)) == {"sort_buffer_size"}
