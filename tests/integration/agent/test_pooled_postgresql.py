"""An application whose pool the agent shares: the agent ends no statement of it, and leaves nothing in its sessions."""

from __future__ import annotations

import pytest
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.metrics.rates import Span, span
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.reported.samples import sample
from tests.support.servers.pooler import pooler
from tests.support.service.pooled import TABLE, Application, working

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]

TRANSACTIONS, REPORTS = 500, 2


@pytest.mark.parametrize("mode", ["session", "transaction", "statement"])
def test_no_client_of_a_small_pool_meets_the_agent(postgres15: ScratchPostgres, mode: str) -> None:
    postgres15.sql(TABLE)
    with pooler(postgres15, mode) as port:
        application = Application(postgres15, port, several=mode != "statement")
        before, windows = set(application.sessions().values()), 0
        section = PostgresqlDatabase("postgresql", postgres15.host, port, postgres15.user, dbname=postgres15.dbname)
        engine = family("postgresql").open(section)

        def goes_on() -> bool:
            return application.done < TRANSACTIONS or application.reports < REPORTS

        with working(application, goes_on):
            last = sample(engine)
            while goes_on() and not application.errors:
                found, last = span(last, new := sample(engine)), new
                assert isinstance(found, Span)
                assert (*new.problems, *found.problems) == ()
                engine.server(None)
                engine.telemetry.visible()
                windows += 1
        engine.health.close()
        assert application.errors == []
        assert windows
        assert set(application.sessions().values()) == before
