"""pandas, and dateutil that comes with it, kept out of a process that needs none: together they take as long to import
as all the rest of a small command."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

HIDDEN = {"pandas", "dateutil"}


class _NoPandas:
    """A finder that finds nothing, and says of these that they are not installed."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for these; leave everything else to the other finders."""
        if name in HIDDEN:
            raise ModuleNotFoundError(f"{name} is kept out of this process", name=name)
        return None


def hide_pandas() -> None:
    """Let this process have no pandas; for a process of our own, a command or Spark's workers, never for a library's.

    pyarrow imports both, where they are installed, at the first array that it makes, to know their types if a caller
    hands them in; it has no switch for that. Nobody does here, but pyspark, whose extra `fleet` brings pandas along.
    """
    sys.meta_path.insert(0, _NoPandas())
