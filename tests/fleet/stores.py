"""An object store for a test, and its faults."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
from tests.commandline import environment

SERVER = Path(__file__).with_name("s3_server.py")
KEY, SECRET = "AKIATESTSONLY7EXAMPLE", "a-secret-that-nobody-writes-down"


@dataclass(frozen=True)
class Store:
    """A running server with a bucket `ops`."""

    url: str

    @property
    def variables(self) -> dict[str, str]:
        """What a user of it has in the environment."""
        return {**self.place, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    @property
    def place(self) -> dict[str, str]:
        """The same without a key."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}

    def put(self, name: str, content: bytes) -> None:
        """Write a file."""
        self._ask("PUT", f"/ops/{name}", content)

    def fail(self, *faults: dict[str, object]) -> None:
        """From now on requests `of` a pattern fail, so many `times`: with a `status`, after some `seconds`.

        `done`: what was asked for is done all the same, which nobody hears of.
        """
        self._ask("POST", "/-/faults", json.dumps(faults).encode())

    def contents(self) -> dict[str, bytes]:
        """All that it has."""
        client = boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )
        pages = client.get_paginator("list_objects_v2").paginate(Bucket="ops")
        names: list[str] = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return {name: client.get_object(Bucket="ops", Key=name)["Body"].read() for name in names}

    def _ask(self, method: str, path: str, content: bytes) -> None:
        request = urllib.request.Request(self.url + path, content, method=method)  # noqa: S310 - loopback
        request.add_header("Content-Type", "application/octet-stream")
        urllib.request.urlopen(request).close()  # noqa: S310


@contextmanager
def object_store() -> Iterator[Store]:
    """A server as long as it is needed."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        store = Store(f"http://127.0.0.1:{int(process.stdout.readline())}")
        store.put("", b"")
        yield store
    finally:
        process.kill()
        process.communicate()
