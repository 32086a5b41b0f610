"""A service that takes every report and has nothing to ask: what an agent beside a quiet fleet member talks to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    reports = 0
    closing = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).reports += 1
        body = b'{"protocol": 1}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        wait = self.headers.get("Prefer", "wait=0").partition("wait=")[2]
        self.closing.wait(float(wait or 0))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Quiet: the agent's log is the one to read."""


@contextmanager
def stub_service() -> Iterator[str]:
    """Its URL. `Handler.reports` counts what came."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        Handler.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
