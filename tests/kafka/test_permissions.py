"""What each command needs is what docs/operations.md lists: users with exactly that, on brokers with an authorizer."""

import json
import re
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from tests.commandline import checked
from tests.kafka.harness.clients import admin, create_topic, fill, partition_metadata, until
from tests.kafka.secured import Secured, word_of

from replan.kafka.api import TRANSACTIONAL_ID, open_cluster
from replan.model.api import JOURNAL_TOPIC

TABLE = Path(__file__).parents[2] / "docs" / "operations.md"
OPERATIONS = {
    name.replace("_", "").lower(): operation for name, operation in AclOperation.__members__.items()
}


def needed(command: str) -> dict[str, list[AclOperation]]:
    """The row of the table that names a command."""
    for line in TABLE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and f"`{command}`" in cells[0]:
            read = [[OPERATIONS[w.lower()] for w in re.findall(r"\w+", c)] for c in cells[1:]]
            return dict(zip(("cluster", "topics", "journal"), read, strict=True))
    raise LookupError(command)


class Site:
    """A topic and a journal of one's own, and the commands of several users; none of them may show a secret."""

    def __init__(self, secured: Secured, folder: Path) -> None:
        self.secured, self.folder = secured, folder
        self.topic = f"kept-{folder.name[-24:].strip('_')}"
        self.journal = f"__journal-{self.topic}"
        create_topic(secured.plain, self.topic, [[1]])
        fill(secured.plain, self.topic, 2_000_000)
        (folder / "placement.yaml").write_text(
            f"version: 1\nassignments: {{{self.topic}: {{partitions: {{0: [2]}}}}}}\n"
            "throttles: {moves: {rate: 20MB/s}}\n"
        )

    def give(self, user: str, command: str) -> None:
        """Exactly what the table lists for a command."""
        row = needed(command)
        allow = self.secured.allow
        if row["cluster"]:
            allow(user, ResourceType.BROKER, "kafka-cluster", *row["cluster"])
        if row["topics"]:
            allow(user, ResourceType.TOPIC, self.topic, *row["topics"])
        for journal in (self.journal, JOURNAL_TOPIC):  # the lock is in the second
            allow(user, ResourceType.TOPIC, journal, *row["journal"])
        if AclOperation.WRITE in row["journal"] and command not in {"pause", "throttle RATE"}:
            both = AclOperation.DESCRIBE, AclOperation.WRITE
            allow(user, ResourceType.TRANSACTIONAL_ID, TRANSACTIONAL_ID, *both)
        file = self.secured.properties(self.folder, user, word_of(user))
        with open_cluster(self.secured.bootstrap, file) as plane:
            until(
                lambda: set(row["topics"]) <= operations(plane.access([self.journal]).topics, self),
                "the ACLs",
                limit_seconds=20,
            )

    def run(self, user: str, *arguments: str, wanted: int, journal: bool = True) -> str:
        """A command of a user, and all that it says."""
        file = self.folder / f"{user}.properties"
        if not file.exists():
            self.secured.properties(self.folder, user, word_of(user))
        reach = ("--bootstrap-server", self.secured.bootstrap, "--command-config", str(file))
        where = ("--journal", f"topic:{self.journal}") if journal else ()
        done = checked(*arguments, *reach, *where, folder=self.folder, wanted=wanted)
        said = done.stdout + done.stderr
        assert word_of(user) not in said
        return said

    def replicas(self) -> list[int]:
        return list(partition_metadata(admin(self.secured.plain), self.topic)[0].replicas)


def operations(topics: object, site: Site) -> set[AclOperation]:
    """What a user may do with the topic, as ACLs spell it."""
    assert isinstance(topics, dict)
    return {OPERATIONS[name.lower()] for name in topics.get(site.topic, ())}


@pytest.fixture
def site(secured: Secured, tmp_path: Path) -> Site:
    return Site(secured, tmp_path)


def test_who_may_plan_is_warned_and_refused_and_who_may_apply_applies(site: Site) -> None:
    site.give("planner", "plan")
    warned = site.run("planner", "plan", "-o", "plan.json", wanted=2)
    lacking = {
        "Alter on Cluster",
        "AlterConfigs on Cluster",
        f"AlterConfigs on Topic {site.topic}",
        f"Write on TransactionalId {TRANSACTIONAL_ID}",
    }
    assert "User:planner" in warned
    assert all(text in warned for text in lacking)

    refused = site.run("planner", "apply", "plan.json", "--settle", "1", wanted=1)
    assert "User:planner may not apply this; nothing was changed" in refused
    assert all(f"\n  {text}\n" in refused for text in lacking)
    assert site.journal not in admin(site.secured.plain).list_topics(timeout=10).topics
    assert site.replicas() == [1]

    site.give("applier", "apply")
    assert "may not apply this plan" not in site.run("applier", "plan", wanted=2)
    site.run("applier", "apply", "plan.json", "--settle", "1", wanted=0)
    assert site.replicas() == [2]
    kept = site.run("planner", "journal", "show", "--format", "json", wanted=0)
    assert word_of("applier") not in kept + (site.folder / "plan.json").read_text()


def test_with_describe_alone_it_plans_as_with_the_defaults_and_says_so(site: Site) -> None:
    site.secured.allow("guest", ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
    site.secured.allow("guest", ResourceType.TOPIC, site.topic, AclOperation.DESCRIBE)
    file = site.secured.properties(site.folder, "guest", word_of("guest"))
    with open_cluster(site.secured.bootstrap, file) as plane:
        until(lambda: site.topic in plane.access().topics, "the ACLs", limit_seconds=20)
    said = site.run("guest", "plan", "-o", "plan.json", wanted=2)
    assert f"DescribeConfigs is not allowed on {site.topic}" in said
    (move,) = json.loads((site.folder / "plan.json").read_text())["moves"]
    assert (move["topic"], move["target"]) == (site.topic, [2])
    assert "this user needs the ACL DescribeConfigs on" in site.run("guest", "drift", wanted=1)


def test_new_partitions_are_tried_by_who_may_add_them_and_none_is_made(site: Site) -> None:
    (site.folder / "placement.yaml").write_text(
        f"version: 1\nassignments: {{{site.topic}: {{partitions: [[1], [2]]}}}}\n"
    )
    untried = f"the new partitions of {site.topic} were not tried: that needs Alter on the topic"
    site.give("planner", "plan")
    assert untried in site.run("planner", "plan", wanted=2)
    site.secured.allow("planner", ResourceType.TOPIC, site.topic, AclOperation.ALTER)
    until(lambda: untried not in site.run("planner", "plan", wanted=2), "the ACL", limit_seconds=20)
    assert "refuses the new partitions" not in site.run("planner", "plan", wanted=2)
    assert site.replicas() == [1]
    assert len(partition_metadata(admin(site.secured.plain), site.topic)) == 1


@pytest.mark.nightly
def test_every_command_runs_with_what_its_row_lists(site: Site) -> None:
    site.give("planner", "plan")
    for command, wanted in (
        ("drift", 2),
        (f"status --topic {site.topic}", 0),
        (f"explain {site.topic}-0", 2),
        ("snapshot -o seen.json", 0),
        ("export", 0),
        ("init new", 0),
        ("blacklist show", 0),
        ("throttle show", 0),
    ):
        journal = command.split()[0] not in {"snapshot", "export", "init"}
        site.run("planner", *command.split(), wanted=wanted, journal=journal)
    assert "Alter on Cluster" in site.run("planner", "doctor", wanted=2)
    site.give("steerer", "throttle clear")
    assert "no reassignment" in site.run("steerer", "throttle", "1MB/s", "--running", wanted=0)
    site.run("steerer", "throttle", "clear", wanted=0)
    site.run("steerer", "abandon", wanted=1)

    site.give("applier", "apply")
    site.run("applier", "elect", "preferred", "--topic", site.topic, wanted=0)
    site.run("applier", "apply", "-f", "placement.yaml", "--auto-approve", "--settle=1", wanted=0)
    assert site.run("planner", "rollback", "-o", "back.json", wanted=2)
    site.run("applier", "apply", "back.json", "--settle", "1", wanted=0)
    for command in ("lock show", "journal show"):
        site.run("planner", *command.split(), wanted=0)
    assert site.replicas() == [1]
