"""A forge as far as the examples speak to one: comments, notes and issues over HTTP, and a repository."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.commandline import CLI
from tests.http_servers import served

TOKEN = "a-token"  # noqa: S105 - of the forge of the tests
_ONE = re.compile(r"(?:comments|notes|issues|pulls|merge_requests)/(\d+)$")


class Forge:
    """What was posted, by its number, and the address of the API."""

    def __init__(self) -> None:
        self.posts: dict[int, dict[str, Any]] = {}
        self.address = ""

    @property
    def bodies(self) -> list[str]:
        """The texts that people see."""
        return [post["body"] for post in self.posts.values()]

    @contextmanager
    def serving(self) -> Iterator["Forge"]:
        """Answer until the block ends."""
        handler = type("Handler", (_Handler,), {"forge": self})
        with served(handler) as self.address:
            yield self


class _Handler(BaseHTTPRequestHandler):
    forge: ClassVar[Forge]

    def do_GET(self) -> None:
        """List a hundred that are open, of a label or head, if asked for: new issues first, old comments first."""
        address = urlsplit(self.path)
        labels = set(parse_qs(address.query).get("labels", []))
        posts = [post for post in self.forge.posts.values() if post.get("state") != "closed"]
        found = [post for post in posts if labels <= set(post.get("labels", []))]
        head = parse_qs(address.query).get("head", [""])[0].partition(":")[2]
        head = head or parse_qs(address.query).get("source_branch", [""])[0]
        found = [p for p in found if p.get("head", p.get("source_branch", "")) == head]
        issues = address.path.endswith("/issues")
        self._answer(200, (found[::-1] if issues else found)[:100])

    def do_POST(self) -> None:
        """Add one."""
        number = len(self.forge.posts) + 1
        self.forge.posts[number] = {"id": number, "number": number, "iid": number} | self._body()
        self._answer(201, self.forge.posts[number])

    def do_PATCH(self) -> None:
        """Change one."""
        found = _ONE.search(self.path)
        assert found is not None
        post = self.forge.posts[int(found[1])]
        post |= self._body()
        if post.pop("state_event", "") == "close":  # as GitLab asks for it
            post["state"] = "closed"
        self._answer(200, {})

    do_PUT = do_PATCH  # noqa: N815 - as http.server calls it

    def _body(self) -> dict[str, Any]:
        tokens = self.headers.get("Authorization"), self.headers.get("PRIVATE-TOKEN")
        assert tokens in {(f"Bearer {TOKEN}", None), (None, TOKEN)}
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _answer(self, code: int, body: object) -> None:
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def git(*arguments: str, folder: Path) -> str:
    """Run git as somebody; its output."""
    name = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *name, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A bare repository whose main branch has these files."""
    work, bare = folder / "work", folder / "repository.git"
    work.mkdir()
    git("init", "--quiet", folder=work)
    commit(work, files)
    git("clone", "--quiet", "--bare", str(work), str(bare), folder=folder)
    git("remote", "add", "origin", str(bare), folder=work)
    return work


def commit(work: Path, files: dict[str, str]) -> None:
    """Commit files, and push them where there is somewhere to push to."""
    for name, text in files.items():
        (work / name).write_text(text)
    git("add", "--all", folder=work)
    git("commit", "--quiet", "-m", "a change", folder=work)
    if git("remote", folder=work):
        git("push", "--quiet", "origin", "HEAD", folder=work)


def with_replan(folder: Path, python: str) -> Path:
    """A folder for PATH with the command of this checkout."""
    folder.mkdir(exist_ok=True)
    script = folder / "replan"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={CLI} exec {python} -m replan "$@"\n')
    script.chmod(0o755)
    return folder
