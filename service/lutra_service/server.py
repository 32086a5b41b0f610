"""`lutra serve`: uvicorn, one process."""

from __future__ import annotations

from types import FrameType

import uvicorn

from lutra_service import logs
from lutra_service.main import create_app
from lutra_service.settings import Settings


class _Server(uvicorn.Server):
    """Lets the waiting requests go when it is told to stop, so that stopping takes no minute."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.app.state.signals.close()  # type: ignore[union-attr]
        super().handle_exit(sig, frame)


def serve(settings: Settings) -> None:
    logs.configure(settings.log_level)
    config = uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=settings.tls_key,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    _Server(config).run()
