"""Runs a GitHub workflow as a runner does: jobs in order, each step's shell, outputs, environment and artefacts.

Shells are those of the documentation: `bash -e` where none is named, `bash --noprofile --norc -eo pipefail` for `bash`.
"""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tests.ci.expressions import condition, filled
from tests.ci.forge import git

ROOT = Path(__file__).parents[2]
ACTION = "YOUR-ORG/replan@v0.1.0"
INSTALL = """\
python3 -m venv --clear "$RUNNER_TEMP/replan"
"$RUNNER_TEMP/replan/bin/python" -m pip install --quiet "$GITHUB_ACTION_PATH"
"""
"""What the action runs to install replan, which takes long; the tests have it on their PATH."""


@dataclass
class JobRun:
    """How a job ended."""

    result: str = "skipped"
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    steps: list[str] = field(default_factory=list)


@dataclass
class Runner:
    """What a runner is given: a repository to check out, the event, and what every step's environment has."""

    repository: Path
    folder: Path
    environment: Mapping[str, str]
    github: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    artefacts: dict[str, Path] = field(default_factory=dict)
    jobs: dict[str, JobRun] = field(default_factory=dict)

    def run(self, workflow: Path, *only: str) -> dict[str, JobRun]:
        """Run the jobs of a workflow, or some of them, in the order in which they need one another."""
        document = yaml.safe_load(workflow.read_text())
        for name, job in document["jobs"].items():
            if only and name not in only:
                continue
            needed = {n: self.jobs[n] for n in [job.get("needs", [])] if isinstance(n, str)}
            names = {
                "github": self.github,
                "secrets": self.secrets,
                "vars": self.variables,
                "needs": {
                    n: {"outputs": of.outputs, "result": of.result} for n, of in needed.items()
                },
                "runner": {},
            }
            failed = any(of.result != "success" for of in needed.values())
            self.jobs[name] = JobRun()
            if condition(job.get("if", "'yes'"), names, failed=failed):
                _Job(self, self.jobs[name], names).run(name, document.get("env", {}), job)
        return self.jobs


class _Job:
    def __init__(self, runner: Runner, run: JobRun, names: dict[str, Any]) -> None:
        self._runner, self._run, self._names = runner, run, names
        self._steps: dict[str, Any] = {}

    def run(self, name: str, env: Mapping[str, str], job: Mapping[str, Any]) -> None:
        self._workspace = self._runner.folder / f"workspace-{name}-{len(self._runner.jobs)}"
        shutil.rmtree(self._workspace, ignore_errors=True)
        self._workspace.mkdir(parents=True)
        self._temp = self._workspace.with_name(f"{self._workspace.name}-temp")
        shutil.rmtree(self._temp, ignore_errors=True)
        self._temp.mkdir()
        self._env = {k: filled(v, self._names) for k, v in {**env, **job.get("env", {})}.items()}
        self._env = {k: v for k, v in self._env.items() if v}
        names = {**self._names, "steps": self._steps}
        done = self._all(job["steps"], names, self._steps)
        self._run.result = "success" if done else "failure"
        outputs = job.get("outputs", {})
        self._run.outputs = {k: filled(v, names) for k, v in outputs.items()}

    def _all(self, steps: list[Any], names: Mapping[str, Any], ended: dict[str, Any]) -> bool:
        failed = False
        for step in steps:
            if condition(step.get("if", "'yes'"), names, failed=failed):
                self._run.steps.append(step.get("name", step.get("uses", "")))
                failed = not self._step(step, names, ended) or failed
        return not failed

    def _step(
        self, step: Mapping[str, Any], names: Mapping[str, Any], ended: dict[str, Any]
    ) -> bool:
        given = {k: filled(str(v), names) for k, v in step.get("with", {}).items()}
        outputs: dict[str, str] = {}
        match step.get("uses", "").partition("@")[0]:
            case "actions/checkout":
                branch = given.get("ref") or self._runner.github["head_ref"]
                bare = str(self._runner.repository)
                git(
                    "clone",
                    "-q",
                    "--depth=1",
                    "-b",
                    branch,
                    f"file://{bare}",
                    ".",
                    folder=self._workspace,
                )
                done = True
            case "actions/upload-artifact":
                done = self._upload(given)
            case "actions/download-artifact":
                shutil.copytree(
                    self._runner.artefacts[given["name"]], self._workspace, dirs_exist_ok=True
                )
                done = True
            case "YOUR-ORG/replan":
                assert step["uses"] == ACTION
                done = self._composite(given, outputs)
            case "":
                done = self._shell(step, names, outputs)
            case other:
                raise ValueError(f"an action that the tests do not know: {other}")
        if "id" in step:
            ended[step["id"]] = {"outputs": outputs}
        return done

    def _upload(self, given: Mapping[str, str]) -> bool:
        stored = self._runner.folder / f"artefact-{given['name']}"
        shutil.rmtree(stored, ignore_errors=True)
        stored.mkdir()
        for name in given["path"].split():
            if (self._workspace / name).exists():
                shutil.copy(self._workspace / name, stored)
        self._runner.artefacts[given["name"]] = stored
        return True

    def _composite(self, given: Mapping[str, str], outputs: dict[str, str]) -> bool:
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        unknown = given.keys() - action["inputs"].keys()
        assert not unknown, f"inputs that the action does not have: {unknown}"
        defaults = {
            k: filled(v.get("default", ""), self._names) for k, v in action["inputs"].items()
        }
        ended: dict[str, Any] = {}
        names = {**self._names, "inputs": {**defaults, **given}, "steps": ended}
        done = self._all(action["runs"]["steps"], names, ended)
        outputs |= {k: filled(v["value"], names) for k, v in action["outputs"].items()}
        return done

    def _shell(
        self, step: Mapping[str, Any], names: Mapping[str, Any], outputs: dict[str, str]
    ) -> bool:
        text = filled(step["run"], names).replace(INSTALL, "")
        files = {
            n: self._temp / n.lower()
            for n in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")
        }
        for path in files.values():
            path.write_text("")
        script = self._temp / "step.sh"
        script.write_text(text)
        strict = ("--noprofile", "--norc", "-eo", "pipefail")
        shell = ("bash", *(strict if step.get("shell") == "bash" else ("-e",)))
        done = subprocess.run(
            [*shell, str(script)],
            cwd=self._workspace,
            env={
                **self._runner.environment,
                **self._env,
                **{k: filled(str(v), names) for k, v in step.get("env", {}).items()},
                **{n: str(path) for n, path in files.items()},
                "RUNNER_TEMP": str(self._temp),
                "GITHUB_REPOSITORY": self._runner.github["repository"],
                "GITHUB_API_URL": self._runner.github["api_url"],
                "GITHUB_ACTION_PATH": str(ROOT),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self._run.log += done.stdout + done.stderr
        self._run.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        outputs |= _pairs(files["GITHUB_OUTPUT"])
        self._env |= _pairs(files["GITHUB_ENV"])
        return done.returncode == 0


def _pairs(path: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in path.read_text().splitlines())
    return {name: value for name, _, value in lines}
