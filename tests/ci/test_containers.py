"""The image and the CronJob: what can be known of them without a container runtime, and the command that they run."""

import re
import shlex

import pytest
import yaml
from tests.ci.github import INSTALL, ROOT
from tests.ci.project import PLACEMENT, Project

FILES = ROOT / "examples" / "ci"


def test_the_image_runs_as_any_user_of_group_0() -> None:
    text = (FILES / "Dockerfile").read_text()
    (user,) = re.findall(r"^USER (.+)$", text, re.MULTILINE)
    assert re.fullmatch(r"[1-9]\d*:0", user), "a number, so that runAsNonRoot can be judged"
    assert "chmod -R g=u /home/replan /work" in text
    assert "HOME=/home/replan" in text


def test_the_action_installs_into_an_environment_of_its_own() -> None:
    """Pythons of Debian and Ubuntu refuse packages beside theirs (PEP 668)."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    first = action["runs"]["steps"][0]["run"]
    assert INSTALL in first
    assert first.endswith('echo "$RUNNER_TEMP/replan/bin" >> "$GITHUB_PATH"\n')


def test_the_hook_runs_the_command_that_checks_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert shlex.split(hook["entry"]) + hook["args"] == [
        "replan",
        "validate",
        "-f",
        "placement.yaml",
    ]
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "placement.yaml")


@pytest.mark.command
def test_the_cron_job_ends_with_2_where_something_drifted(project: Project) -> None:
    document = yaml.safe_load((FILES / "kubernetes" / "drift-cronjob.yaml").read_text())
    pod = document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert document["spec"]["jobTemplate"]["spec"]["backoffLimit"] == 0
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    command, *arguments = container["args"]
    assert command == "replan"
    assert "/placement" in arguments
    assert "/placement" in mounted
    folder = project.folder / "placement"
    folder.mkdir()
    (folder / "placement.yaml").write_text(PLACEMENT)
    words = [str(folder) if word == "/placement" else word for word in arguments]
    assert project.replan(*words) == 2
