"""Inputs that are wrong in a few places: bytes changed, cut, repeated; values of a document replaced or removed."""

from random import Random
from typing import Any

JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 1.5, 2**31, 2**63 - 1, 2**63, 10**400, 1e308),
    *("", "x", "0", "-1", "1.5", "\x1b[2J", "ä" * 300, "\0"),
    *([], {}, [[]], [None], [1, 1], [0, -1, "x"], {"": None}, list(range(3000))),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "unlimited"),
)


LONG = b"9" * 5000
"""A number of more digits than Python reads."""


def changed_bytes(text: bytes, chance: Random) -> bytes:
    """One to four places of a file changed, cut out, repeated or filled with zeros."""
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text) + 1)
        size = chance.choice((0, 1, 1, 2, 8, 64, len(text)))
        kinds = (b"", bytes(size), chance.randbytes(min(size, 8)), text[place:][:size] * 2, LONG)
        new = chance.choice(kinds)
        text = text[:place] + new + text[place + size :]
    return text


def changed_value(node: Any, chance: Random) -> Any:
    """A document with one value replaced by junk or by another one of it, taken away, or repeated."""
    if not isinstance(node, dict | list) or not node or chance.random() < 0.1:
        return chance.choice(JUNK)
    copy: Any = node.copy()
    key = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
    match chance.randrange(8):
        case 0:
            del copy[key]
        case 1 if isinstance(node, list):
            copy.insert(key, node[chance.randrange(len(node))])
        case 1:
            copy[str(chance.choice(JUNK))[:50]] = node[key]
        case 2:
            other = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
            copy[key], copy[other] = copy[other], copy[key]
        case _:
            copy[key] = changed_value(node[key], chance)
    return copy
