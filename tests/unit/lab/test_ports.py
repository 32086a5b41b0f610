from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from lutra_lab.servers import ports


def test_a_port_is_free_and_below_those_of_clients() -> None:
    port = ports.free_port()

    assert port in ports.OFFERED
    with socket.create_server((ports.LOOPBACK, port)):
        assert ports.accepts(port)


def test_no_other_process_gets_a_port_that_was_just_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = range(first := 15_000 + 200 * (os.getpid() % 80), first + 200)  # another run's test has others
    monkeypatch.setattr(ports, "OFFERED", offered)
    monkeypatch.setattr(ports, "TRIES", 200)
    chosen = {ports.free_port() for _ in range(20)}
    asks_for_all = (
        "from lutra_lab.servers import ports\n"
        f"ports.OFFERED, ports.TRIES, ports.HELD = {offered!r}, 200, 200\n"
        "print(*(ports.free_port() for _ in range(150)))"
    )

    done = subprocess.run([sys.executable, "-c", asks_for_all], capture_output=True, text=True, check=True)

    assert chosen.isdisjoint(map(int, done.stdout.split()))


def test_where_every_port_is_taken_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_bound", lambda kind, port: None)

    with pytest.raises(OSError, match="none of 1000 ports between 15000 and 32767 is free"):
        ports.free_port()
