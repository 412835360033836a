"""The written forms of documents are declared, not parsed by hand: the base of them, and the types of their fields.

A form checks by `__post_init__` what its types cannot say; that raises ValueError, whose text begins with `.KEY: `
where the value of one key is wrong. `documents.typed` reads forms and words their errors.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

import msgspec

from replan.documents.nodes import INT32_MAX, INT64_MAX, MOST_REPLICAS
from replan.model.names import BrokerId

T = TypeVar("T")


class Form(
    msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True, frozen=True
):
    """An object of a document: its fields are the keys, spelled in camelCase; no other key is allowed.

    Subclasses say `frozen=True` again: mypy asks for it.
    """


Int32 = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
"""Ids, epochs, counts."""
Positive = Annotated[int, msgspec.Meta(ge=1, le=INT32_MAX)]
Int64 = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
"""Bytes, and bytes per second."""
Text = Annotated[str, msgspec.Meta(min_length=1)]
Broker = Annotated[BrokerId, msgspec.Meta(ge=0, le=INT32_MAX)]
Brokers = Annotated[tuple[Broker, ...], msgspec.Meta(max_length=MOST_REPLICAS)]
"""Possibly none; that none is listed twice is checked by `once_each`."""
ReplicaList = Annotated[tuple[Broker, ...], msgspec.Meta(min_length=1, max_length=MOST_REPLICAS)]
"""At least one."""


def once_each(**lists: Sequence[int]) -> None:
    """Raise ValueError where one of these lists of brokers has one twice; their names are those of the keys."""
    for key, brokers in lists.items():
        if len(set(brokers)) != len(brokers):
            raise ValueError(f".{key}: broker {twice(brokers)} is listed twice; name it once")


def twice(names: Iterable[T]) -> T | None:
    """The first of those that come more than once."""
    return next((name for name, number in Counter(names).items() if number > 1), None)
