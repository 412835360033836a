"""The jobs of this repository, `.ci/run` and `.ci/nightly`: their shell, targets of make, and files that they name."""

import re
import subprocess

import pytest
from benchmarks.run import kept
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


def test_the_nightly_job_compares_with_the_figures_that_are_kept() -> None:
    text = (ROOT / ".ci" / "nightly").read_text()
    (against,) = re.findall(r"AGAINST=(\S+)", text)
    assert kept(ROOT / against)


def test_make_hands_both_files_to_the_benchmarks_and_ends_as_they_do() -> None:
    words = ["make", "-n", "bench", "AGAINST=a.json", "SAVE=b.json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if "benchmarks.run" in line]
    assert line.endswith("-m benchmarks.run --against a.json --save b.json")
