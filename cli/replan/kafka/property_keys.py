"""What understanding a properties file rests on: keys that are taken one by one, and values that nobody is shown.

A key that nobody takes is refused by name.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

# What the Java client knows and no connection of replan needs.
_BROKERS_SIDE = "sasl.oauthbearer.jwks.endpoint.url"
CALLBACK_HANDLER = "sasl.login.callback.handler.class"


class UnsupportedKey(Exception):
    """A property that cannot be used; the message names the key, never its value."""


class Keys:
    """The security keys of a file; each is taken once, and what is left over was not understood."""

    def __init__(self, written: Mapping[str, str]) -> None:
        self._unread = dict(written)

    def take(self, key: str) -> str | None:
        """The value of a key, if it was written and is not empty."""
        return self._unread.pop(key, None) or None

    def require(self, key: str, because: str) -> str:
        """The value of a key that must be written."""
        value = self.take(key)
        if value is None:
            raise UnsupportedKey(f"{key} is missing; {because} needs it")
        return value

    def choose(self, key: str, allowed: Mapping[str, str], default: str) -> str:
        """One of the allowed values, whatever its case."""
        value = self.take(key)
        if value is None:
            return default
        if value.lower() not in allowed:
            raise UnsupportedKey(f"{key} must be one of {', '.join(allowed)}")
        return allowed[value.lower()]

    def refuse_rest(self) -> None:
        """Refuse what nobody took."""
        for key in sorted(self._unread):
            if key == _BROKERS_SIDE:
                raise UnsupportedKey(f"{key} is the brokers' side; remove the line")
            if key == CALLBACK_HANDLER:
                raise UnsupportedKey(
                    f"{key} names Java code; write sasl.oauthbearer.method=oidc instead"
                )
            raise UnsupportedKey(f"{key} is not supported, and a security key is never ignored")


class Secretive(Struct, frozen=True):
    """A value with a password or a key in it: no traceback and no log shows its fields."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return []
