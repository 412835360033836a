"""One lock for a cluster, and a journal topic that is against its owner: through the command line, on real brokers.

What is left of throttles and reassignments is asked of Kafka's own tools.
"""

import signal
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from tests.kafka.harness.clients import admin, create_topic, partition_metadata, until
from tests.kafka.site import Site as Topic
from tests.kafka.test_clocks import site
from tests.kafka.test_main_job import SETTLE, Site, load_on, placement
from tests.kafka.test_two_machines import (
    SLOW,
    Machine,
    begin,
    copying,
    kill,
    machine,
    moving,
    release,
)
from tests.kafka.test_way_back import configure

from replan.model.api import JOURNAL_TOPIC

__all__ = ["machine", "site"]
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]
OTHER = ("--journal", "topic:other_journal")


def made_again(site: Site) -> None:
    """What manages topics deletes the journal's and makes it again."""
    client = admin(site.cluster.bootstrap)
    client.delete_topics([JOURNAL_TOPIC])[JOURNAL_TOPIC].result(20)
    wanted = NewTopic(JOURNAL_TOPIC, 1, 3, config={"cleanup.policy": "compact"})

    def again() -> bool:
        try:
            client.create_topics([wanted])[JOURNAL_TOPIC].result(20)
        except Exception as problem:  # noqa: BLE001  # it is there until it is gone
            return "TOPIC_ALREADY_EXISTS" in str(problem) and topic_is_young(site)
        return True

    until(again, "the topic", limit_seconds=30)


def topic_is_young(site: Site) -> bool:
    """Whether its owner was faster, and has made it."""
    return JOURNAL_TOPIC in admin(site.cluster.bootstrap).list_topics(timeout=10).topics


def test_a_journal_of_another_name_is_no_way_to_a_second_application(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """Two at once would take each other's throttles for what was there before, and leave them."""
    ann, bob = machine("ann"), machine("bob")
    (site.folder / "second.yaml").write_text(
        f"version: 1\nassignments: {{{site.topic}: {{partitions: {{1: [3, 4]}}}}}}\n"
        f"throttles: {{moves: {{rate: {SLOW}}}}}\n"
    )
    bob.replan("plan", "-f", str(site.folder / "second.yaml"), "-o", "plan.json", wanted=2)
    second = ("apply", "plan.json", *SETTLE)
    with ann.started(*begin(ann, site)) as applying:
        copying(site)
        _, said = bob.replan(*second, *OTHER, wanted=4)
        assert "the lock of this cluster is held by ann@" in said
        kill(applying)
    for journal in (OTHER, ("--journal", "file:emergency", "--unlocked")):
        _, said = bob.replan(*second, *journal, "--lock-timeout", "90s", wanted=4)
        assert f"is open in the journal topic {JOURNAL_TOPIC}" in said
    bob.replan("resume", *SETTLE, wanted=0)
    site.stands_as_declared()
    bob.replan("apply", "-f", str(site.folder / "second.yaml"), "--auto-approve", *OTHER, wanted=0)
    assert site.leftovers() == []
    shown, _ = bob.replan("journal", "show", *OTHER, wanted=0)
    assert "closed" in shown


def test_a_journal_topic_that_is_made_again_keeps_what_its_owner_knows(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """Killed afterwards: another machine goes on, and knows every prior value."""
    ann, bob = machine("ann"), machine("bob")
    with ann.started(*begin(ann, site)) as applying:
        copying(site)
        made_again(site)
        since = time.monotonic()
        until(
            lambda: "open" in bob.replan("journal", "show", wanted=0)[0],
            "the application in the new topic",
            limit_seconds=30,
        )
        until(lambda: time.monotonic() > since + 15, "its time", limit_seconds=20)
        assert applying.poll() is None
        applying.send_signal(signal.SIGKILL)
        _, said = applying.communicate()
    assert "was deleted while it was in use; it was written again" in said
    release(bob)
    bob.replan("resume", *SETTLE, wanted=0)
    site.stands_as_declared()


def test_a_topic_of_another_program_is_not_written_and_a_bad_journal_is_refused(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    ann = machine("ann")
    create_topic(site.cluster.bootstrap, "payments", [[1, 2, 3], [2, 3, 1]], {})
    begun = begin(ann, site)
    payments = ("--journal", "topic:payments")
    _, said = ann.replan(*begun, *payments, wanted=1)
    assert "topic payments cannot hold the journal, and no lock of replan is in it" in said
    ann.replan("abandon", *payments, wanted=1)
    ann.replan("throttle", "clear", *payments, wanted=1)
    assert Topic(site.cluster, site.folder, "payments").ends() == [0, 0]
    ann.replan("throttle", "clear", wanted=0)
    create_topic(site.cluster.bootstrap, JOURNAL_TOPIC, [[1]], {"cleanup.policy": "delete"})
    shown, _ = ann.replan("doctor", wanted=2)
    assert "cleanup.policy is delete" in shown
    _, said = ann.replan(*begun, wanted=1)
    assert "cleanup.policy is delete" in said
    changed = "cleanup.policy=compact,unclean.leader.election.enable=true"
    configure(site, "topics", JOURNAL_TOPIC, changed)
    shown, _ = ann.replan("doctor", wanted=2)
    assert "1 replica" in shown
    assert "unclean.leader.election.enable is on" in shown


def test_a_rolling_restart_of_the_journals_brokers_is_waited_for(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """Two of three brokers of the journal are down at once for half a minute, as where a restart meets a slow one."""
    ann = machine("ann")
    with load_on(site), ann.started(*begin(ann, site)) as applying:
        copying(site)
        first, second, _ = journal_replicas(site)
        site.cluster.stop(first)
        site.cluster.stop(second)
        since = time.monotonic()
        until(lambda: time.monotonic() > since + 40, "its time", limit_seconds=60)
        assert applying.poll() is None
        site.cluster.start(first)
        site.cluster.start(second)
        _, said = applying.communicate(timeout=400)
    assert applying.returncode == 0, said
    assert "the journal has not been writable for" in said
    site.stands_as_declared()


def test_a_rolling_restart_of_all_brokers_ends_as_declared(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """One after the other, as an upgrade does it: those that send, those that receive, and those of the journal."""
    ann, bob = machine("ann"), machine("bob")
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate="400kB/s"))
    with ann.started(*begin(ann, site)) as applying:
        copying(site)
        for broker in site.cluster.ground.layout.racks:
            site.cluster.stop(broker)
            site.cluster.start(broker)
            until(lambda: journal_in_sync(site), "the journal in sync", limit_seconds=60)
        assert moving(site)
        bob.replan("throttle", "40MB/s", wanted=0)
        _, said = applying.communicate(timeout=300)
    assert applying.returncode == 0, said
    site.stands_as_declared()


def test_the_topic_is_made_where_the_placement_would_have_it(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """Else the first application leaves a plan that is not empty, and drift.

    Brokers make __transaction_state themselves, with the first transaction of anybody: there was one here.
    """
    ann = machine("ann")
    first = Producer({"bootstrap.servers": site.cluster.bootstrap, "transactional.id": "first"})
    first.init_transactions(60)
    text = placement(site.topic, rate="40MB/s") + (
        "blacklists:\n"
        "  replicas: [{broker: 1, reason: to be replaced}]\n"
        "  leaders: [{broker: 2, reason: slow disk}]\n"
    )
    text = text.replace("[4, 2, 5]", "[4, 3, 5]").replace("[3, 1]", "[3, 4]")
    text = text.replace("[1, 3, 2, 5]", "[3, 2, 5]")
    (site.folder / "placement.yaml").write_text(text)
    shown, _ = ann.replan(
        "plan", "-f", str(site.folder / "placement.yaml"), "-o", "plan.json", wanted=2
    )
    assert f"the journal topic {JOURNAL_TOPIC} does not exist" in shown
    ann.replan("apply", "plan.json", *SETTLE, wanted=0)
    found = journal_replicas(site)
    assert 1 not in found
    assert found[0] != 2
    assert str(found).replace(" ", "") in shown.replace(" ", "")
    flags = ("-f", str(site.folder / "placement.yaml"))
    ann.replan("plan", *flags, wanted=0)
    ann.replan("drift", *flags, wanted=0)


def journal_replicas(site: Site) -> list[int]:
    return list(partition_metadata(admin(site.cluster.bootstrap), JOURNAL_TOPIC)[0].replicas)


def journal_in_sync(site: Site) -> bool:
    found = partition_metadata(admin(site.cluster.bootstrap), JOURNAL_TOPIC).values()
    return bool(found) and all(set(p.isrs) == set(p.replicas) for p in found)
