"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from lutra_models.log_file import LogHandler

from lutra_service.common.actor import current_actor
from lutra_service.common.settings import LOG, own_folder


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **({"request": request} if (request := current_actor.get().request_id) else {}),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


class Seldom(logging.Filter):
    """Passes a warning that any client can cause once in `every_s`: it shows that there is such a client."""

    def __init__(self, every_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._every_s = every_s
        self._clock = clock
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not str(record.msg).startswith(("Invalid HTTP request", "Unsupported upgrade", "No supported WebSocket")):
            return True
        now = self._clock()
        if now - self._passed.get(str(record.msg), -self._every_s) < self._every_s:
            return False
        self._passed[str(record.msg)] = now
        return True


def configure(level: str) -> None:
    handler = LogHandler(own_folder() / LOG)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(Seldom())
    logging.getLogger("uvicorn.access").disabled = True  # `access_log` writes the same, and in the same form
