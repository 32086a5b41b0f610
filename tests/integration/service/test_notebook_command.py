"""`lutra notebook` as a process: what it starts, and what is left when it is ended."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from lutra_client import contexts
from lutra_client.contexts import Context

from tests.support.service.served import LUTRA, UNHURRIED, Served
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow
SIGNALS = [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)]


@pytest.mark.parametrize("number", SIGNALS)
def test_jupyterlab_and_its_token_end_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    with Served(tmp_path, **UNHURRIED) as served:
        log = tmp_path / "notebook.log"
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        contexts.save(Context("own", str(served.client.base_url), served.token))
        environment = {**served.env, "XDG_CONFIG_HOME": str(tmp_path)}
        arguments = ["--folder", tmp_path / "mine", "--", "--no-browser", "--allow-root", "--ServerApp.port_retries=99"]
        before = signal.signal(
            signal.SIGINT, signal.default_int_handler
        )  # a job of a shell in the background ignores it
        with log.open("wb") as out:
            command = subprocess.Popen([LUTRA, "notebook", *arguments], env=environment, stdout=out, stderr=out)
        signal.signal(signal.SIGINT, before)
        try:
            until(lambda: "is running at" in log.read_text())
            (jupyter,) = psutil.Process(command.pid).children()
            token = jupyter.environ()["LUTRA_TOKEN"]
            bearer = {"Authorization": f"Bearer {token}"}
            assert served.client.get("/v1/workloads", headers=bearer).status_code == 200
            assert (
                served.client.post("/v1/models", headers=bearer, json={"name": "x", "options": {}}).status_code == 403
            )
            command.send_signal(number)
            assert command.wait(PATIENCE_S) == 128 + number
        finally:
            command.kill()
            command.wait(PATIENCE_S)
        assert not jupyter.is_running()
        assert served.client.get("/v1/workloads", headers=bearer).status_code == 401
        assert token not in log.read_text()
