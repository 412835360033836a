"""Permissions that are taken away from one topic, on brokers with an authorizer: they touch that topic alone."""

import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from tests.commandline import start
from tests.kafka.harness.clients import admin, create_topic, fill, partition_metadata, until
from tests.kafka.secured import Secured, word_of
from tests.kafka.test_permissions import Site

from replan.errors import ClusterRefused
from replan.kafka.api import open_cluster
from replan.model.api import JOURNAL_TOPIC, BrokerId, TopicPartition

MANY = 20_000_000
SILENT_SECONDS = 50
"""Longer than a cluster that does not answer is waited for."""


def placed(site: Site, topics: dict[str, int]) -> None:
    lists = "".join(
        f"  {t}: {{partitions: {{{', '.join(f'{p}: [2]' for p in range(count))}}}}}\n"
        for t, count in topics.items()
    )
    (site.folder / "placement.yaml").write_text(
        f"version: 1\nassignments:\n{lists}throttles: {{moves: {{rate: 1MB/s}}}}\n"
    )


def give_lock(secured: Secured) -> None:
    """Whatever journal is named, one lock is the cluster's: that of the default one."""
    given = (
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.READ,
        AclOperation.WRITE,
    )
    secured.allow("mover", ResourceType.TOPIC, JOURNAL_TOPIC, *given)
    both = AclOperation.DESCRIBE, AclOperation.WRITE
    secured.allow("mover", ResourceType.TRANSACTIONAL_ID, f"replan-{JOURNAL_TOPIC}", *both)


def leaders(site: Site, topic: str) -> set[int]:
    return {
        b for p in partition_metadata(admin(site.secured.plain), topic).values() for b in p.replicas
    }


@pytest.mark.nightly
def test_a_topic_that_may_not_be_described_any_more_waits_and_the_other_one_is_moved(
    secured: Secured, tmp_path: Path
) -> None:
    site = Site(secured, tmp_path)
    lost, topics = f"lost-{site.topic}", ResourceType.TOPIC
    create_topic(secured.plain, lost, [[1]])
    for topic in (site.topic, lost):
        fill(secured.plain, topic, 6_000_000)
    all_of = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS
    secured.allow("mover", topics, lost, *all_of)
    site.give("mover", "apply")
    give_lock(secured)
    placed(site, {site.topic: 1, lost: 1})
    properties = str(site.folder / "mover.properties")
    reach = ("--bootstrap-server", secured.bootstrap, "--command-config", properties)
    journal = ("--journal", f"topic:{site.journal}")

    arguments = "apply", "-f", "placement.yaml", "--settle", "1", "--auto-approve"
    with start((*arguments, *reach, *journal), folder=tmp_path) as running:
        try:
            until(lambda: leaders(site, lost) == {1, 2}, "copies begin", limit_seconds=60)
            secured.forbid("mover", lost, *all_of)
            began = time.monotonic()
            until(lambda: leaders(site, site.topic) == {2}, "the other one", limit_seconds=90)
            drift = site.run("mover", "drift", "-f", "placement.yaml", wanted=1)
            assert f"Describe is not allowed on {lost}, which the placement names" in drift
            planned = site.run("mover", "plan", "-f", "placement.yaml", wanted=1)
            assert f"topic {lost}: this user may not see it; it needs the ACL Describe" in planned
            status = site.run("mover", "status", wanted=2)
            assert lost in status.split("may not describe")[1]
            assert f"lacks the ACL Describe on Topic {lost}" in status
            until(lambda: time.monotonic() - began > SILENT_SECONDS, "patience", limit_seconds=90)
            assert running.poll() is None
            secured.allow("mover", topics, lost, *all_of)
            said, wrong = running.communicate(timeout=150)
        finally:
            running.kill()
    assert running.returncode == 0, said + wrong
    assert f"lacks the ACL Describe on Topic {lost}" in said + wrong
    assert leaders(site, lost) == {2}


@pytest.mark.nightly
def test_copies_that_wait_for_a_slot_need_no_permission_on_other_topics(
    secured: Secured, tmp_path: Path
) -> None:
    """While they wait the whole cluster is looked at; `orders` is another topic, which this user may describe."""
    site = Site(secured, tmp_path)
    topic = f"slots-{site.topic}"
    create_topic(secured.plain, topic, [[1]] * 3)
    fill(secured.plain, topic, MANY)
    secured.allow("mover", ResourceType.TOPIC, "orders", AclOperation.DESCRIBE)
    site.topic = topic
    site.give("mover", "apply")
    give_lock(secured)
    placed(site, {topic: 3})
    arguments = "apply", "-f", "placement.yaml", "--settle", "1", "--slots", "1", "--auto-approve"

    said = site.run("mover", *arguments, wanted=0)

    assert "DescribeConfigs is not allowed on" in said
    assert leaders(site, topic) == {2}


def test_the_permission_that_is_missing_to_read_a_log_is_named(
    secured: Secured, tmp_path: Path
) -> None:
    site = Site(secured, tmp_path)
    secured.allow("viewer", ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
    file = secured.properties(tmp_path, "viewer", word_of("viewer"))
    with open_cluster(secured.bootstrap, file) as plane:
        until(lambda: bool(plane.access().cluster), "the ACLs", limit_seconds=20)

        for read in (
            lambda tails, *of: list(tails.read(*of, 1)),
            lambda tails, *of: tails.held_from(*of),
        ):
            with pytest.raises(ClusterRefused, match=f"the ACL Read on Topic {site.topic}"):
                read(plane.tails(), BrokerId(1), TopicPartition(site.topic, 0), 0)


def test_who_may_see_no_topic_is_not_told_that_all_is_well(
    secured: Secured, tmp_path: Path
) -> None:
    site = Site(secured, tmp_path)
    placed(site, {site.topic: 1})
    cluster = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
    secured.allow("viewer", ResourceType.BROKER, "kafka-cluster", *cluster)
    file = secured.properties(tmp_path, "viewer", word_of("viewer"))
    with open_cluster(secured.bootstrap, file) as plane:
        until(lambda: bool(plane.access().cluster), "the ACLs", limit_seconds=20)
        assert site.topic in plane.observe().hidden

    status = site.run("viewer", "status", wanted=2)
    assert status.startswith("0 partitions: none in sight; not seen: ")
    drift = site.run("viewer", "drift", "-f", "placement.yaml", wanted=1)
    assert f"Describe is not allowed on {site.topic}, which the placement names" in drift
    planned = site.run("viewer", "plan", "-f", "placement.yaml", wanted=1)
    assert f"topic {site.topic}: this user may not see it" in planned
    shown = site.run("viewer", "journal", "show", wanted=1)
    assert "Read on Topic" in shown or "Describe on Topic" in shown
