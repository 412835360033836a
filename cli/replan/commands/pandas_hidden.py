"""pandas kept out of a process that needs none: importing it takes as long as all the rest of a small command."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """A finder that finds nothing, and says of pandas that it is not installed."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for pandas; leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is kept out of this process", name=name)
        return None


def hide_pandas() -> None:
    """Let this process have no pandas; for the process of a command alone, never for a library's.

    pyarrow imports pandas, where it is installed, at the first array that it makes, to know its types if a caller hands
    them in; it has no switch for that. Nobody does here, but pyspark, whose extra `fleet` brings pandas along.
    """
    sys.meta_path.insert(0, _NoPandas())
