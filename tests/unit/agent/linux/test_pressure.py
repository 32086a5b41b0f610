"""What waits, as the kernel counts it: in bytes and seconds, and absent where the kernel does not say."""

from __future__ import annotations

from pathlib import Path

from lutra_agent.linux import pressure


def test_pages_are_bytes_stalls_are_seconds_and_what_is_not_told_is_absent(tmp_path: Path) -> None:
    for name, text in {
        "proc/vmstat": "nr_dirty 3\nnr_writeback 2\nnr_page_table_pages 7\npswpin 1\npswpout 4\nnr_dirty_threshold 9\n",
        "proc/pressure/io": "some avg10=0.00 avg60=0.13 avg300=6.23 total=2500000\nfull avg10=0.00 total=1\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    page = pressure.PAGE
    assert pressure.counters(tmp_path) == {
        "swap_in_bytes": page,
        "swap_out_bytes": 4 * page,
        "io_waiting_s": 2.5,
        "io_stopped_s": 1e-6,
    }
    assert pressure.gauges(tmp_path) == {"dirty_bytes": 5 * page, "page_tables_bytes": 7 * page}
    assert pressure.counters(tmp_path / "nothing") == pressure.gauges(tmp_path / "nothing") == {}
