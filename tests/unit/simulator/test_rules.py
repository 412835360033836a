"""What differs between versions and no golden vector tells, since it is decided before a story begins."""

from replan.simulator.controller.versions import RULES


def test_eligible_leader_replicas_can_be_on_from_4_0_on_and_are_in_new_clusters_from_4_1_on() -> (
    None
):
    versions = list(RULES)
    knowing = [version for version, rules in RULES.items() if rules.knows_elr]
    by_default = [version for version, rules in RULES.items() if rules.elr_by_default]
    assert knowing == versions[versions.index("4.0") :]
    assert by_default == versions[versions.index("4.1") :]
