"""Values that must not be shown: passwords, keys, and what holds them."""

from typing import Any

from msgspec import Struct


class Secretive(Struct, frozen=True):
    """A value with a password or a key in it: no traceback and no log shows its fields."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []
