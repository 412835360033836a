"""Python's cycle collector, which costs more than the work while millions of values are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

GARBAGE_THRESHOLD = 100_000
"""Objects made before the collector looks for cycles. Imports make many objects and no garbage."""


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Let no collection run; may be nested."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
