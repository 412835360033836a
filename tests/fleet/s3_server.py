"""A server of S3's protocol on a free port of loopback: moto's, and at fault where a test asks for it.

    python s3_server.py

Prints its port, and ends with its standard input, so that it never outlives a test. It is a process of its own, since
the library that asks holds Python's lock meanwhile. `POST /-/faults` says what goes wrong from now on: the first that
matches, so many times.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from threading import Lock, Thread
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Silent(WSGIRequestHandler):
    """Writes no line for each request, and keeps connections."""

    protocol_version = "HTTP/1.1"

    def log(self, *_arguments: object) -> None:
        """Nothing."""


class Server:
    """Moto's application with faults."""

    def __init__(self) -> None:
        self.inner: Callable[..., Iterable[bytes]] = DomainDispatcherApplication(create_backend_app)
        self.faults: list[dict[str, Any]] = []
        self.lock = Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        if path == "/-/faults":
            self.faults = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            return answered(start, "200 OK", "")
        what = f"{environ['REQUEST_METHOD']} {path}?{query}"
        with self.lock:
            hit = next((f for f in self.faults if f["times"] and re.search(f["of"], what)), None)
            if hit is not None:
                hit["times"] -= 1
        if hit is None:
            return self.inner(environ, start)
        time.sleep(hit.get("seconds", 0))
        if hit.get("done"):
            list(self.inner(environ, lambda *_: None))
        if "status" in hit:
            return answered(start, hit["status"], "<Error><Code>Fault</Code></Error>")
        return self.inner(environ, start)


def answered(start: Callable[..., Any], status: str, text: str) -> Iterable[bytes]:
    """A whole answer."""
    body = text.encode()
    start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
    return [body]


def main() -> None:
    """Serve until standard input ends."""
    server = make_server("127.0.0.1", 0, Server(), threaded=True, request_handler=Silent)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
