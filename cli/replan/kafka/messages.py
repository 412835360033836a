"""The messages that replan speaks, made of kafka-python's schemas, without the rest of that library: half the time.

Importing any module of kafka-python 3.0.12 imports its producer, consumer and admin client, and makes a class of each
of 109 messages from a JSON file. Here two of its packages are put in place without running their `__init__`, and only
the messages below become classes, of our own. Other users of kafka-python in the same process find all of it: a name
that is asked of one of the two packages runs that `__init__` after all.
"""

import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec, module_from_spec
from itertools import islice
from types import new_class
from typing import Any, TypeVar

from replan.model.configs import ConfigScope

_PACKAGES = "kafka", "kafka.net"


def _put_in_place(name: str) -> None:
    """Put a package into `sys.modules` that runs its `__init__` only when something is asked of it."""
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package, run_init = module_from_spec(spec), spec.loader.exec_module

    def attribute(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        vars(package).pop("__getattr__", None)
        with _quiet_about_schemas():
            run_init(package)
        return getattr(package, wanted)

    vars(package)["__getattr__"] = attribute
    sys.modules[name] = package
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, package)


def _quiet_about_schemas() -> warnings.catch_warnings:
    """Silence what kafka-python 3.0.12 reads its schemas by: Python 3.11 deprecates it, 3.13 welcomes it again."""
    return warnings.catch_warnings(action="ignore", category=DeprecationWarning)


if "kafka" not in sys.modules:
    logging.getLogger("kafka").addHandler(logging.NullHandler())  # as kafka's `__init__` does
    for _name in _PACKAGES:
        _put_in_place(_name)

from kafka.protocol.api_message import ApiMessage  # noqa: E402

RESPONSES: dict[int, Any] = {}
"""The class of each response, by API key."""


@cache
def request_class(name: str) -> Any:
    """The class of a request; that of its response is in `RESPONSES`."""
    with _quiet_about_schemas():
        request: Any = new_class(f"{name}Request", (ApiMessage,))
        RESPONSES[request.API_KEY] = new_class(f"{name}Response", (ApiMessage,))
    return request


RESOURCE_TYPES = {ConfigScope.TOPIC: 2, ConfigScope.BROKER: 4}
"""Whose configuration it is (org.apache.kafka.common.config.ConfigResource.Type)."""
_T = TypeVar("_T")


def chunks(wanted: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """What goes into one request after another: the items in order, at most `size` at a time."""
    items = iter(wanted)
    while chunk := list(islice(items, size)):
        yield chunk


AlterPartitionReassignments = request_class("AlterPartitionReassignments")
AlterReplicaLogDirs = request_class("AlterReplicaLogDirs")
ApiVersions = request_class("ApiVersions")
CreatePartitions = request_class("CreatePartitions")
DescribeCluster = request_class("DescribeCluster")
DescribeConfigs = request_class("DescribeConfigs")
DescribeLogDirs = request_class("DescribeLogDirs")
DescribeTopicPartitions = request_class("DescribeTopicPartitions")
ElectLeaders = request_class("ElectLeaders")
Fetch = request_class("Fetch")
IncrementalAlterConfigs = request_class("IncrementalAlterConfigs")
ListPartitionReassignments = request_class("ListPartitionReassignments")
ListOffsets = request_class("ListOffsets")
Metadata = request_class("Metadata")
Produce = request_class("Produce")
SaslAuthenticate = request_class("SaslAuthenticate")
SaslHandshake = request_class("SaslHandshake")
