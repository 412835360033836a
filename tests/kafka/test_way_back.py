"""Back to what was there before, on real brokers: cancelled in the middle by another terminal, and rolled back later.

Cancelled, looks agree on a partition that rests for 15 s; so this waits.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.commandline import start
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import until
from tests.kafka.harness.layout import Layout
from tests.kafka.test_main_job import SETTLE, Site, filled, load_on, placement
from tests.kafka.test_two_machines import moving


@pytest.fixture
def site(layout: Layout, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        yield filled(cluster, tmp_path)


def started(site: Site, *arguments: str) -> subprocess.Popen[str]:
    return start([*arguments, *site.flags], folder=site.folder, XDG_STATE_HOME=str(site.folder))


@pytest.mark.waits
def test_cancelled_in_the_middle_and_rolled_back_after_the_end_all_is_as_before(site: Site) -> None:
    before = site.described()
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate="4MB/s"))
    with (
        load_on(site) as load,
        started(site, "apply", "-f", "placement.yaml", "--auto-approve", *SETTLE) as applying,
    ):
        try:
            until(lambda: bool(moving(site)), "a running copy", limit_seconds=60)
            assert "being cancelled, by" in site.replan("cancel", wanted=0)
            said = "".join(applying.communicate(timeout=150))
        finally:
            applying.kill()
        account = load.close()
    assert applying.returncode == 4, said
    assert "is cancelled" in said
    assert account.errors == ()
    assert site.leftovers() == []
    site.replan("rollback", "-o", "rest.json", "--exit-zero", wanted=0)  # what was finished by then
    site.replan("apply", "rest.json", *SETTLE, wanted=0)
    assert site.described() == before

    (site.folder / "placement.yaml").write_text(placement(site.topic))
    site.replan("plan", "-o", "plan.json", wanted=2)
    site.apply()
    site.stands_as_declared()
    assert "still declares" in site.replan("rollback", "-o", "back.json", wanted=2)
    site.replan("apply", "back.json", *SETTLE, wanted=0)
    assert site.described() == before
    assert site.leftovers() == []
