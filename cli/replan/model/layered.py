"""A mapping of thousands of entries of which a few change at a time: what is old is shared, what is new is copied."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")
_ABSENT: Any = object()
"""In place of a value that is gone, or not there."""
ENTRIES_BEFORE_COPY = 400
"""How many entries may differ from the base before all are copied."""


class Layered(Mapping[_K, _V], Generic[_K, _V]):
    """A mapping that is never changed; one that differs from it in a few entries costs hundreds, not its size."""

    __slots__ = ("_base", "_recent")

    def __init__(self, base: Mapping[_K, _V] | None = None) -> None:
        self._base: Mapping[_K, _V] = {} if base is None else base
        self._recent: dict[_K, _V] = {}
        """What differs from the base."""

    def changed(self, values: Mapping[_K, _V], gone: Iterable[_K] = ()) -> "Layered[_K, _V]":
        """The same with these values, and without those keys."""
        recent = {**self._recent, **dict.fromkeys(gone, _ABSENT), **values}
        if len(recent) > ENTRIES_BEFORE_COPY:
            together = {**self._base, **recent}
            return Layered({k: v for k, v in together.items() if v is not _ABSENT})
        after = Layered(self._base)
        after._recent = recent
        return after

    def __getitem__(self, key: _K) -> _V:
        value = self._recent[key] if key in self._recent else self._base[key]
        if value is _ABSENT:
            raise KeyError(key)
        return value

    def get(self, key: _K, default: Any = None) -> Any:
        """The value of a key; the default where it has none."""
        if key not in self._recent:
            return self._base.get(key, default)
        value = self._recent[key]
        return default if value is _ABSENT else value

    def __contains__(self, key: object) -> bool:
        return self.get(key, _ABSENT) is not _ABSENT  # type: ignore[arg-type]  # any key may be asked for

    def __iter__(self) -> Iterator[_K]:
        for key in self._base:
            if key not in self._recent:
                yield key
        for key, value in self._recent.items():
            if value is not _ABSENT:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self.items()))
