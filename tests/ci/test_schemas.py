"""The files for forges against the public schemas of their formats, which check-jsonschema brings along."""

import subprocess
from pathlib import Path

import pytest
from tests.ci.github import ROOT

pytestmark = pytest.mark.site
TOOLS = ROOT / ".venv-docs" / "bin"
CI = ROOT / "examples" / "ci"


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TOOLS / tool), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        *(("github-workflows", path) for path in sorted((CI / "github").glob("*.yml"))),
        ("github-actions", ROOT / "action.yml"),
        ("gitlab-ci", CI / "gitlab" / ".gitlab-ci.yml"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_a_file_is_what_its_forge_reads(schema: str, file: Path) -> None:
    done = run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_schema_is_strict_enough_to_find_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    text = (CI / "github" / "apply.yml").read_text()
    wrong.write_text(text.replace("runs-on:", "run-on:"))
    done = run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(wrong))
    assert done.returncode == 1


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/kubernetes/*.yaml")), ids=lambda path: path.name
)
def test_a_file_for_kubernetes_has_its_fields_and_no_others(path: Path) -> None:
    done = run("kubernetes-validate", "--strict", "-k", "1.33", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_kubernetes_fields_are_checked(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    text = (ROOT / "examples" / "reconcile" / "kubernetes" / "deployment.yaml").read_text()
    wrong.write_text(text.replace("readOnlyRootFilesystem", "readonlyRootFilesystem"))
    done = run("kubernetes-validate", "--strict", "-k", "1.33", str(wrong))
    assert done.returncode == 1


def test_the_hook_is_one_that_pre_commit_reads() -> None:
    done = run("pre-commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
