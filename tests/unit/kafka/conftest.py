"""Imports kafka-python by way of the adapter, which keeps its deprecated calls quiet; and makes certificates."""

import shutil
import subprocess
from pathlib import Path

import pytest

import replan.kafka  # noqa: F401

OPENER = "open-sesame"


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, key.pem, and encrypted.pem, the same key under a passphrase."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates of this test, and is not installed")
    folder = tmp_path_factory.mktemp("pem")
    for arguments in (
        "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=replan",
        f"rsa -in key.pem -aes256 -passout pass:{OPENER} -out encrypted.pem",
    ):
        subprocess.run(
            ["openssl", *arguments.split(" ")], cwd=folder, check=True, capture_output=True
        )
    return folder
