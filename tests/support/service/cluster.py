"""Dask clusters of a test's own: one that answers with malice, and one that speaks TLS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lutra_service.workers import cluster as cluster_module

from tests.support.servers import certificates
from tests.support.waiting import PATIENCE_S

TIMEOUTS = ("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp")


class Runs:
    """What unpickles it makes the file `marker`."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


class RunsAsError(Exception):
    def __init__(self, marker: Path) -> None:
        super().__init__("an error")
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        # Dask's worker, in the test's own process, unpickles its errors itself.
        return _touch_elsewhere, (self.marker, os.getpid())


def _touch_elsewhere(marker: Path, here: int) -> None:
    if os.getpid() != here:
        marker.touch()


def _raises(error: Exception) -> Any:
    raise error


@contextmanager
def local(folder: Path, **options: Any) -> Iterator[str]:
    """The address of a cluster of one worker, all of whose files lie in the folder."""
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"temporary-directory": str(folder), **dict.fromkeys(TIMEOUTS, f"{PATIENCE_S}s")}),
        distributed.LocalCluster(n_workers=1, dashboard_address=None, **options) as made,
    ):
        yield made.scheduler_address


@contextmanager
def answering(answer: str, marker: Path) -> Iterator[str]:
    """The address of a cluster whose worker gives `answer` whatever it is asked."""
    answers: dict[str, Callable[..., Any]] = {
        "a pickle that runs code": lambda *_: Runs(marker),
        "a pickled error that runs code": lambda *_: _raises(RunsAsError(marker)),
        "no text": lambda *_: 5,
        "no JSON": lambda *_: "{",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "compute", _named(answers[answer]))
        with local(marker.parent, threads_per_worker=1, processes=False, protocol="tcp") as address:
            yield address


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__module__, function.__qualname__, function.__name__ = cluster_module.__name__, "compute", "compute"
    return function


@contextmanager
def encrypted(folder: Path) -> Iterator[tuple[str, dict[str, Path]]]:
    """A cluster's address, and the settings that let the service in."""
    import distributed

    ca = certificates.authority(folder)
    certificate, key = certificates.server(folder, ca)
    files = {"tls_ca_file": str(ca)}
    for role in ("client", "scheduler", "worker"):
        files |= {f"tls_{role}_cert": str(certificate), f"tls_{role}_key": str(key)}
    security: Any = distributed.Security(require_encryption=True, **files)
    with local(folder, threads_per_worker=1, protocol="tls", security=security) as address:
        yield address, {"dask_tls_ca": ca, "dask_tls_cert": certificate, "dask_tls_key": key}
