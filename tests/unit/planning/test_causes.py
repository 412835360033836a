"""Which entry of the placement a refusal comes from."""

import pytest
from tests.builders import FILE, placement

from replan.model.api import BrokerId, Placement, ReplicaBlacklist, TopicRule, Where, replicas
from replan.planning.api import Causes, Refusal, RefusalRule, fact_names


def refused(topic: str, partition: int = 0, rule: RefusalRule = RefusalRule.CORDONED) -> Refusal:
    return Refusal(topic, partition, rule, dict.fromkeys(fact_names(rule), replicas(3)))


def at(line: int) -> Where:
    return Where(FILE, line, 3)


ASKED = placement(
    {"orders": [[1, 2], [2, 1]]},
    rules={"pay*": TopicRule(at(50), "pay*")},
    replica_blacklist=tuple(ReplicaBlacklist(BrokerId(b), at(60 + b)) for b in (2, 3)),
)


@pytest.mark.parametrize(
    ("placed", "refusal", "where"),
    [
        (ASKED, refused("orders", 1), Where(FILE, 4, 5)),
        (ASKED, refused("orders", 7), Where(FILE, 2, 3)),
        (ASKED, refused("payments"), at(50)),
        (ASKED, refused("undeclared"), at(63)),
        (ASKED, refused("orders", 0, RefusalRule.NO_SUBSTITUTE), at(63)),
        (placement(), refused("undeclared"), None),
    ],
)
def test_the_nearest_entry_is_the_cause(
    placed: Placement, refusal: Refusal, where: Where | None
) -> None:
    assert Causes.of(placed, [refusal]).where(refusal) == where


def test_a_place_is_read_as_it_is_printed() -> None:
    odd = Where("C:/a:b.yaml", 7, 9)
    assert Where.read(str(odd)) == odd
    with pytest.raises(ValueError, match="values to unpack"):
        Where.read("placement.yaml")
