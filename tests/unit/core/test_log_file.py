"""A log that a program writes as its standard error stays within a size, whoever else writes into it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WRITES = """
import logging, sys
from pathlib import Path
from lutra_models.log_file import LogHandler
logging.basicConfig(handlers=[LogHandler(Path(sys.argv[1]), 1000)], format="%(message)s", level="INFO")
for number in range(100):
    logging.info("%04d %s", number, "x" * 45)
"""
MODE = 0o600


def written(log: Path, named: Path) -> list[str]:
    """The numbers of the lines of a program whose standard error is `log`, and which takes `named` for its log."""
    with log.open("ab") as opened:
        subprocess.run([sys.executable, "-c", WRITES, named], stderr=opened, check=True)
        opened.write(b"last\n")
    return [line.split()[0] for line in log.read_text().splitlines()]


def test_it_is_copied_and_emptied_when_it_is_too_large(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.touch(MODE)
    kept = written(log, log)
    older = tmp_path / "agent.log.1"
    before = [line.split()[0] for line in older.read_text().splitlines()]
    assert before[-1:] + kept == [*(f"{n:04d}" for n in range(int(before[-1]), 100)), "last"], "no line is lost"
    assert log.stat().st_size <= 1100
    assert older.stat().st_size <= 1100
    assert older.stat().st_mode & 0o777 == MODE


def test_a_file_that_somebody_else_named_is_left_alone(tmp_path: Path) -> None:
    assert len(written(tmp_path / "theirs.log", tmp_path / "agent.log")) == 101
    (tmp_path / "agent.log").touch()
    assert len(written(tmp_path / "others.log", tmp_path / "agent.log")) == 101
    assert not (tmp_path / "agent.log.1").exists()
