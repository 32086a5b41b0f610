"""The edge builds on parts of uvicorn and asyncio that they do not promise to keep: they are as the edge uses them."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import uvicorn
from lutra_service.edge.protocol import BoundedProtocol
from lutra_service.edge.tls import Loop
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

PYPROJECT = Path(__file__).parents[2] / "service" / "pyproject.toml"
CALLED = (
    "connection_made",
    "connection_lost",
    "data_received",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
)


def test_the_versions_that_may_be_installed_end_with_the_one_that_is_tested() -> None:
    needs = tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]
    major, minor = metadata.version("uvicorn").split(".")[:2]
    assert f"<{major}.{int(minor) + 1}" in next(need for need in needs if need.startswith("uvicorn"))


@pytest.mark.parametrize("name", [*CALLED, "resume_writing"])
def test_the_protocol_extends_methods_that_uvicorn_has(name: str) -> None:
    assert getattr(BoundedProtocol, name) is not getattr(H11Protocol, name)
    ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (BoundedProtocol, H11Protocol))
    assert list(ours.parameters) == list(theirs.parameters)


def test_the_protocol_and_its_cycle_have_the_state_that_deadlines_read() -> None:
    protocol = inspect.getsource(H11Protocol.__init__)
    assert all(f"self.{name}" in protocol for name in ("app", "loop", "transport", "cycle"))
    assert "self.response_complete" in inspect.getsource(RequestResponseCycle.__init__)


def test_a_tls_server_is_made_where_the_loop_counts_its_connections() -> None:
    parameters = inspect.signature(asyncio.SelectorEventLoop.create_server).parameters
    assert list(parameters)[1] == "protocol_factory"
    assert parameters["ssl"].default is None
    assert uvicorn.Config(lambda: None, loop="lutra_service.edge.tls:Loop").get_loop_factory() is Loop
