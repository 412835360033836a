"""Messages to a web hook arrive once and in order, hold nobody up, and never show its address."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.http_servers import served

from replan.commands.api import Notifier, web_hook
from replan.errors import BadFile, BadUsage

SECRET = "T000/B000/XXXXXXXX"  # noqa: S105 - what must be seen nowhere


class Hook:
    """A web hook that gives these answers, then 200, and keeps what it was sent."""

    def __init__(self, *answers: int, headers: dict[str, str] | None = None) -> None:
        self.answers, self.headers = list(answers), headers or {}
        self.posts: list[Any] = []
        self.url = ""
        self.hold = threading.Event()
        self.hold.set()

    @contextmanager
    def listening(self) -> Iterator["Hook"]:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.hold.wait(10)
                assert self.headers["Content-Type"] == "application/json"
                hook.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(hook.answers.pop(0) if hook.answers else 200)
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with served(Handler) as address:
            self.url = f"{address}/services/{SECRET}"
            try:
                yield self
            finally:
                self.hold.set()


def test_each_message_is_posted_once_and_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with Hook().listening() as hook:
        with Notifier(web_hook(hook.url)) as notifier:
            for number in range(5):
                notifier.send({"text": f"message {number}"})
        assert hook.posts == [{"text": f"message {number}"} for number in range(5)]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("code", [500, 503, 429, 408])
def test_what_the_server_could_not_take_is_tried_again(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with Hook(code, code).listening() as hook:
        with Notifier(web_hook(hook.url)) as notifier:
            notifier.send({"text": "it holds"})
        assert len(hook.posts) == 3
        assert notifier.failed == 0
    said = capsys.readouterr().err
    assert (
        said
        == f"note: --notify: 127.0.0.1 did not take a message: it answered {code}; tried again\n"
    )


@pytest.mark.parametrize("code", [400, 404, 302])
def test_what_the_server_will_never_take_is_given_up(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = {"Location": "http://127.0.0.1:1/elsewhere"} if code == 302 else {}
    with Hook(code, headers=elsewhere).listening() as hook:
        with Notifier(web_hook(hook.url)) as notifier:
            notifier.send({"text": "one"})
            notifier.send({"text": "two"})
        assert [p["text"] for p in hook.posts] == ["one", "two"]
        assert notifier.failed == 1
    said = capsys.readouterr().err
    assert said == f"note: --notify: a message to 127.0.0.1 was given up: it answered {code}\n"


def test_a_hook_that_does_not_answer_holds_nobody_up() -> None:
    with Hook().listening() as hook:
        hook.hold.clear()
        with Notifier(web_hook(hook.url)) as notifier:
            begun = time.monotonic()
            for number in range(150):
                notifier.send({"text": str(number)})
            assert time.monotonic() - begun < 1
            hook.hold.set()
        assert notifier.failed in {49, 50}
        assert hook.posts[-1] == {"text": "149"}


def test_an_end_does_not_wait_for_a_pause_that_is_longer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Hook(*[503] * 5, headers={"Retry-After": "3000"}).listening() as hook:
        begun = time.monotonic()
        with Notifier(web_hook(hook.url)) as notifier:
            notifier.send({"text": "it holds"})
        assert time.monotonic() - begun < 5
        assert notifier.failed == 1
    assert "there was no time left to try again" in capsys.readouterr().err


def test_a_second_signal_waits_for_no_hook() -> None:
    with Hook().listening() as hook:
        hook.hold.clear()
        with Notifier(web_hook(hook.url)) as notifier:
            notifier.send({"text": "it ends"})
            begun = time.monotonic()
            notifier.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
            assert time.monotonic() - begun < 5
            hook.hold.set()


def test_a_message_whose_answer_does_not_end_is_given_up_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def answer(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            client.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not ended.wait(0.1):
                client.sendall(b"x")
            client.sendall(b"\r\nContent-Length: 0\r\n\r\n")
            while client.recv(65_536):
                pass

    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener,))
        server.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/{SECRET}"
        with Notifier(web_hook(url), answer_seconds=2, last_seconds=0.2) as notifier:
            notifier.send({"text": "it ends"})
        said, failed = capsys.readouterr().err, notifier.failed
        ended.set()
        server.join()
    assert said == (
        "note: --notify: a message to 127.0.0.1 was given up: its answer does not end\n"
    )
    assert failed == 1


def test_nothing_that_is_said_shows_the_address(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for wrong in (
        f"ftp://hooks.example/{SECRET}",
        f"https:///{SECRET}",
        f"https://hooks.example/ {SECRET}",
        f"https://hooks.example/\n{SECRET}",
        f"https://[/{SECRET}",
        f"https://hooks.example:http/{SECRET}",
        f"https://hooks..example/{SECRET}",
        f"https://{'a' * 64}.example/{SECRET}",
        f"https://me:{SECRET}@hooks.example/",
        SECRET,
        "",
    ):
        with pytest.raises(BadUsage) as refused:
            web_hook(wrong)
        assert SECRET not in str(refused.value)
    with pytest.raises(BadFile, match=r"--notify: .*/none: cannot read: No such file"):
        web_hook(f"@{tmp_path}/none")
    (tmp_path / "endless").symlink_to("/dev/zero")
    with pytest.raises(
        BadFile, match=r"--notify: .*/endless: cannot read: it has more than 65,536 bytes"
    ):
        web_hook(f"@{tmp_path}/endless")
    (tmp_path / "url").write_text(f"http://127.0.0.1:1/{SECRET}\n")
    hook = web_hook(f"@{tmp_path}/url")
    assert (str(hook), repr(hook)) == ("127.0.0.1", "127.0.0.1")
    notifier = Notifier(hook)
    with notifier:
        notifier.send({"text": "nobody listens"})
        notifier.__exit__(None, None, None)
    said = capsys.readouterr().err
    assert "127.0.0.1 did not take a message: Connection refused; tried again" in said
    assert SECRET not in said
