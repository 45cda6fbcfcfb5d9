"""A port for what watches the process: metrics for Prometheus, and whether it is alive and ready for supervisors.

It is served from the process of the loop, by threads of its own, to anybody who can reach it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

# What is wrong; nothing if all is well.
Check = Callable[[], list[str]]


class MonitoringPort(NamedTuple):
    """Where it is served; end ends it."""

    port: int
    end: Callable[[], None]


class _Server6(ThreadingWSGIServer):
    address_family = socket.AF_INET6


class _Silent(WSGIRequestHandler):
    """One that does not write a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody wants to read of every probe."""


def serve_monitoring(
    collectors: Iterable[Collector], host: str, port: int, checks: dict[str, Check] | None = None
) -> MonitoringPort:
    """Serves metrics at /metrics, and each check at its path. OSError if the address cannot be had."""
    registry = CollectorRegistry()
    for each in collectors:
        registry.register(each)
    kind = _Server6 if ":" in host else ThreadingWSGIServer
    server = make_server(host, port, _application(registry, checks or {}), kind, _Silent)
    thread = Thread(target=server.serve_forever, name="monitoring", daemon=True)
    thread.start()

    def end() -> None:
        server.shutdown()
        server.server_close()
        thread.join(5)

    return MonitoringPort(server.server_port, end)


def _application(registry: CollectorRegistry, checks: dict[str, Check]) -> Callable[..., Iterable[bytes]]:
    metrics = make_wsgi_app(registry)

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            found: Iterable[bytes] = metrics(environ, start)
            return found
        status, text = "404 Not Found", f"there are {', '.join(['/metrics', *checks])}"
        if path in checks:
            wrong = checks[path]()
            status, text = ("503 Service Unavailable", "; ".join(wrong)) if wrong else ("200 OK", "ok")
        start(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text}\n".encode()]

    return application
