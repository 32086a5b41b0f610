from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow, closed, current, following

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Apia"]
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1)).map(lambda m: m.replace(tzinfo=UTC))
WINDOWS = st.builds(
    MaintenanceWindow,
    st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=7, unique=True).map(tuple),
    st.times().map(lambda t: f"{t.hour:02}:{t.minute:02}"),
    st.integers(1, 1440),
    st.sampled_from(ZONES),
)


@given(WINDOWS, MOMENTS)
def test_a_window_opens_within_eight_days_and_closes_again(window: MaintenanceWindow, now: datetime) -> None:
    upcoming = following([window], now)
    assert upcoming is not None
    assert now < upcoming.start <= now + timedelta(days=8)
    assert upcoming.end - upcoming.start == timedelta(minutes=window.minutes)
    assert closed([window], upcoming.start) is None
    if len(window.weekdays) < 7 and window.minutes < 1380:
        gap = [i.end for i in window.around(now) if closed([window], i.end) is not None]
        assert gap


@given(WINDOWS, MOMENTS)
def test_it_begins_by_the_clocks_of_its_zone_on_one_of_its_days(window: MaintenanceWindow, now: datetime) -> None:
    for interval in window.around(now):
        local = interval.start.astimezone(ZoneInfo(window.zone))
        # An hour that the clocks leave out in spring is the one after it.
        assert local.strftime("%H:%M") == window.start or local.utcoffset() != (local - timedelta(hours=2)).utcoffset()


def test_a_window_may_reach_past_midnight() -> None:
    window = MaintenanceWindow(("sat",), "23:00", 180)
    assert closed([window], datetime(2026, 11, 22, 1, 30, tzinfo=UTC)) is None
    assert closed([window], datetime(2026, 11, 22, 2, 0, tzinfo=UTC)) is not None


def test_of_several_open_windows_the_longest_counts() -> None:
    now = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
    found = current([MaintenanceWindow(("sat",), "02:00", 60), MaintenanceWindow(("sat",), "02:00", 120)], now)
    assert found is not None
    assert found.end == datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def test_why_it_is_closed_is_told() -> None:
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    assert closed([], now) == "no maintenance window is set"
    window = MaintenanceWindow(("sun",), "02:00", 60, "Europe/Berlin")
    assert closed([window], now) == "the next maintenance window begins at 2026-11-22T01:00:00+00:00"
    unknown = MaintenanceWindow(("sun",), "02:00", 60, "Europe/Atlantis")
    assert "Europe/Atlantis" in (closed([unknown], now) or "")


@pytest.mark.parametrize(
    ("weekdays", "start", "minutes", "zone"),
    [
        ((), "02:00", 60, "UTC"),
        (("monday",), "02:00", 60, "UTC"),
        (("mon",), "2:00", 60, "UTC"),
        (("mon",), "24:00", 60, "UTC"),
        (("mon",), "02:00", 0, "UTC"),
        (("mon",), "02:00", 1441, "UTC"),
        (("mon",), "02:00", 60, "no zone"),
    ],
)
def test_nonsense_is_no_window(weekdays: tuple[str, ...], start: str, minutes: int, zone: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        MaintenanceWindow(weekdays, start, minutes, zone)  # type: ignore[arg-type]
