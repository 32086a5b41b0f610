"""What the demo prints to paste."""

from __future__ import annotations

from io import StringIO

import pytest
from lutra_lab.demo import show
from lutra_models.catalog import meet
from rich.console import Console

from tests.support.mysql_servers import a_mysqld

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
    assert out.getvalue() == f"\nThe best configuration, as it was verified\n{printed}"
