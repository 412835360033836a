"""The values of a YAML file, each container with the places of what it holds.

They are plain dicts and lists to whoever does not ask for places, JSON Schema for one.
"""

from typing import cast

from replan.placement_file.yaml_text.scalars import Scalar
from replan.placement_file.yaml_text.sources import KeyPath


class YamlMapping(dict[str, "Value"]):
    """A mapping; `key_at` and `value_at` hold the places of its keys and values, in the dict's order."""

    __slots__ = ("key_at", "value_at")

    key_at: list[int]
    value_at: list[int]


class YamlList(list["Value"]):
    """A list; `at` holds the places of its items."""

    __slots__ = ("at",)

    at: list[int]


Value = Scalar | YamlMapping | YamlList


def place_of(root: YamlMapping, path: KeyPath) -> int:
    """Where the value at a path is written; the nearest one above it where the path leads on."""
    at = 0
    here: Value = root
    for key in path:
        match here:
            case YamlMapping() if key in here:
                at = here.value_at[list(here).index(cast("str", key))]
                here = here[cast("str", key)]
            case YamlList() if isinstance(key, int) and key < len(here):
                at = here.at[key]
                here = here[key]
            case _:
                return at
    return at


def key_place_of(root: YamlMapping, path: KeyPath) -> int:
    """Where the key at the end of a path is written; an item of a list is its own key."""
    holder: Value = root
    for key in path[:-1]:
        holder = holder[key]  # type: ignore[index]  # the path was walked before
    if isinstance(holder, YamlMapping) and path and path[-1] in holder:
        return holder.key_at[list(holder).index(cast("str", path[-1]))]
    return place_of(root, path)
