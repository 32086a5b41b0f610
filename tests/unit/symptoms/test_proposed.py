"""What a finding would say of a value that nobody has set yet."""

from __future__ import annotations

import pytest
from lutra_models.catalog import meet
from lutra_models.knobs import Value
from lutra_models.server import Policy, Server
from lutra_models.symptoms.proposed import said_of

from tests.support.reported.postgresql import a_server


def told(server: Server, **wanted: str | float) -> str:
    live = meet(server)
    values: dict[str, Value] = {n: live.parse(n, v) for n, v in wanted.items()}
    return " ".join(said_of(live, Policy(), values))


@pytest.mark.parametrize(
    ("server", "wanted", "says"),
    [
        (a_server("15"), {"autovacuum": "off"}, "Autovacuum is off"),
        (a_server("15"), {"track_counts": "off"}, "track_counts is off"),
        (a_server("15"), {"enable_hashjoin": "off"}, "Off: enable_hashjoin"),
        (a_server("15", 4), {"work_mem": "1GB"}, "The settings allow"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_dangerous_value_is_told_before_it_is_active(
    server: Server, wanted: dict[str, str | float], says: str
) -> None:
    assert says in told(server, **wanted)


def test_a_value_that_harms_nothing_is_no_news_and_neither_is_what_shows_already() -> None:
    assert told(a_server("15"), work_mem="8MB", max_wal_size="4GB") == ""
    assert told(a_server("15"), autovacuum="on") == ""
    off = a_server("15", autovacuum="off")
    assert told(off, work_mem="8MB") == ""
    assert told(off, autovacuum="on") == ""
