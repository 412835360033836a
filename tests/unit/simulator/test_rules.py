"""What differs between versions and no golden vector tells, since it is decided before a story begins."""

from replan.simulator.rules import RULES


def test_new_clusters_have_eligible_leader_replicas_from_4_1_on() -> None:
    by_default = [version for version, rules in RULES.items() if rules.elr_by_default]
    assert by_default == ["4.1", "4.2", "4.3", "4.4"]
