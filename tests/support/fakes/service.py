"""A service as small as the agent needs it: takes reports, hands out directives, and can be told to misbehave."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from lutra_models.wire import Directive, Receipt, Report, Rules


class FakeService:
    """`reports` are the accepted ones, in order; a `directive` is offered until its outcome arrives.

    With `refuse` every request gets that status: 503 is a service that is away. Once `dripping` is set every request
    gets an answer without an end, a byte at a time; `dripped` is set with the first.
    """

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.authorizations: set[str] = set()
        self.refuse: int | None = None
        self.settings_wanted = False
        self.url = ""
        self.dripping = threading.Event()
        self.dripped = threading.Event()
        self._seen: set[tuple[str, str, int]] = set()
        self._directives: list[Directive] = []
        self._then: dict[str, Callable[[], None]] = {}
        self._armed: dict[str, Rules] = {}
        self._rules = Rules()
        self._changed = threading.Condition()

    def offer(self, identifier: str, settings: dict[str, Any], **more: Any) -> Directive:
        directive = Directive.model_validate(
            {
                "id": identifier,
                "recommendation": identifier,
                "settings": settings,
                "expires_at": datetime.now(UTC) + timedelta(minutes=10),
                **more,
            }
        )
        with self._changed:
            self._directives.append(directive)
            self._changed.notify_all()
        return directive

    def then(self, directive: str, happens: Callable[[], None], **guardrails: Mapping[str, Any]) -> None:
        """As soon as an outcome of this directive has arrived; its receipt brings these guardrails."""
        self._then[directive] = happens
        self._armed[directive] = Rules.model_validate({"guardrails": guardrails})

    def leave(self) -> None:
        self.refuse = 503

    def take(self, body: bytes) -> Receipt:
        report = Report.model_validate_json(body)
        with self._changed:
            key = (report.agent, report.epoch, report.sequence)
            duplicate = key in self._seen
            self._seen.add(key)
            if not duplicate:
                self.reports.append(report)
            answered = {o.directive for o in report.outcomes}
            self._directives = [d for d in self._directives if d.id not in answered]
            for directive in answered & self._then.keys():
                self._rules = self._armed.pop(directive)
                self._then.pop(directive)()
            self._changed.notify_all()
        return Receipt(
            duplicate=duplicate,
            settings_wanted=self.settings_wanted,
            directive=self.current(),
            rules=self._rules,
        )

    def current(self) -> Directive | None:
        return self._directives[0] if self._directives else None

    def wait_for(self, seconds: float) -> Directive | None:
        with self._changed:
            self._changed.wait_for(lambda: self.current() is not None, seconds)
            return self.current()

    @property
    def busy(self) -> bool:
        """Whether so many windows have work in them that the median of all is above 0, whatever the next two have."""
        figures = [r.metrics.get("qps", r.metrics.get("tps", 0.0)) for r in self.reports if r.window is not None]
        return sum(1 if figure > 0 else -1 for figure in figures) >= 3

    def outcome(self, directive: str) -> Any:
        return next((o for r in self.reports for o in r.outcomes if o.directive == directive), None)

    def report_of(self, directive: str) -> Report:
        return next(r for r in self.reports if any(o.directive == directive for o in r.outcomes))


@contextmanager
def serving(service: FakeService, port: int = 0) -> Iterator[FakeService]:
    """The service on a loopback port; stopping it closes the port, as a service that is away does."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(service))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if service.dripping.is_set():
                return self._drip()
            service.authorizations.add(self.headers.get("Authorization", ""))
            if service.refuse is not None:
                return self._answer(service.refuse, b'{"code": "told_so", "detail": "refused by the test"}')
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            return self._answer(200, service.take(body).model_dump_json().encode())

        def do_GET(self) -> None:
            wait = float(self.headers.get("Prefer", "wait=0").partition("=")[2])
            directive = service.wait_for(wait)
            if service.dripping.is_set():
                return self._drip()
            if service.refuse is not None:
                return self._answer(service.refuse, b'{"code": "told_so", "detail": "refused by the test"}')
            if directive is None:
                return self._answer(204, b"")
            return self._answer(200, directive.model_dump_json().encode())

        def _drip(self) -> None:
            self.close_connection = True
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                service.dripped.set()
                while service.dripping.is_set():
                    self.wfile.write(b"a")
                    time.sleep(0.02)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            kind = "application/json" if status < 400 else "application/problem+json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            return None

    return Handler


def decoded(body: bytes) -> dict[str, Any]:
    """A spooled report as plain values."""
    document: dict[str, Any] = json.loads(gzip.decompress(body))
    return document
