"""The GitHub workflows of examples/ci, step by step, on the embedded cluster: from a pull request to a closed issue."""

import json
import signal
import subprocess

import pytest
import yaml
from tests.ci.forge import TOKEN, commit, git
from tests.ci.github import ROOT, Runner
from tests.ci.project import BY_LIST, PLACEMENT, Project

pytestmark = pytest.mark.command
FLOWS = ROOT / "examples" / "ci" / "github"


def runner(
    project: Project, head: str = "main", *, fork: bool = False, embedded: bool = True
) -> Runner:
    """A fresh runner; `embedded`: whether it reaches the cluster."""
    folder = project.folder / "runner"
    folder.mkdir(exist_ok=True)
    owner = "somebody" if fork else "us"
    event = {"number": "7", "head": {"repo": {"full_name": f"{owner}/kafka"}}}
    return Runner(
        repository=project.bare,
        folder=folder,
        environment={**project.environment, **(project.reach if embedded else {})},
        github={
            "repository": "us/kafka",
            "api_url": project.forge.address,
            "token": TOKEN,
            "head_ref": head,
            "ref_name": head,
            "base_ref": "main",
            "event": {"pull_request": event},
        },
    )


def publish(project: Project) -> None:
    """Let the scheduled workflow publish the state of the cluster."""
    ended = runner(project).run(FLOWS / "drift.yml")["drift"]
    assert ended.result == "success", ended.log


def test_from_a_pull_request_to_an_applied_plan(project: Project) -> None:
    publish(project)
    project.branch("change", PLACEMENT.replace("1: [3, 1] ", "1: [3, 1, 5] "))

    asked = runner(project, "change", embedded=False)
    planned = asked.run(FLOWS / "pull-request.yml")["plan"]
    assert planned.result == "success", planned.log
    comments = [p for p in project.forge.posts.values() if "title" not in p]
    assert [c["body"].splitlines()[1] for c in comments] == ["## replan plan: payments-eu"]
    assert "`[3,1,2] -> [3,1,5]`" in comments[0]["body"]
    assert (
        "Since origin/main: this change causes 1 move (100 MB to copy); 3 moves"
        in comments[0]["body"]
    )
    assert comments[0]["body"] in planned.summary
    again = runner(project, "change", embedded=False).run(FLOWS / "pull-request.yml")["plan"]
    assert again.result == "success", again.log
    assert len([p for p in project.forge.posts.values() if "title" not in p]) == 1

    project.merge("change")
    merged = runner(project)
    assert merged.run(FLOWS / "apply.yml", "plan")["plan"].result == "success"
    digest = json.loads((merged.artefacts["replan-plan"] / "plan.json").read_text())["digest"]
    assert merged.jobs["plan"].outputs == {"digest": digest, "changes": "true"}
    applied = merged.run(FLOWS / "apply.yml", "apply")["apply"]
    assert applied.result == "success", applied.log
    assert project.replan("plan") == 0
    rerun = merged.run(FLOWS / "apply.yml", "apply")["apply"]
    assert rerun.result == "success", rerun.log
    nothing = runner(project).run(FLOWS / "apply.yml")
    assert nothing["plan"].outputs["changes"] == "false"
    assert nothing["apply"].result == nothing["clear"].result == "skipped"


def test_a_placement_that_changed_since_the_plan_is_not_applied(project: Project) -> None:
    on = runner(project)
    assert on.run(FLOWS / "apply.yml", "plan")["plan"].result == "success"
    before = project.cluster.read_text()
    commit(project.work, {"placement.yaml": PLACEMENT.replace("[3, 1]", "[1, 3]")})
    applied = on.run(FLOWS / "apply.yml", "apply")["apply"]
    assert applied.result == "failure"
    assert "made from another placement" in applied.log
    assert project.cluster.read_text() == before
    cleared = on.run(FLOWS / "apply.yml", "clear")["clear"]
    assert cleared.result == "success", "nothing was begun, so nothing is left"


def test_an_artefact_of_a_fork_is_not_the_plan_that_was_approved(project: Project) -> None:
    on = runner(project)
    assert on.run(FLOWS / "apply.yml", "plan")["plan"].result == "success"
    forged = project.folder / "forged"
    forged.mkdir()
    other = PLACEMENT.replace("[3, 1]", "[1, 3]")
    (project.work / "other.yaml").write_text(other)
    assert project.replan("plan", "-f", "other.yaml", "-o", str(forged / "plan.json")) == 2
    on.artefacts["replan-plan"] = forged
    applied = on.run(FLOWS / "apply.yml", "apply")["apply"]
    assert applied.result == "failure"
    assert "not the plan that was reviewed" in applied.log


def test_the_pull_request_of_a_fork_is_planned_without_a_comment(project: Project) -> None:
    publish(project)
    posted = len(project.forge.posts)
    planned = runner(project, fork=True, embedded=False).run(FLOWS / "pull-request.yml")["plan"]
    assert planned.result == "success", planned.log
    assert "Comment" not in planned.steps
    assert len(project.forge.posts) == posted
    assert "## replan plan" in planned.summary


def test_a_mistake_fails_the_check_and_is_annotated_at_its_line(project: Project) -> None:
    publish(project)
    project.branch("wrong", "version: 1\nassignments: {orders: {partitions: {0: [1, 9]}}}\n")
    planned = runner(project, "wrong", embedded=False).run(FLOWS / "pull-request.yml")["plan"]
    assert planned.result == "failure"
    assert "::error file=placement.yaml,line=2,col=" in planned.log


@pytest.mark.nightly
def test_one_issue_says_what_drifted_and_is_closed_when_nothing_has(project: Project) -> None:
    publish(project)
    publish(project)
    (issue,) = project.forge.posts.values()
    assert "orders-0" in issue["body"]
    assert project.replan("plan", "-o", "plan.json") == 2
    assert project.replan("apply", "plan.json") == 0
    publish(project)
    assert issue["state"] == "closed"
    assert "No drift" in issue["body"]
    assert project.published() == "replan.snapshot"


@pytest.mark.nightly
def test_one_issue_is_found_again_among_many(project: Project) -> None:
    publish(project)
    for number in range(2, 122):
        project.forge.posts[number] = {"id": number, "number": number, "title": "b", "body": "b"}
    publish(project)
    assert len([p for p in project.forge.posts.values() if "drift" in p["title"]]) == 1


def reconcile(project: Project) -> None:
    ended = runner(project).run(FLOWS / "reconcile.yml")["reconcile"]
    assert ended.result == "success", ended.log


@pytest.mark.nightly
def test_one_pull_request_replaces_a_broker_in_lists_and_is_closed_once_it_is_back(
    project: Project,
) -> None:
    commit(project.work, {"placement.yaml": BY_LIST})
    project.down(3)
    reconcile(project)
    (pull,) = project.forge.posts.values()
    assert (pull["head"], pull["base"]) == ("replan-proposal", "main")
    assert "`orders-1` | \\[2,3,4\\] | \\[2,6,4\\]" in pull["body"]
    first = git("rev-parse", "replan-proposal", folder=project.bare)
    proposed = git("show", "replan-proposal:placement.yaml", folder=project.bare)
    assert "0: [1, 2, 6]   # kept" in proposed
    assert "2: [4, 5, 6]   # kept" in proposed
    names = git("diff", "--name-only", "main", "replan-proposal", folder=project.bare)
    assert names.split() == ["placement.yaml"]
    reconcile(project)
    assert len(project.forge.posts) == 1
    assert git("rev-parse", "replan-proposal", folder=project.bare) == first
    project.begin_something_else()
    reconcile(project)
    assert pull.get("state") != "closed", "the round has not looked"
    assert project.replan("abandon", "--cancel-copies") == 0
    project.down()
    reconcile(project)
    assert pull["state"] == "closed"


@pytest.mark.nightly
def test_a_cancelled_job_is_a_clean_stop(project: Project) -> None:
    job = yaml.safe_load((FLOWS / "apply.yml").read_text())["jobs"]["apply"]
    (step,) = (
        [s for s in job["steps"] if s["name"] == "Apply what was approved"]
        if all("name" in s for s in job["steps"])
        else [s for s in job["steps"] if s.get("name") == "Apply what was approved"]
    )
    assert project.replan("plan", "-o", "plan.json") == 2
    digest = json.loads((project.work / "plan.json").read_text())["digest"]
    script = project.folder / "step.sh"
    script.write_text(step["run"])
    shell = subprocess.Popen(
        ["bash", "-e", str(script)],
        cwd=project.work,
        env={**project.environment, "DIGEST": digest, **project.reach},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert shell.stderr is not None
    first = shell.stderr.readline()
    shell.send_signal(signal.SIGINT)
    rest = shell.communicate()[1]
    assert shell.returncode in {130, 0}, first + rest
    assert "Traceback" not in rest
