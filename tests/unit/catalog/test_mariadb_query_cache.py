"""MariaDB's query cache: a server that starts with a size turns it on, also where it was off before."""

from __future__ import annotations

import pytest
from lutra_models.catalog import load, meet
from lutra_models.server import Host, Server, ServerSetting

GB = 1 << 30


@pytest.mark.parametrize("state", ["OFF", "ON", "DEMAND"])
def test_its_size_counts_whether_it_is_on_or_not(state: str) -> None:
    settings = {
        "query_cache_type": ServerSetting(state, "", "enum", options=("OFF", "ON", "DEMAND")),
        "query_cache_size": ServerSetting("1048576", "B", "integer", 0, 2**63),
    }
    server = Server("mariadb", "10.11.14", settings, Host(8 * GB, 4.0))
    assert "query_cache_size" in {row.name for row in load("mariadb").rows_for(server.version)}
    (term,) = (t for t in meet(server).worst_case({"query_cache_size": 4 * GB}).terms if t.name == "query_cache_size")
    assert term.bytes == 4 * GB
