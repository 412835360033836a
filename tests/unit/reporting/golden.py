"""Golden texts: `REPLAN_REWRITE=1 pytest tests/unit/reporting` writes them again; the diff is the review."""

import os
from pathlib import Path

GOLDENS = Path(__file__).parent / "goldens"


def check(name: str, text: str) -> None:
    """Compare with the golden file of that name."""
    path = GOLDENS / name
    if "REPLAN_REWRITE" in os.environ:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{name}: rewrite with REPLAN_REWRITE=1, and look"
    )
