"""The repository says things in the words of Kafka's and Terraform's documentation: words that it does not use."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]
FOLDERS = (
    "cli",
    "schema",
    "docs",
    "tests",
    "examples",
    "benchmarks",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
HERE = "tests/docs/test_plain_words.py"

BETTER = {
    r"befall|befell": "happen to, inject: `a fault is injected`",
    r"foreigner|foreign hand": "another tool",
    r"shunn(ed|ing)": "blacklisted, demoted",
    r"untold": "unreported, unknown",
    r"(is|are|was|were|been) told": "is reported, the message says",
    r"lets? go of|letting go": "release, close",
    r"of ours|of theirs": "of replan, of another tool",
    r"somebody else|someone else": "another tool, another process",
    r"look(s|ing|ed)? twice": "recheck",
    r"stray(s|ed)": "not led by its preferred leader",
    r"heads for": "converges to",
    r"mend(s|ed|ing)?": "fix, heal, repair",
    r"foretells?|foretold": "predict",
    r"stands? otherwise": "differs",
    r"(?<!validate-)manifests?": "placement, placement file",
    r"(nobody|somebody) (leads|led)": "has no leader, has a leader",
    r"hitherto|betakes?|aftermath|anew": "so far; goes to; effects; again",
}
"""What a reader who knows Kafka and Python has to guess, and what to write instead."""


@cache
def texts() -> dict[str, str]:
    """The text of every file of the repository, in small letters, by its name."""
    found = subprocess.run(
        ["git", "ls-files", "-z", *FOLDERS], cwd=TOP, capture_output=True, text=True, check=True
    )
    return {
        name: (TOP / name).read_text(encoding="utf-8", errors="replace").lower()
        for name in filter(None, found.stdout.split("\0"))
        if name != HERE
        and (TOP / name).is_file()
        and Path(name).suffix not in {".parquet", ".java"}
    }


def lines_with(word: str) -> list[str]:
    """Every line and every file name of the repository in which a word is by itself, or between `_` and `-`."""
    spaced = word.replace(" ", "[ _-]+")
    pattern = re.compile(rf"(?<![a-z])({spaced})(?![a-z])")
    hits: list[str] = []
    for name, text in texts().items():
        hits += [name] if pattern.search(name.lower()) else []
        if pattern.search(text) is None:
            continue
        hits += [
            f"{name}:{n}: {line.strip()}"
            for n, line in enumerate(text.splitlines(), 1)
            if pattern.search(line)
        ]
    return hits


@pytest.mark.parametrize(("word", "better"), BETTER.items())
def test_a_word_that_readers_must_guess_is_not_used(word: str, better: str) -> None:
    hits = lines_with(word)
    assert not hits, f"{word}: readers must guess it; write: {better}\n" + "\n".join(hits)
