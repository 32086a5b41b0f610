"""What the demo prints to paste, and of what it keeps."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from lutra_lab.demo import command, show
from lutra_models.catalog import meet
from rich.console import Console

from tests.support.reported.mysql import a_mysqld

INCLUDED = """# include_file
[mariadbd]
"""


@pytest.mark.parametrize(
    ("engine", "target", "printed"),
    [
        (
            "mariadb",
            {"key_buffer_size": "64M", "sort_buffer_size": "1M"},
            "SET GLOBAL key_buffer_size = 67108864;\nSET GLOBAL sort_buffer_size = 1048576;\n"
            f"{INCLUDED}loose_key_buffer_size = 67108864\nloose_sort_buffer_size = 1048576\n",
        ),
        (
            "mariadb",
            {"key_buffer_size": "64M", "back_log": 100},
            f"{INCLUDED}loose_key_buffer_size = 67108864\nloose_back_log = 100\n-- takes effect with a restart\n",
        ),
        ("mysql", {"back_log": 100}, "SET PERSIST_ONLY back_log = 100;\n-- takes effect with a restart\n"),
    ],
)
def test_statements_stand_among_statements_and_lines_under_their_file(
    engine: str, target: dict[str, str | int], printed: str
) -> None:
    live, out = meet(a_mysqld(engine)), StringIO()
    show.statements(Console(file=out), "best", live.steps(live.changes(target)))
    assert out.getvalue() == f"\nThe best configuration, verified\n{printed}"


def test_few_settings_that_give_most_of_the_gain_are_told_in_a_line() -> None:
    def told(*shares: float) -> str:
        out = StringIO()
        show.curve(Console(file=out), [{"settings": n, "share": share} for n, share in enumerate(shares)])
        return out.getvalue()

    line = "2 settings give 60%, 3 give 93%, 4 give 97% of the predicted gain of all 5\n"
    assert told(0.0, 0.3, 0.6, 0.93, 0.97, 1.0) == line
    assert told(0.0, 0.99, 1.0) == "1 setting gives 99% of the predicted gain of all 2\n"
    assert told() == ""


def test_a_store_that_is_there_already_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "lutra.db").touch()
    told = CliRunner().invoke(command.demo, ["--keep", str(tmp_path)])
    assert told.exit_code == 1
    assert f"{tmp_path / 'lutra.db'} is already a database" in told.output


def test_what_is_kept_is_told_with_the_commands_that_look_at_it(tmp_path: Path) -> None:
    console = Console(record=True, width=60)
    show.kept(console, tmp_path / "lutra.db")
    assert console.export_text(clear=False) == ""
    (tmp_path / "lutra.db").touch()
    show.kept(console, tmp_path / "lutra.db")
    told = console.export_text().splitlines()
    assert f"export LUTRA_DATABASE_URL=sqlite:///{tmp_path / 'lutra.db'}" in told
    assert "lutra serve &" in told
