"""Runs a GitLab pipeline as a runner does: the jobs that the rules choose, by stage, each in one shell.

A job that ran before finds its checkout again, made clean, as a runner leaves it with GIT_STRATEGY=fetch, the default.
"""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tests.ci.expressions import evaluate
from tests.ci.forge import git

KEYWORDS = {"stages", "variables", "default", "workflow", "include"}


@dataclass
class Ended:
    """How a job ended."""

    code: int
    log: str
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)


@dataclass
class Pipeline:
    """What a pipeline is given: a repository, and the variables of its project and its event."""

    repository: Path
    folder: Path
    environment: Mapping[str, str]
    variables: Mapping[str, str]
    jobs: dict[str, Ended] = field(default_factory=dict)

    def chosen(self, file: Path) -> list[str]:
        """The jobs of this pipeline, in the order of their stages."""
        document = yaml.safe_load(file.read_text())
        jobs = {n: of for n, of in document.items() if n not in KEYWORDS}
        stages = document["stages"]
        names = sorted(jobs, key=lambda name: stages.index(jobs[name]["stage"]))
        return [
            n for n in names if any(evaluate(r["if"], self.variables) for r in jobs[n]["rules"])
        ]

    def run(self, file: Path, *only: str) -> dict[str, Ended]:
        """Run them until one fails, then those for failures; `only`: as who presses the button of a manual job."""
        document, failed = yaml.safe_load(file.read_text()), False
        for name in self.chosen(file):
            job = document[name]
            when = {rule.get("when", "on_success") for rule in job["rules"]}
            if ("on_failure" in when) != failed:
                continue
            if not failed and (name not in only if only else "manual" in when):
                continue
            self.jobs[name] = self._job(name, job, document.get("variables", {}))
            failed |= self.jobs[name].code != 0 and self.jobs[name].code not in _allowed(job)
        return self.jobs

    def _job(self, name: str, job: Mapping[str, Any], variables: Mapping[str, str]) -> Ended:
        folder = self.folder / name.replace(" ", "-")
        self._check_out(folder)
        known: dict[str, str] = {}
        for needed in job.get("needs", []):
            known |= self.jobs[needed].variables
            for path in self.jobs[needed].folder.glob("plan.*"):
                shutil.copy(path, folder)
        script = folder.with_name(f"{folder.name}.sh")
        script.write_text("\n".join(["set -eo pipefail", *job["script"]]) + "\n")
        done = subprocess.run(
            ["bash", str(script)],
            cwd=folder,
            env={**self.environment, **variables, **self.variables, **known},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout + done.stderr, folder)
        dotenv = job.get("artifacts", {}).get("reports", {}).get("dotenv")
        if dotenv is not None and done.returncode == 0:
            lines = (line.partition("=") for line in (folder / dotenv).read_text().splitlines())
            ended.variables = {key: value for key, _, value in lines}
        return ended

    def _check_out(self, folder: Path) -> None:
        if not folder.exists():
            git("init", "-q", str(folder), folder=self.folder)
            git("remote", "add", "origin", f"file://{self.repository}", folder=folder)
        branch = self.variables["CI_COMMIT_REF_NAME"]
        git("fetch", "-q", "--depth=1", "origin", branch, folder=folder)
        git("checkout", "-q", "-f", "--detach", "FETCH_HEAD", folder=folder)
        git("clean", "-q", "-ffdx", folder=folder)


def _allowed(job: Mapping[str, Any]) -> set[int]:
    allowed = job.get("allow_failure", {})
    codes = allowed["exit_codes"] if isinstance(allowed, Mapping) and allowed else []
    return {codes} if isinstance(codes, int) else set(codes)
