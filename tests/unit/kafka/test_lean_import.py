"""kafka-python without its clients: what is left out, and that all of it can still be had."""

import subprocess
import sys

import pytest
from tests.commandline import environment

from replan.kafka.lean_import import PLAIN_MESSAGES

pytestmark = pytest.mark.command
LIBRARY = """
import sys, warnings
warnings.simplefilter("ignore")
from importlib import import_module
"""
MESSAGES = [
    (package, message + kind)
    for package, messages in PLAIN_MESSAGES.items()
    for message in messages
    for kind in ("Request", "Response")
]


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_clients_and_the_messages_of_others_are_left_out() -> None:
    loaded = printed("import sys, replan.kafka.control_plane; print(*sys.modules)").split()
    assert "kafka.net.manager" in loaded
    assert not {"kafka.admin", "kafka.consumer", "kafka.producer", "kafka.protocol.admin.acl"} & {
        *loaded
    }


def test_whoever_asks_for_more_of_the_library_gets_it() -> None:
    program = """
import replan.kafka.control_plane
from kafka import KafkaConsumer
from kafka.net import KafkaNetClient
from kafka.protocol.admin import DescribeAclsRequest, DescribeClusterRequest
from kafka.protocol.consumer import FetchRequest
print(DescribeClusterRequest.API_KEY, FetchRequest.API_KEY)
"""
    assert printed(LIBRARY + program).split() == ["60", "1"]


def test_a_name_that_the_library_does_not_have_is_an_import_error() -> None:
    program = """
import replan.kafka.control_plane
try:
    from kafka.protocol.admin import NoSuchRequest
except ImportError as problem:
    print(problem)
"""
    assert "NoSuchRequest" in printed(LIBRARY + program)


@pytest.mark.parametrize("package", [p for p, messages in PLAIN_MESSAGES.items() if messages])
def test_a_plain_message_is_its_schema_in_the_library_too(package: str) -> None:
    """What the library adds to a class would be missing here; DescribeCluster's renamed field is not read."""
    program = f"""
package = import_module({package!r})
for name in {[n for p, n in MESSAGES if p == package]!r}:
    own = vars(getattr(package, name)).keys() & {{"encode", "decode", "encode_header", "parse_header", "json_patch"}}
    print(name, *own)
"""
    odd = [line for line in printed(LIBRARY + program).splitlines() if " " in line]
    assert odd == (
        ["DescribeClusterResponse json_patch"] if package == "kafka.protocol.admin" else []
    )
