"""Who an application belongs to: a name for people, which no user needs to have."""

import os
import subprocess
import sys

import pytest

UNKNOWN = 54_321
"""A user without an entry in /etc/passwd, as a container may have."""
ASK = """
import os
from replan.commands.shared.journals import owner
if os.geteuid() == 0:
    os.setuid({unknown})
print(owner(), os.getuid())
"""


@pytest.mark.command
@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes a user that nobody knows")
def test_a_user_without_a_name_is_known_by_its_number() -> None:
    names = {"LOGNAME", "USER", "LNAME", "USERNAME"}
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(unknown=UNKNOWN)],
        env={k: v for k, v in os.environ.items() if k not in names}
        | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"uid {UNKNOWN}@")
