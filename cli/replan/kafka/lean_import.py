"""Import kafka-python without its clients and without the messages that nobody asks for: half the time.

Importing any module of kafka-python 3.0.12 imports its producer, consumer and admin client, and makes a class of each
of 109 messages from a JSON file. Here four of its packages are put in place without running their `__init__`. A message
of `PLAIN_MESSAGES` becomes a class when it is asked for; any other name runs that `__init__` after all, so that other
users of kafka-python in the same process find all of it.
"""

import logging
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType, new_class
from typing import Any

PLAIN_MESSAGES = {
    "kafka": (),
    "kafka.net": (),
    "kafka.protocol.admin": (
        "AlterPartitionReassignments",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeLogDirs",
        "DescribeTopicPartitions",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "ListGroups",
        "ListPartitionReassignments",
    ),
    "kafka.protocol.consumer": ("OffsetFetch",),
}
"""By package, the messages whose classes are their schema and no more. kafka-python itself needs those of groups."""


def import_lean() -> None:
    """Put the packages in place and import the connection; does nothing where kafka-python is imported already."""
    if "kafka" in sys.modules:
        return
    logging.getLogger("kafka").addHandler(logging.NullHandler())  # as kafka's `__init__` does
    for name in PLAIN_MESSAGES:
        _put_in_place(name)
    with _quiet_about_schemas():
        import_module("kafka.net.manager")


def _put_in_place(name: str) -> None:
    """Put a package into `sys.modules` that runs its `__init__` only for a name that is not known here."""
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    package, run_init = module_from_spec(spec), spec.loader.exec_module
    messages = {m + kind for m in PLAIN_MESSAGES[name] for kind in ("Request", "Response")}

    def attribute(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        with _quiet_about_schemas():
            if wanted in messages:
                _make_classes(package, wanted.removesuffix("Request").removesuffix("Response"))
            else:
                vars(package).pop("__getattr__", None)
                run_init(package)
        return getattr(package, wanted)

    vars(package)["__getattr__"] = attribute
    sys.modules[name] = package
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, package)


def _make_classes(package: ModuleType, message: str) -> None:
    """Make the request and the response of a message; decoding an answer looks the response up by its number."""
    from kafka.protocol.api_message import ApiMessage

    for name in (f"{message}Request", f"{message}Response"):
        vars(package)[name] = new_class(name, (ApiMessage,))


def _quiet_about_schemas() -> warnings.catch_warnings:
    """Silence what kafka-python 3.0.12 reads its schemas by: Python 3.11 deprecates it, 3.13 welcomes it again."""
    return warnings.catch_warnings(action="ignore", category=DeprecationWarning)
