"""What the demo prints to paste."""

from __future__ import annotations

from io import StringIO

import pytest
from lutra_lab.demo import show
from lutra_models.catalog import meet
from lutra_service.common.serialize import change_to_dict
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
    show.statements(Console(file=out), [change_to_dict(s) for s in live.steps(live.changes(target))])
    assert out.getvalue() == f"\nThe best configuration\n{printed}"


def test_few_settings_that_give_most_of_the_gain_are_told_in_a_line() -> None:
    def told(*shares: float) -> str:
        out = StringIO()
        show.curve(Console(file=out), [{"settings": n, "share": share} for n, share in enumerate(shares)])
        return out.getvalue()

    line = "2 settings give 60%, 3 give 93%, 4 give 97% of the predicted gain of all 5\n"
    assert told(0.0, 0.3, 0.6, 0.93, 0.97, 1.0) == line
    assert told(0.0, 0.99, 1.0) == "1 setting gives 99% of the predicted gain of all 2\n"
    assert told() == ""
