"""Placement files that are wrong in a few places: of those that the tests and the documentation have, of all keys."""

import copy
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.fuzz.mutations import changed_bytes, changed_value

TREE = Path(__file__).parents[2]
LIKELY: tuple[Any, ...] = (
    *(0, 1, 2, 3, 5, 6, 99, -1, 2**31, 10**20, 1.5, "1", "1-9", "9-1", "10-14"),
    *("5%", "0%", "-1%", "1e9%", "50MB/s", "0MB/s", "unlimited", "2TB", "10s", "never", True, None),
    *(
        "rack",
        "in-rack",
        "none",
        "eu-1a",
        "eu-1b",
        "a",
        "dc9",
        "*",
        "[",
        "o*",
        "orders",
        "__x",
        "é",
    ),
    *(["1-9"], [1, 1], [], {}, {"racks": ["a"]}, {"ids": [3]}, {"a": 2, "b": 1}, [["orders", "*"]]),
)
"""What may stand somewhere, and mostly not here."""


RACKS = ("a", "b", "c", "eu-1a", "eu-1b", "dc1", "dc2")
TRUTH = {"true": True, "false": False}


@cache
def examples() -> tuple[dict[str, Any], ...]:
    """All placements that are right."""
    texts = [p.read_text() for p in sorted((TREE / "tests/schema/accepts").glob("*.yaml"))]
    texts += [p.read_text() for p in sorted((TREE / "examples").glob("*/placement.yaml"))]
    texts += re.findall("```yaml\n(.*?)```", (TREE / "docs/by-task.md").read_text(), re.DOTALL)
    found = [yaml.load(text, yaml.BaseLoader) for text in texts]  # noqa: S506 (it makes texts only)
    return tuple(_typed(of) for of in found if isinstance(of, dict))


def _typed(node: Any) -> Any:
    """With numbers and truth where they are some; a date stays a text."""
    if isinstance(node, dict):
        return {_typed(key): _typed(found) for key, found in node.items()}
    if isinstance(node, list):
        return [_typed(found) for found in node]
    return int(node) if re.fullmatch(r"\d{1,9}", node) else TRUTH.get(node, node)


def cluster() -> dict[str, Any]:
    """A snapshot, as a document, in which most of them mean something."""
    names = {str(name) for of in examples() for name in of.get("assignments") or {}}
    found = {re.sub(r"[*?]|\[.*?\]", "a", name)[:249] for name in names}
    rows = [{"replicas": [n % 5 + 1, (n + 1) % 5 + 1, (n + 2) % 5 + 1]} for n in range(4)]
    return {
        "formatVersion": 1,
        "kind": "replan.snapshot",
        "clusterId": "MkU3OEVBNTcwNTJENDM2Qg",
        "observedAt": "2026-11-21T03:00:00Z",
        "brokers": [{"id": b, "rack": RACKS[b % len(RACKS)]} for b in range(1, 15)],
        "topics": [
            {"name": name, "minInsyncReplicas": 1, "partitions": [{**r, "bytes": 10} for r in rows]}
            for name in sorted({*found, "payments-eu"})
        ],
    }


@cache
def keys() -> tuple[Any, ...]:
    """All keys of mappings in them."""
    return tuple(sorted({key for document in examples() for key in _keys(document)}, key=str))


def _keys(node: Any) -> set[Any]:
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    own = set(node) if isinstance(node, dict) else set()
    return own.union(*map(_keys, inner))


def changed_placement(chance: Random) -> bytes:
    """Sections of some examples together, changed in up to three places, as YAML or JSON."""
    document: dict[Any, Any] = {"version": 1}
    for found in chance.sample(examples(), chance.randint(1, 4)):
        for section, value in found.items():
            if section != "cluster" or chance.random() < 0.02:
                document[section] = _together(document.get(section), copy.deepcopy(value))
    for _ in range(chance.choice((0, 0, 1, 1, 1, 2))):
        change = chance.choice((changed_value, _another, _another, _one_more, _one_more))
        document = change(document, chance)
    text = yaml.dump(
        document,
        Dumper=_WithoutAliases,
        sort_keys=False,
        default_flow_style=chance.choice((True, False, None)),
        allow_unicode=True,
        width=chance.choice((60, 10**6)),
    ).encode()
    return changed_bytes(text, chance) if chance.random() < 0.2 else text


class _WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, _value: object) -> bool:
        return True


def _together(one: Any, other: Any) -> Any:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else other


def _another(node: Any, chance: Random) -> Any:
    """Something likely instead of one value."""
    if not isinstance(node, dict | list) or not node:
        return chance.choice(LIKELY)
    at = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
    node[at] = _another(node[at], chance)
    return node


def _one_more(node: Any, chance: Random) -> Any:
    """A key more of those that there are, somewhere, with a value that another example has for it."""
    at, inner = node, node
    while isinstance(inner, dict | list) and inner and chance.random() < 0.8:
        at = inner if isinstance(inner, dict) else at
        inner = chance.choice(list(inner.values() if isinstance(inner, dict) else inner))
    if isinstance(at, dict):
        key = chance.choice(keys())
        values = [v for of in examples() for v in _values(of, key)]
        at[key] = (
            copy.deepcopy(chance.choice(values)) if chance.random() < 0.7 else chance.choice(LIKELY)
        )
    return node


def _values(node: Any, key: Any) -> list[Any]:
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    own = [node[key]] if isinstance(node, dict) and key in node else []
    return own + [found for of in inner for found in _values(of, key)]
