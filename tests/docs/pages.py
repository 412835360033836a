"""Pages made from the code: `REPLAN_REWRITE=1 pytest tests/docs` writes them; the diff is the review."""

import os
from pathlib import Path

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"


def check_page(name: str, text: str, folder: Path = DOCS) -> None:
    """Compare a whole page with what was made from the code."""
    path = folder / name
    if "REPLAN_REWRITE" in os.environ:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, (
        f"{folder.name}/{name} is stale: run REPLAN_REWRITE=1 pytest tests/docs, and read the diff"
    )


def check_section(name: str, heading: str, text: str) -> None:
    """Compare what stands under a heading of a page, up to the next heading, with what was made from the code."""
    path = DOCS / name
    page = path.read_text(encoding="utf-8")
    before, found, after = page.partition(f"{heading}\n\n")
    assert found, f"docs/{name} has no heading {heading}"
    end = after.find("\n## ")
    rest = after[end:] if end >= 0 else ""
    made = f"{before}{found}{text.rstrip()}\n{rest}"
    if "REPLAN_REWRITE" in os.environ:
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, (
        f"docs/{name}: {heading} is stale: run REPLAN_REWRITE=1 pytest tests/docs, and read the diff"
    )
