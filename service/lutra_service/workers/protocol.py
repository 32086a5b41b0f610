"""The service's requests to a worker, and the form of an answer: a plain document without pickles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lutra_models.errors import LutraError

from lutra_service.common.documents import Document


class WorkerLost(Exception):
    """The process that ran this computation, and nothing else, ended or had to be ended."""


class NoWorker(Exception):
    """No worker could compute it, for reasons outside the request."""


class ComputationFailed(LutraError):
    """The computation itself says that it failed; `code` is the worker's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Limits:
    """The limits of one computation."""

    timeout_s: float
    memory_bytes: int

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.memory_bytes <= 0:
            raise ValueError(f"limits must be positive, got {self.timeout_s} s and {self.memory_bytes} bytes")


def of_candidate(limits: Limits) -> Limits:
    """Half the limits of a recommendation's computation, for a model version that does not serve yet."""
    return Limits(limits.timeout_s / 2, limits.memory_bytes // 2)


class Worker(Protocol):
    """Computes one thing at a time. `kill` may be called from any thread, and ends what `run` waits for."""

    def start(self) -> None:
        """Get ready without being waited for. Raises NoWorker."""

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        """Raises WorkerLost, NoWorker, or a LutraError if the computation failed."""

    def pause(self, on: bool) -> None:
        """Pause the current and later computations, or continue them; from any thread. Held time counts nowhere."""

    def kill(self) -> None: ...
    def close(self) -> None: ...


def sealed(compute: Callable[[], Mapping[str, Any]]) -> Document:
    """The result of `compute`, or its failure, as a plain document; `opened` is the inverse."""
    try:
        return {"result": compute()}
    except WorkerLost as error:
        return {"lost": str(error)}
    except NoWorker as error:
        return {"unavailable": str(error)}
    except SystemExit as error:
        return {"lost": f"it ended its process: sys.exit({'' if error.code is None else error.code})"[:1000]}
    except MemoryError:
        return {"lost": "it needed more memory than LUTRA_FIT_MEMORY_BYTES allows (a candidate: half of it)"}
    except LutraError as error:
        return {"failed": [error.code, str(error)]}
    except Exception as error:
        return {"failed": ["internal_error", f"{type(error).__name__}: {error}"]}


def opened(document: object) -> Document:
    """The result in a document of `sealed`. Raises the failure that it contains, and WorkerLost for any other
    document.
    """
    match document:
        case {"result": dict(result)}:
            return result
        case {"failed": [str(code), str(message)]}:
            raise ComputationFailed(code[:60], message[:1000])
        case {"lost": str(why)}:
            raise WorkerLost(why[:1000])
        case {"unavailable": str(why)}:
            raise NoWorker(why[:1000])
    raise WorkerLost("its answer has an unknown form")
