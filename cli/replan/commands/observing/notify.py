"""Posts messages to a web hook, each once and in order, on a thread that never holds up who sends them.

The address is a secret: web hooks of Slack and its like have their key in the path. Nothing that is said here, and no
error, has more of it than its host; texts of libraries, which may quote it, are never passed on.
"""

import http.client
import json
import random
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from msgspec import Struct

from replan.commands.frame.output import note
from replan.documents.files import read_text
from replan.errors import BadFile, BadUsage

WEBHOOK_TRIES = 12
"""The last one is some 35 minutes after the first."""
FIRST_PAUSE, LAST_PAUSE = 1.0, 300.0
"""Seconds; each pause is twice the one before, and a fifth of it is drawn."""
WEBHOOK_ANSWER_SECONDS = 10.0
MOST_URL_BYTES = 2**16
"""Of a file with the URL."""
MESSAGES_KEPT = 100
"""Messages that wait; the oldest of more is dropped."""
LAST_MESSAGES_SECONDS = 10.0
"""How long a process that ends waits for its last messages."""
_AGAIN = frozenset({408, 425, 429})
"""What a server answers that wants the same again later, beside its own failures from 500 on."""


class WebHook(Struct, frozen=True):
    """Where to post; prints as its host alone."""

    url: str

    def __str__(self) -> str:
        return str(urlsplit(self.url).hostname)

    __repr__ = __str__


def web_hook(text: str) -> WebHook:
    """Read the value of --notify: a URL, or `@FILE` for one in a file. Raises BadUsage and BadFile, without the URL."""
    if text.startswith("@"):
        try:
            text = read_text(Path(text[1:]), limit=MOST_URL_BYTES).strip()
        except BadFile as problem:
            raise BadFile(f"--notify: {problem}") from None
    with suppress(
        ValueError
    ):  # UnicodeError among them: of a host that no name server can be asked for
        parts = urlsplit(text)
        visible = text.isascii() and text.isprintable() and " " not in text
        if parts.scheme in {"http", "https"} and parts.hostname and visible:
            _ = parts.port, parts.hostname.encode("idna")
            if parts.username is None:
                return WebHook(text)
    raise BadUsage(
        "--notify: no URL to post to; it begins with https:// (or http://), names a host, and has neither spaces nor "
        "a user before the host. `--notify @FILE` reads it from a file"
    )


class Notifier:
    """A context: what was sent within it is posted by its end, or given up."""

    def __init__(
        self,
        hook: WebHook,
        answer_seconds: float = WEBHOOK_ANSWER_SECONDS,
        last_seconds: float = LAST_MESSAGES_SECONDS,
    ) -> None:
        self._hook, self._answer_seconds, self._last_seconds = hook, answer_seconds, last_seconds
        self._waiting = deque[bytes](maxlen=MESSAGES_KEPT)
        self._changed = Condition()
        self._ends_at: float | None = None
        self.failed = 0
        """Messages that were given up."""
        self._thread = Thread(target=self._run, name="notify", daemon=True)
        self._opener = build_opener(_NoRedirect)

    def __enter__(self) -> "Notifier":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what is still to be posted, some seconds at most; not at all for who interrupts."""
        if isinstance(problem, KeyboardInterrupt):
            return
        with self._changed:
            self._ends_at = time.monotonic() + self._last_seconds
            self._changed.notify_all()
        self._thread.join(self._last_seconds + self._answer_seconds)
        if self._thread.is_alive():
            self._give_up("its answer does not end")

    def send(self, message: Mapping[str, Any]) -> None:
        """Post this as JSON, soon; returns at once."""
        body = json.dumps(message).encode()
        with self._changed:
            if len(self._waiting) == MESSAGES_KEPT:
                self._give_up(f"{MESSAGES_KEPT} messages wait already")
            self._waiting.append(body)
            self._changed.notify_all()

    def _run(self) -> None:
        while (body := self._next()) is not None:
            self._post(body)

    def _next(self) -> bytes | None:
        """The next message; None once there are none and none will come."""
        with self._changed:
            while not self._waiting:
                if self._ends_at is not None:
                    return None
                self._changed.wait()
            return self._waiting.popleft()

    def _post(self, body: bytes) -> None:
        """Post one, again and again."""
        why = ""
        for number in range(WEBHOOK_TRIES):
            why, after = self._try(body)
            if not why:
                return
            if after is None:
                break
            pause = min(LAST_PAUSE, FIRST_PAUSE * 2**number) * random.uniform(0.8, 1.0)  # noqa: S311
            if number == 0:
                note(f"note: --notify: {self._hook} did not take a message: {why}; tried again")
            if not self._rest(max(pause, after)):
                why = f"{why}; there was no time left to try again"
                break
        self._give_up(why)

    def _try(self, body: bytes) -> tuple[str, float | None]:
        """Why it was not taken, empty if it was; and in how many seconds at the earliest to try again, if at all."""
        request = Request(  # noqa: S310 - the scheme was checked
            self._hook.url,
            data=body,
            headers={"Content-Type": "application/json", "User-Agent": "replan"},
        )
        try:
            with self._opener.open(request, timeout=self._answer_seconds):
                return "", None
        except HTTPError as answer:
            answer.close()
            again = answer.code in _AGAIN or answer.code >= 500
            return f"it answered {answer.code}", _retry_after(answer) if again else None
        except URLError as problem:
            cause = problem.reason
            text = cause.strerror if isinstance(cause, OSError) and cause.strerror else ""
            return text or type(cause).__name__, 0.0
        except (OSError, http.client.HTTPException) as problem:
            return type(problem).__name__, 0.0

    def _rest(self, seconds: float) -> bool:
        """Wait before the next try; whether there is time for one."""
        until = time.monotonic() + seconds
        with self._changed:
            while (now := time.monotonic()) < until:
                if self._ends_at is not None and until > self._ends_at:
                    return False
                self._changed.wait(until - now)
        return True

    def _give_up(self, why: str) -> None:
        self.failed += 1
        note(f"note: --notify: a message to {self._hook} was given up: {why}")


class _NoRedirect(HTTPRedirectHandler):
    """A web hook that has moved is a failure: what is posted goes nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """Not followed."""


def _retry_after(answer: HTTPError) -> float:
    """Seconds that the server asks for, an hour at most; a date is not heeded."""
    seconds = answer.headers.get("Retry-After", "")
    return min(3600.0, float(seconds)) if seconds.isascii() and seconds.isdigit() else 0.0
