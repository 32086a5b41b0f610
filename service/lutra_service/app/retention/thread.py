"""A thread that prunes now and then, for as long as the service runs."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from lutra_service.app.retention.policy import prune
from lutra_service.common.settings import Settings
from lutra_service.db.store import Store

log = logging.getLogger(__name__)


class RetentionThread:
    """`start` and `stop` once each. Several services may prune one database: a batch has its rows to itself."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pruned = prune(self._store, timedelta(days=self._settings.retention_days))
                if pruned.total:
                    log.info("%s", pruned)
            except Exception:
                # The database may be away for a while; what is old does not get younger.
                log.exception("old rows could not be pruned")
            self._stopping.wait(self._settings.prune_s)
