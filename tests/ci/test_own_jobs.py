"""The jobs of this repository, `.ci/run` and `.ci/nightly`: their shell, targets of make, and files that they name."""

import re
import subprocess

import pytest
from benchmarks.run import kept, rows_of, tree_of
from tests.ci.github import ROOT

JOBS = ("run", "nightly")
CALL = re.compile(r"^(?:exec )?make (.*)$", re.MULTILINE)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_a_script_that_calls_targets_of_make(job: str) -> None:
    path = ROOT / ".ci" / job
    assert path.stat().st_mode & 0o111
    text = path.read_text()
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text
    subprocess.run(["bash", "-n", str(path)], check=True)
    targets = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = [word for call in CALL.findall(text) for word in call.split()]
    named = [word for word in called if not word.startswith("-") and "=" not in word]
    assert named
    assert set(named) <= set(targets)


def test_the_nightly_job_compares_with_the_commit_that_published_the_figures() -> None:
    text = (ROOT / ".ci" / "nightly").read_text()
    (published,) = re.findall(r"^published=\$\((.*)\)$", text, re.MULTILINE)
    assert 'bench AGAINST="$published"' in text
    done = subprocess.run(
        ["bash", "-c", published], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with tree_of(done.stdout.strip()) as tree:
        assert kept(tree / "benchmarks" / "last.json") == kept(ROOT / "benchmarks" / "last.json")
        assert rows_of(tree)


def test_make_hands_commit_and_file_to_the_benchmarks_and_ends_as_they_do() -> None:
    words = ["make", "-n", "bench", "AGAINST=v1", "SAVE=b.json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if "benchmarks.run" in line]
    assert line.endswith("-m benchmarks.run --against v1 --save b.json")
