"""What is closed at the end of a `with`."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager whose end is its `close`."""

    @abstractmethod
    def close(self) -> object:
        """End it; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()
