"""What every driver must do. A test class derives from DriverConformance and gives the fixture `driver`."""

from __future__ import annotations

from lutra_agent.drivers import Driver, DriverFailed, Measurement
from lutra_agent.drivers.base import Moment, nothing

from tests.support.waiting import until

NOTHING_ENDED = "completed no"


def measurement(driver: Driver, on_window_start: Moment = nothing, on_window_end: Moment = nothing) -> Measurement:
    """Of the first window in which anything ended: a busy machine may hold all clients up for a whole one, which the
    driver says.
    """

    def run() -> Measurement | None:
        try:
            return driver.run(on_window_start, on_window_end)
        except DriverFailed as error:
            if NOTHING_ENDED not in str(error):
                raise
            return None

    found = until(run)
    assert found is not None
    return found


class DriverConformance:
    """`driver` loads a server that runs, for a second or two."""

    def test_its_context_is_plain_values_and_names_it(self, driver: Driver) -> None:
        context = driver.context()
        assert context["driver"] == driver.name
        assert context == driver.context()
        assert all(isinstance(value, int | float | str) for value in context.values())

    def test_it_measures_what_its_clients_saw_between_its_two_calls(self, driver: Driver) -> None:
        calls: list[str] = []
        measured = measurement(driver, lambda: calls.append("start"), lambda: calls.append("end"))
        assert calls == ["start", "end"] * max(1, len(calls) // 2)
        assert measured.window_start < measured.window_end
        assert measured.statement
        assert {"qps", "tps"} & set(measured.metrics)
        assert all(value >= 0 for value in measured.metrics.values())
        assert measured.metrics["p99_ms"] > 0
