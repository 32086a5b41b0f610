"""A thread that trains at intervals while the service runs: one workload at a time, beside the requested
computations.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

from lutra_service.app.jobs.training import Training
from lutra_service.common.settings import Settings
from lutra_service.db.store import Store, StoreAway
from lutra_service.workers.maker import MakesWorker, make_worker

log = logging.getLogger(__name__)


class TrainingThread:
    """`start` and `stop` once each. Several services may train one database: each workload is fitted once."""

    def __init__(self, store: Store, settings: Settings, executor: MakesWorker | None = None) -> None:
        self._store, self._settings = store, settings
        self._make: MakesWorker = executor or partial(make_worker, settings, waited_for=False)
        self._stopping = threading.Event()
        self._training = Training(store, self._make)
        self._thread = threading.Thread(target=self._run, name="training", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._training.stop()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                trained = self._training.run()
                if trained.ends:
                    log.info("trained: %s", trained)
            except StoreAway:
                pass
            except Exception:
                # The workers may be away for a while; what is not fitted waits.
                log.exception("the training's turn failed")
            self._stopping.wait(self._settings.train_s)
