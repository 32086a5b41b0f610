"""The drivers' suite, over the load that each scratch server suggests for itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lutra_agent.drivers import Driver, DriverFailed, build
from lutra_agent.errors import ConfigError
from lutra_lab.scratch import scratch_of

from tests.support.agent.processes import RATED
from tests.support.conformance.driver import DriverConformance
from tests.support.servers.databases import Where
from tests.support.servers.engines import program, scratch
from tests.support.servers.subjects import ENGINES

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SHORT = {"warmup_s": 1, "duration_s": 1}


@pytest.fixture(scope="class", params=ENGINES)
def loaded(request: pytest.FixtureRequest) -> Iterator[tuple[dict[str, object], Where]]:
    """A server that is filled, and the section that describes the load over it."""
    needed = scratch_of(request.param).lab.needs
    if needed:
        program(needed)
    with scratch(request.param) as server:
        driver = server.load(1).driver
        rate = {"rate": 100} if driver["kind"] in RATED else {}
        yield {**driver, **SHORT, **rate}, Where.of(server)


class TestSuggestedLoad(DriverConformance):
    @pytest.fixture
    def driver(self, loaded: tuple[dict[str, object], Where]) -> Driver:
        return build(*loaded)

    def test_a_server_that_is_away_fails_it_in_words(self, loaded: tuple[dict[str, object], Where]) -> None:
        section, where = loaded
        away = Where(where.host, 1, where.user, where.dbname, engine=where.engine)
        with pytest.raises(DriverFailed, match=r"\w+"):
            build(section, away).run()

    def test_a_key_that_it_does_not_know_is_refused(self, loaded: tuple[dict[str, object], Where]) -> None:
        section, where = loaded
        with pytest.raises(ConfigError, match="nonsense"):
            build({**section, "nonsense": 1}, where)
