"""What every driver must do. A test class derives from DriverConformance and gives the fixture `driver`."""

from __future__ import annotations

from lutra_agent.drivers import Driver, DriverFailed, Measurement

from tests.support.waiting import until

NOTHING_ENDED = "completed no"


class DriverConformance:
    """`driver` loads a server that runs, for a second or two."""

    def test_its_context_is_plain_values_and_names_it(self, driver: Driver) -> None:
        context = driver.context()
        assert context["driver"] == driver.name
        assert context == driver.context()
        assert all(isinstance(value, int | float | str) for value in context.values())

    def test_it_measures_what_its_clients_saw_between_its_two_calls(self, driver: Driver) -> None:
        calls: list[str] = []

        def run() -> Measurement | None:
            """None where a busy disk held all clients up for the whole window, which the driver says."""
            calls.clear()
            try:
                return driver.run(lambda: calls.append("start"), lambda: calls.append("end"))
            except DriverFailed as error:
                if NOTHING_ENDED not in str(error):
                    raise
                return None

        measured = until(run)
        assert measured is not None
        assert calls == ["start", "end"]
        assert measured.window_start < measured.window_end
        assert measured.statement
        assert {"qps", "tps"} & set(measured.metrics)
        assert all(value >= 0 for value in measured.metrics.values())
        assert measured.metrics["p99_ms"] > 0
