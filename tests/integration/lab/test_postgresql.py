from __future__ import annotations

import pytest

from tests.support.servers.engines import scratch

pytestmark = pytest.mark.engine


def test_options_can_be_overridden_by_alter_system() -> None:
    with scratch("postgres18", work_mem="7MB") as server:
        assert server.sql("SHOW work_mem") == "7MB"
        server.sql("ALTER SYSTEM SET work_mem = '9MB'")
        server.sql("SELECT pg_reload_conf()")
        server.stop()
        server.start()
        assert server.sql("SHOW work_mem") == "9MB"
