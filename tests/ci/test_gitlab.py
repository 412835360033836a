"""The GitLab pipeline of examples/ci, job by job, on the embedded cluster."""

import json

import pytest
from tests.ci.forge import TOKEN, commit, git
from tests.ci.github import ROOT
from tests.ci.gitlab import Ended, Pipeline
from tests.ci.project import BY_LIST, PLACEMENT, Project

pytestmark = pytest.mark.command
FILE = ROOT / "examples" / "ci" / "gitlab" / ".gitlab-ci.yml"
MERGE_REQUEST = {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}


def pipeline(project: Project, source: str, branch: str = "main", **more: str) -> Pipeline:
    """A pipeline of a push, a schedule or a merge request."""
    folder = project.folder / "jobs"
    folder.mkdir(exist_ok=True)
    merge_request = source == "merge_request_event"
    # What `git push` is given as an address: the bare repository, as `file` is a protocol of git, too.
    place = {"CI_SERVER_PROTOCOL": "file", "CI_PROJECT_PATH": str(project.bare.with_suffix(""))[1:]}
    return Pipeline(
        repository=project.bare,
        folder=folder,
        environment={**project.environment, **({} if merge_request else project.reach)},
        variables={
            "CI_PIPELINE_SOURCE": source,
            "CI_COMMIT_REF_NAME": branch,
            "CI_DEFAULT_BRANCH": "main",
            "CI_API_V4_URL": project.forge.address,
            "CI_PROJECT_ID": "5",
            **place,
            "CI_SERVER_HOST": "",
            **(MERGE_REQUEST if merge_request else {"CI_COMMIT_BRANCH": branch}),
            **more,
        },
    )


def publish(project: Project) -> Ended:
    """The scheduled job, which publishes the state of the cluster."""
    scheduled = pipeline(project, "schedule", PUSH_TOKEN=TOKEN)
    return scheduled.run(FILE)["drift"]


@pytest.mark.nightly
def test_from_a_merge_request_to_an_applied_plan(project: Project) -> None:
    drifted = publish(project)
    assert drifted.code == 2, drifted.log
    assert "orders-0" in drifted.log
    assert project.published() == "replan.snapshot"
    project.branch("change", PLACEMENT.replace("1: [3, 1] ", "1: [3, 1, 5] "))
    for _ in "twice":
        asked = pipeline(project, "merge_request_event", "change", COMMENT_TOKEN=TOKEN)
        assert asked.chosen(FILE) == ["plan"]
        ended = asked.run(FILE)["plan"]
        assert ended.code == 0, ended.log
    (comment,) = project.forge.bodies
    assert "`[3,1,2] -> [3,1,5]`" in comment
    assert "Since origin/main: this change causes 1 move" in comment

    project.merge("change")
    merged = pipeline(project, "push")
    assert merged.chosen(FILE) == ["plan after merge", "apply", "clear throttles"]
    planned = merged.run(FILE)
    assert list(planned) == ["plan after merge"], "the apply job is manual"
    assert planned["plan after merge"].code == 0, planned["plan after merge"].log
    applied = merged.run(FILE, "apply")["apply"]
    assert applied.code == 0, applied.log
    assert merged.run(FILE, "apply")["apply"].code == 0, "a retry finds it done"
    assert project.replan("plan") == 0
    assert publish(project).code == 0


def test_one_merge_request_replaces_a_broker_in_lists_and_is_closed_once_it_is_back(
    project: Project,
) -> None:
    commit(project.work, {"placement.yaml": BY_LIST})
    tokens = {"RECONCILE": "true", "PUSH_TOKEN": TOKEN, "COMMENT_TOKEN": TOKEN}

    def reconcile(wanted: int) -> str:
        scheduled = pipeline(project, "schedule", **tokens)
        assert scheduled.chosen(FILE) == ["reconcile"]
        ended = scheduled.run(FILE)["reconcile"]
        assert ended.code == wanted, ended.log
        return git("rev-parse", "replan-proposal", folder=project.bare)

    project.down(3)
    first = reconcile(2)
    (request,) = project.forge.posts.values()
    assert (request["source_branch"], request["target_branch"]) == ("replan-proposal", "main")
    assert "`orders-1` | \\[2,3,4\\] | \\[2,6,4\\]" in request["description"]
    proposed = git("show", "replan-proposal:placement.yaml", folder=project.bare)
    assert "0: [1, 2, 6]   # kept" in proposed
    assert reconcile(2) == first
    assert len(project.forge.posts) == 1
    project.begin_something_else()
    reconcile(4)
    assert request.get("state") != "closed", "the round has not looked"
    assert project.replan("abandon", "--cancel-copies") == 0
    project.down()
    reconcile(0)
    assert request["state"] == "closed"


@pytest.mark.nightly
def test_a_placement_that_changed_since_the_plan_is_not_applied(project: Project) -> None:
    merged = pipeline(project, "push")
    assert merged.run(FILE)["plan after merge"].code == 0
    commit(project.work, {"placement.yaml": PLACEMENT.replace("[3, 1]", "[1, 3]")})
    applied = merged.run(FILE, "apply")["apply"]
    assert applied.code == 3
    assert "made from another placement" in applied.log
    assert merged.jobs["clear throttles"].code == 0, "nothing was begun, so nothing is left"


@pytest.mark.nightly
def test_a_merge_request_with_a_mistake_fails_and_reports_its_line(project: Project) -> None:
    publish(project)
    project.branch("wrong", "version: 1\nassignments: {orders: {partitions: {0: [1, 9]}}}\n")
    asked = pipeline(project, "merge_request_event", "wrong")
    ended = asked.run(FILE)["plan"]
    assert ended.code == 1
    (row,) = json.loads((ended.folder / "gl-code-quality-report.json").read_text())
    assert row["location"] == {"path": "placement.yaml", "lines": {"begin": 2}}
    assert "<failure" in (ended.folder / "replan-junit.xml").read_text()


@pytest.mark.parametrize("source", ["web", "push"])
def test_a_branch_that_is_not_the_default_one_applies_nothing(
    source: str, project: Project
) -> None:
    assert pipeline(project, source, "other").chosen(FILE) == []
