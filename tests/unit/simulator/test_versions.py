"""What differs between versions and no golden vector shows, and that every command has a rule."""

from typing import get_args

from replan.simulator.api import COMMAND_RULES as RULES_OF_COMMANDS
from replan.simulator.api import RULES, ControllerCommand


def test_eligible_leader_replicas_can_be_on_from_4_0_on_and_are_in_new_clusters_from_4_1_on() -> (
    None
):
    versions = list(RULES)
    knowing = [version for version, rules in RULES.items() if rules.knows_elr]
    by_default = [version for version, rules in RULES.items() if rules.elr_by_default]
    assert knowing == versions[versions.index("4.0") :]
    assert by_default == versions[versions.index("4.1") :]


def test_every_command_has_its_rule() -> None:
    assert set(get_args(ControllerCommand)) == RULES_OF_COMMANDS.keys()
