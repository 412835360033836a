"""Serves what others may read over HTTP, in threads beside the work: it holds nothing up, and ends with the process.

Read only: GET and HEAD of fixed paths. Whoever is slow loses the connection, and only so many are served at once.
A page of another site must not read the answers: a server on a loopback address answers only to a loopback name, so
that a name which somebody points at 127.0.0.1 gets nothing (DNS rebinding).
"""

import socket
import socketserver
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from threading import BoundedSemaphore, Thread
from typing import Any, ClassVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from replan.commands.frame.output import note
from replan.errors import BadUsage, ReplanError

CONNECTIONS_AT_ONCE = 32
"""Connections that are served at once; another one is closed."""
SLOW_SECONDS = 10.0
"""How long a client may take to ask, and to take each part of the answer."""
TEXT = "text/plain; charset=utf-8"


class HttpResponse(Struct, frozen=True):
    """What is sent for a path."""

    body: bytes
    content_type: str = TEXT
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


Respond = Callable[[str], HttpResponse | None]
"""The answer for a path; None where there is nothing. It runs in a thread of its own."""


class ListenAddress(Struct, frozen=True):
    """Where to listen."""

    host: str
    """A name or an IP address; empty means all addresses of the machine."""
    port: int
    """0 for any that is free."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def listen_address(text: str) -> ListenAddress:
    """Read `127.0.0.1:9464`, `[::1]:9464` or `:9464`; raises BadUsage."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    plain = ":" not in host and "[" not in host and "]" not in host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not colon or not (bracketed or plain) or not 0 <= number <= 65535:
        raise BadUsage(
            f"--listen {text}: no address to listen at; write HOST:PORT, e.g. 127.0.0.1:9464, [::1]:9464, "
            "or :9464 for all addresses of this machine"
        )
    return ListenAddress(host[1:-1] if bracketed else host, number)


@contextmanager
def serving(
    at: ListenAddress, respond: Respond, slow_seconds: float = SLOW_SECONDS
) -> Iterator[str]:
    """Serve until the block ends; gives the URL. Raises ReplanError where nobody can listen there."""
    try:
        server = _Server(at, respond, slow_seconds)
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", None) or str(problem)
        raise ReplanError(
            f"--listen {at}: cannot listen there: {why}\n"
            "Choose another port, or end the process that listens there."
        ) from None
    Thread(target=server.serve_forever, name="http", daemon=True).start()
    try:
        yield server.url
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, at: ListenAddress, respond: Respond, slow_seconds: float) -> None:
        addresses = socket.getaddrinfo(
            at.host or None, at.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        self.address_family, _, _, _, where = addresses[0]
        self.respond, self._slow_seconds = respond, slow_seconds
        self.only_loopback = ip_address(str(where[0]).partition("%")[0]).is_loopback
        self._free = BoundedSemaphore(CONNECTIONS_AT_ONCE)
        self._asking: dict[socket.socket, float] = {}
        """Whose request is not there yet: since when."""
        super().__init__((str(where[0]), int(where[1])), _Handler)
        port = self.server_address[1]
        self.url = f"http://{ListenAddress(at.host or str(where[0]), int(port))}/"

    def server_bind(self) -> None:
        """Without http.server's look-up of the own name, which may take as long as a name server does."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, unless too many run."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._asking[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be started
            self.has_asked(request)
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and let another one in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.has_asked(request)
            self._free.release()

    def has_asked(self, request: socket.socket) -> None:
        """Take note that its request is there, or that it has ended."""
        self._asking.pop(request, None)

    def service_actions(self) -> None:
        """Now and then: end who asks byte by byte, which a timeout of each byte does not."""
        for request, since in list(self._asking.items()):
            if time.monotonic() - since > self._slow_seconds:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as socketserver calls it
        """Say what failed; a client that has left is nobody's fault."""
        problem = sys.exception()
        if not isinstance(problem, OSError):
            note(f"note: --listen: an answer failed: {type(problem).__name__}: {problem}")


class _Handler(BaseHTTPRequestHandler):
    timeout = SLOW_SECONDS
    server: _Server
    error_content_type = TEXT
    error_message_format = "%(code)d %(message)s\n"
    ALWAYS: ClassVar = {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }

    def do_GET(self) -> None:
        """Answer."""
        self.server.has_asked(self.connection)
        answer = self._answer()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in {**self.ALWAYS, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it

    def _answer(self) -> HttpResponse:
        if self.server.only_loopback and not _is_loopback(self.headers.get("Host", "localhost")):
            text = b"This server answers to localhost alone; listen at another address to be asked by name.\n"
            return HttpResponse(text, status=HTTPStatus.MISDIRECTED_REQUEST)
        response = self.server.respond(self.path.partition("?")[0])
        return response or HttpResponse(b"There is nothing here.\n", status=HTTPStatus.NOT_FOUND)

    def version_string(self) -> str:
        """Without the versions of Python and its library."""
        return "replan"

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _is_loopback(host: str) -> bool:
    """Whether the value of a Host header names this machine by a loopback address, whatever its port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
