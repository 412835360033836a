"""`apply` is killed again and again at any moment, and each time another user goes on from another folder.

Whoever goes on has the bootstrap address and nothing else: the plan is in the journal. Moments, and whether the lock of
the dead is released or waited for (60 s), come from a seed; what a moment meets differs from run to run. A producer
that repeats what failed writes beside it, and a consumer reads all of it.
"""

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.load import EXACTLY_ONCE, ProducerLoad
from tests.kafka.harness.reading import Reading
from tests.kafka.test_main_job import LISTS, SETTLE, Site, filled, placement
from tests.kafka.test_two_machines import Machine

KILLS = 6
WITHIN_SECONDS = (4.0, 25.0, 100.0)
"""Beginnings and takeovers, copies, and the 85 s after a takeover."""
RELEASED = 0.75
RATE = "4MB/s"


class Relay:
    """Users who go on with each other's work: there with the declared placement, back with the lists of before."""

    def __init__(self, site: Site, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - the moments of a test
        self._site, self._folder = site, folder
        self._numbers = itertools.count()
        back = (
            f"version: 1\nassignments: {{{site.topic}: {{partitions: {dict(enumerate(LISTS))}}}}}\n"
            f"throttles: {{moves: {{rate: {RATE}}}}}\n"
        )
        self._wanted = itertools.cycle([placement(site.topic, rate=RATE), back])
        self._placement = next(self._wanted)
        self.moments: list[str] = []

    def next(self) -> Machine:
        return Machine(self._site, self._folder, f"user-{next(self._numbers)}")

    def command(self, user: Machine) -> tuple[str, ...] | None:
        """What goes on with the open application, or begins one; None where all is as wanted."""
        shown = json.loads(user.replan("journal", "show", "--format", "json", wanted=0)[0])
        if any(each["status"] == "open" for each in shown["applications"]):
            return ("resume", *SETTLE)
        (user.folder / "placement.yaml").write_text(self._placement)
        user.replan("plan", "-o", "plan.json", "--exit-zero", wanted=0)
        plan = json.loads((user.folder / "plan.json").read_bytes())
        return ("apply", "plan.json", *SETTLE) if plan["moves"] else None

    def killed(self) -> bool:
        """Go on as another user for a while; whether it was killed, and had not ended by then."""
        user = self.next()
        command = self.command(user)
        if command is None:
            self._placement = next(self._wanted)
            return False
        seconds = self.chance.uniform(0, self.chance.choice(WITHIN_SECONDS))
        with user.started(*command) as process:
            try:
                shown, errors = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                shown, errors = process.communicate()
                last = (shown.splitlines() or errors.splitlines() or ["nothing said yet"])[-1]
                self.moments.append(f"{command[0]} after {seconds:.1f} s: {last}")
                self._release()
                return True
        assert process.returncode == 0, f"{command}: {shown}\n{errors}"
        return False

    def _release(self) -> None:
        if self.chance.random() < RELEASED:
            user = self.next()
            lock = re.search(
                r"^lock +(\S+)", user.replan("lock", "show", wanted=0)[0], re.MULTILINE
            )
            if lock:
                user.replan("lock", "release", lock.group(1), "--reason", "killed", wanted=0)

    def finish(self) -> None:
        """Go on to the end of what is declared."""
        declared = placement(self._site.topic, rate=RATE)
        while True:
            user = self.next()
            if (command := self.command(user)) is not None:
                user.replan(*command, wanted=0)
            elif self._placement == declared:
                return
            else:
                self._placement = declared


@pytest.fixture
def site(layout: Layout, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        yield filled(cluster, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(5))
def test_killed_six_times_it_ends_as_if_it_had_run_through(
    site: Site, tmp_path: Path, seed: int
) -> None:
    relay = Relay(site, tmp_path, seed)
    cluster, topic = site.cluster.bootstrap, site.topic
    with (
        Reading(cluster, topic) as reading,
        ProducerLoad(cluster, topic, records_per_second=40, settings=EXACTLY_ONCE) as load,
    ):
        while len(relay.moments) < KILLS:
            relay.killed()
        relay.finish()
        account = load.close()
        sys.stdout.write("\n".join(relay.moments))
        assert account.errors == ()
        assert account.unanswered == 0
        reading.once_each(account)
    site.stands_as_declared()
