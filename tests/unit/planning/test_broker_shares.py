"""What each broker holds before, at most during, and after a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import brokers, move, placement, snapshot, state

from replan.model.api import BrokerId, Snapshot
from replan.planning.api import Holding, Plan, broker_shares, make_plan

LISTS = st.lists(st.permutations([1, 2, 3, 4, 5]).map(lambda p: p[:3]), min_size=1, max_size=6)


def counted(seen: Snapshot) -> dict[int, Holding]:
    """What every broker of a snapshot holds, partition by partition."""
    found: dict[int, Holding] = {broker.id: Holding() for broker in seen.brokers}
    for each in seen.states(range(seen.partitions.num_rows)):
        for broker in each.replicas:
            found[broker] += Holding(1, int(each.leader == broker), each.bytes)
    return found


@given(LISTS, st.data())
def test_after_is_what_the_cluster_holds_once_the_plan_is_done(
    lists: list[list[int]], data: st.DataObject
) -> None:
    wanted = data.draw(
        st.tuples(*[st.permutations([1, 2, 3, 4, 5]).map(lambda p: p[:3])] * len(lists))
    )
    before = snapshot([state(of, partition=p, size=p + 1) for p, of in enumerate(lists)])
    after = snapshot([state(of, partition=p, size=p + 1) for p, of in enumerate(wanted)])
    made = make_plan(placement({"orders": wanted}), before)
    shares = {share.broker: share for share in broker_shares(made, before)}
    assert {b: s.before for b, s in shares.items()} == counted(before)
    assert {b: s.after for b, s in shares.items()} == counted(after)
    for share in shares.values():
        assert share.before is not None
        assert share.after is not None
        assert share.peak_bytes == share.before.bytes + share.incoming
        assert share.peak_bytes >= max(share.before.bytes, share.after.bytes)


def test_without_a_snapshot_only_the_change_is_known() -> None:
    made = Plan("c", "d", {BrokerId(9): "z"}, (move([1, 2], [2, 3], size=7, leader=1),))
    shares = {share.broker: share for share in broker_shares(made)}
    assert shares[BrokerId(1)].change == Holding(-1, -1, -7)
    assert shares[BrokerId(2)].change == Holding(0, 1, 0)
    assert shares[BrokerId(3)].change == Holding(1, 0, 7)
    assert not shares[BrokerId(9)].changes
    assert shares[BrokerId(3)].before is shares[BrokerId(3)].after is None


@pytest.mark.parametrize("count", [0, 1])
def test_brokers_without_replicas_are_there(count: int) -> None:
    seen = snapshot([state([1], partition=p) for p in range(count)], registered=brokers(2))
    found = broker_shares(make_plan(placement(), seen), seen)
    assert [(share.broker, share.after) for share in found] == [
        (1, Holding(count, count)),
        (2, Holding()),
    ]
