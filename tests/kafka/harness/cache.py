"""Products that are expensive to make and kept between runs: made once, atomically.

Several test runs may want the same product at the same moment, and any of them may be killed
while it makes it. So a product is drafted beside its place under a file lock and renamed when
complete; whoever sees it sees all of it. What a product is, and how it is made, is not here.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """Where products are kept: `REPLAN_CACHE`, or ~/.cache/replan."""
    chosen = os.environ.get("REPLAN_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "replan"


def made_once(product: Path, make: Callable[[Path], None]) -> Path:
    """The product's path; `make` is given a draft's path to fill, unless it is there already."""
    if product.exists():
        return product
    product.parent.mkdir(parents=True, exist_ok=True)
    with _locked(product.with_name(f".{product.name}.lock")):
        if product.exists():
            return product
        with tempfile.TemporaryDirectory(dir=product.parent, prefix=".draft-") as folder:
            draft = Path(folder) / product.name
            make(draft)
            draft.rename(product)
    return product


def fingerprint(*parts: bytes) -> str:
    """Eight hex digits that change when a product's ingredients do."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:8]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
