"""The pipelines of examples/ci once on real brokers: a merge is applied, and the drift job finds nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.ci import test_github, test_gitlab
from tests.ci.forge import Forge, commit
from tests.ci.project import Project
from tests.kafka.harness.clients import create_topic
from tests.kafka.harness.one_jvm import OneJvmCluster

# By day the same pipelines run on a simulated cluster: tests/ci.
pytestmark = [pytest.mark.kafka, pytest.mark.nightly]


def on_github(project: Project) -> None:
    """The workflow of a push, whose last job is for what a killed one left, then the one of the schedule."""
    jobs = test_github.runner(project).run(test_github.FLOWS / "apply.yml")
    results = [job.result for job in jobs.values()]
    assert results == ["success", "success", "skipped"], [j.log for j in jobs.values()]
    test_github.publish(project)
    assert project.forge.posts == {}


def on_gitlab(project: Project) -> None:
    """The jobs of a push, then the scheduled one."""
    merged = test_gitlab.pipeline(project, "push")
    assert merged.run(test_gitlab.FILE)["plan after merge"].code == 0
    applied = merged.run(test_gitlab.FILE, "apply")["apply"]
    assert applied.code == 0, applied.log
    assert test_gitlab.publish(project).code == 0


@pytest.fixture
def project(one_jvm: OneJvmCluster, tmp_path: Path) -> Iterator[Project]:
    topic = f"pipeline-{tmp_path.name[-12:].replace('_', '-')}"
    create_topic(one_jvm.bootstrap, topic, [[1, 2, 3], [2, 3, 1]])
    with Forge().serving() as forge:
        made = Project(tmp_path, forge)
        made.reach = {"REPLAN_BOOTSTRAP_SERVER": one_jvm.bootstrap}
        lists = "{0: [4, 2, 3], 1: [2, 3, 5]}"
        text = f"version: 1\nassignments: {{{topic}: {{partitions: {lists}}}}}\n"
        commit(made.work, {"placement.yaml": text})
        yield made


@pytest.mark.parametrize("forge", [on_github, on_gitlab], ids=["github", "gitlab"])
def test_a_merge_is_applied_on_brokers_and_nothing_drifts(
    forge: Callable[[Project], None], project: Project
) -> None:
    forge(project)
    assert project.replan("plan") == 0
