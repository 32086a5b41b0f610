"""The server's allocator under a real systemd: what the process has loaded before, with and after a change of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.linux import allocators
from lutra_agent.linux.allocators import OWN, drop_in
from lutra_agent.linux.kernel import Refused
from lutra_agent.linux.places import Places

from tests.support.agent.booted import Booted, NotAllowed, booted, lacking
from tests.support.servers.engines import missing

pytestmark = [pytest.mark.engine, pytest.mark.slow]

UNIT = "lutra-served.service"
SERVED = """
[Unit]
DefaultDependencies=no
StartLimitIntervalSec=0
[Service]
Type=notify
NotifyAccess=all
ExecStart=/bin/sh -c 'systemd-notify --ready; sleep infinity; :'
TimeoutSec=infinity
"""


@pytest.fixture
def library() -> str:
    try:
        return allocators.library(Places(), "jemalloc")
    except Refused as error:
        missing(f"jemalloc (Debian's libjemalloc2): {error}")
        raise


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Booted]:
    if why := lacking():
        missing(f"what starts a systemd: {why}")
    try:
        with booted(tmp_path, {UNIT: SERVED}) as made:
            yield made
    except NotAllowed as error:
        missing(f"the right to start a systemd in namespaces: {error}")


def test_a_restart_loads_the_library_and_every_way_back_leaves_nothing_of_it(library: str, host: Booted) -> None:
    program = (sys.executable, "-m", "tests.support.agent.preloading", UNIT)
    ran = host.run(*program, PYTHONPATH=os.pathsep.join(filter(None, sys.path)), PYTHONDONTWRITEBYTECODE="1")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    none = {"loaded": OWN, "file": None, "folder": False, "remembered": []}
    one = {"loaded": "jemalloc", "file": drop_in(library).decode(), "folder": True, "remembered": ["remembered.json"]}
    assert told == {
        "unnamed": False,
        "before": none,
        "applied": [["applied", "", {"server.allocator": "jemalloc"}], one],
        "undone": [["reverted", "why"], none],
        "killed": [True, one, "reverted", none],
    }
