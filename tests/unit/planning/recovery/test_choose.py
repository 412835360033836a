"""Who leads a partition without a leader: the best log, unless a better one may return."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from replan.model.api import (
    BrokerId,
    PartitionState,
    ProbedLog,
    ProbeFailure,
    ProbeProblem,
    ReplicaLog,
    TopicId,
    TopicPartition,
    replicas,
)
from replan.planning.api import (
    Loss,
    Recovery,
    RecoveryMethod,
    RecoveryObstacle,
    RecoveryWish,
    Tail,
    Unrecoverable,
    candidates,
    chosen_recovery,
    may_return,
    tails,
)

NAME = TopicPartition("orders", 0)
SILENT = ProbeFailure(ProbeProblem.SILENT)


def log(end: int, epoch: int = 0, **earlier: int) -> ReplicaLog:
    """A log of one epoch, or of several: `log(1500, 2, e0=1000)`."""
    ends = {int(name[1:]): at for name, at in earlier.items()}
    return ReplicaLog(end, epoch, epochs={**ends, epoch: end})


def chosen(
    logs: Mapping[int, ProbedLog],
    wish: RecoveryWish,
    *,
    listed: tuple[int, ...] = (1, 2, 3),
    isr: tuple[int, ...] = (),
    elr: tuple[int, ...] = (),
    last: tuple[int, ...] = (),
    registered: tuple[int, ...] = (1, 2, 3),
    earlier_logs: dict[BrokerId, ReplicaLog] | None = None,
    adding: tuple[int, ...] = (),
) -> Recovery | Unrecoverable:
    """The choice where the brokers with a log, or a failure, are live."""
    state = PartitionState(
        NAME,
        TopicId("t"),
        replicas(*listed),
        replicas(*isr),
        None,
        adding=replicas(*adding),
        elr=replicas(*elr),
        last_known_elr=replicas(*last),
    )
    found = {BrokerId(b): one for b, one in logs.items()}
    known = {BrokerId(b) for b in registered}
    return chosen_recovery(state, candidates(state, found, found.keys(), known, earlier_logs), wish)


def recovery(found: Recovery | Unrecoverable) -> Recovery:
    assert isinstance(found, Recovery), found
    return found


BALANCED = RecoveryWish(RecoveryMethod.BALANCED)
GIVEN_UP = replace(BALANCED, given_up=frozenset({BrokerId(1)}))


def test_a_longer_log_of_an_older_epoch_is_not_the_better_one() -> None:
    logs = {2: log(3000), 3: log(1500, 2, e0=1000)}

    found = recovery(chosen(logs, GIVEN_UP, isr=(1,)))

    assert (found.chosen, found.order) == (3, (3, 1, 2))
    assert found.loss == Loss.of((Tail(BrokerId(2), 1000, 3000),), unknown=(BrokerId(1),))


def test_what_retention_had_deleted_is_lost_by_no_election() -> None:
    """No epoch is in both: the better log begins behind where the other one ends; or in the middle of it."""
    old, better = log(3000), replace(log(9000, 5), start=5000)
    overlapping = replace(better, start=2000)

    assert recovery(chosen({2: old, 3: better}, GIVEN_UP, isr=(1,))).loss.records == 0
    found = recovery(chosen({2: old, 3: overlapping}, GIVEN_UP, isr=(1,)))
    assert found.loss.tails == (Tail(BrokerId(2), 2000, 3000),)
    wish = replace(GIVEN_UP, method=RecoveryMethod.UNCLEAN)
    found = recovery(chosen({2: old, 3: better}, wish, isr=(1,)))
    assert (found.chosen, found.loss.tails) == (2, (Tail(BrokerId(3), 5000, 9000),))


def test_with_the_same_epoch_the_longer_log_is_chosen_whatever_the_order() -> None:
    found = recovery(chosen({3: log(1000), 2: log(2000)}, GIVEN_UP, listed=(1, 3, 2), isr=(1,)))

    assert found.chosen == 2
    assert not found.clean
    assert found.loss == Loss.of(unknown=(BrokerId(1),))


def test_kafkas_own_choice_is_the_first_live_one_and_its_loss_is_known() -> None:
    wish = replace(GIVEN_UP, method=RecoveryMethod.UNCLEAN)

    found = recovery(chosen({3: log(1000), 2: log(2000)}, wish, listed=(1, 3, 2), isr=(1,)))

    assert found.chosen == 3
    assert not found.reorders
    assert found.loss.tails == (Tail(BrokerId(2), 1000, 2000),)


@pytest.mark.parametrize(
    ("logs", "isr", "last", "better"),
    [
        ({2: log(2000), 3: log(1000)}, (1,), (), [1]),
        ({2: log(2000)}, (), (), [1, 3]),
        ({1: SILENT, 2: log(2000)}, (), (1,), [1]),
    ],
    ids=["a dead member of the ISR", "nobody is known to have been in sync", "a silent last one"],
)
def test_who_may_have_a_better_log_is_waited_for(
    logs: Mapping[int, ProbedLog], isr: tuple[int, ...], last: tuple[int, ...], better: list[int]
) -> None:
    found = chosen(logs, BALANCED, isr=isr, last=last)
    assert found == Unrecoverable(RecoveryObstacle.BETTER_MAY_RETURN, replicas(*better))


def test_aggressive_does_not_wait_for_it() -> None:
    found = chosen({2: log(2000), 3: log(1000)}, RecoveryWish(RecoveryMethod.AGGRESSIVE), isr=(1,))

    assert recovery(found).chosen == 2


def test_a_replica_that_was_not_in_sync_last_is_not_waited_for() -> None:
    found = chosen({2: log(2000)}, GIVEN_UP, isr=(1,))

    assert recovery(found).chosen == 2


def test_a_broker_that_was_unregistered_does_not_return_and_leaves_the_list() -> None:
    found = recovery(chosen({2: log(5), 3: log(9)}, BALANCED, isr=(1,), registered=(2, 3)))

    assert found.order == (3, 2)


def test_a_member_of_the_elr_that_is_back_leads_cleanly() -> None:
    found = recovery(chosen({2: log(5), 3: log(9)}, BALANCED, elr=(1, 2)))

    assert (found.chosen, found.clean, found.reorders) == (2, True, False)


def test_where_a_copy_runs_the_best_other_log_leads_by_the_list_as_it_is() -> None:
    logs = {2: log(9), 3: log(9), 4: log(20)}

    found = recovery(chosen(logs, GIVEN_UP, listed=(1, 2, 3, 4), isr=(1,), adding=(4,)))

    assert (found.chosen, found.reassigned, found.reorders) == (2, True, False)


def test_where_a_copy_runs_nobody_is_chosen_whom_the_list_does_not_elect() -> None:
    logs = {2: log(5), 3: log(9)}

    found = chosen(logs, GIVEN_UP, isr=(1,), adding=(4,), listed=(1, 2, 3, 4))

    assert found == Unrecoverable(RecoveryObstacle.RECOVERY_REASSIGNED, (BrokerId(2),))
    kafkas = replace(GIVEN_UP, method=RecoveryMethod.UNCLEAN)
    named = replace(GIVEN_UP, method=RecoveryMethod.DESIGNATED, desired=BrokerId(2))
    for wish in (kafkas, named):
        found = chosen(logs, wish, isr=(1,), adding=(4,), listed=(1, 2, 3, 4))
        assert recovery(found).chosen == 2


def test_a_replica_that_is_being_added_is_never_chosen() -> None:
    """Neither as the only live one, nor where the list begins with it."""
    for method in RecoveryMethod:
        desired = BrokerId(4) if method is RecoveryMethod.DESIGNATED else None
        wish = replace(GIVEN_UP, method=method, desired=desired)
        for logs in ({4: log(3)}, {2: log(9), 4: log(3)}):
            found = chosen(logs, wish, listed=(4, 1, 2), isr=(1,), adding=(4,))
            assert found == Unrecoverable(RecoveryObstacle.RECOVERY_REASSIGNED, (BrokerId(4),))


def test_silence_is_not_an_empty_log() -> None:
    wish = RecoveryWish(RecoveryMethod.AGGRESSIVE)

    assert recovery(chosen({1: SILENT, 2: log(0, -1)}, wish)).chosen == 2
    assert chosen({1: SILENT}, wish) == Unrecoverable(
        RecoveryObstacle.NO_LOG_KNOWN, (BrokerId(1), BrokerId(2), BrokerId(3))
    )


def test_a_designated_leader_must_be_there_and_say_what_it_has() -> None:
    def obstacle(broker: int) -> RecoveryObstacle:
        wish = replace(GIVEN_UP, method=RecoveryMethod.DESIGNATED, desired=BrokerId(broker))
        found = chosen({2: log(5), 3: SILENT}, wish, isr=(1,))
        assert isinstance(found, Unrecoverable)
        return found.obstacle

    assert [obstacle(b) for b in (9, 1, 3)] == [
        RecoveryObstacle.NO_SUCH_REPLICA,
        RecoveryObstacle.CHOSEN_NOT_LIVE,
        RecoveryObstacle.CHOSEN_UNKNOWN,
    ]


def test_what_an_earlier_snapshot_knew_of_a_dead_replica_counts_as_lost() -> None:
    earlier_logs = {BrokerId(1): log(3000)}

    found = recovery(
        chosen({2: log(2000), 3: log(1000)}, GIVEN_UP, isr=(1,), earlier_logs=earlier_logs)
    )

    assert found.loss == Loss.of((Tail(BrokerId(1), 2000, 3000),), unknown=(BrokerId(1),))


Logs = st.dictionaries(
    st.sampled_from([1, 2, 3]),
    st.one_of(
        st.just(SILENT),
        st.builds(lambda epoch, end: log(end, epoch), st.integers(0, 3), st.integers(1, 50)),
    ),
)
Members = st.sets(st.sampled_from([1, 2, 3])).map(lambda of: tuple(sorted(of)))


@given(
    Logs, Members, Members, st.sampled_from([RecoveryMethod.BALANCED, RecoveryMethod.AGGRESSIVE])
)
def test_the_chosen_log_is_the_best_and_nobody_better_may_return(
    logs: dict[int, ProbedLog], isr: tuple[int, ...], last: tuple[int, ...], method: RecoveryMethod
) -> None:
    found = chosen(logs, RecoveryWish(method), isr=isr, last=last)

    if not isinstance(found, Recovery):
        return
    assert sorted(found.order) == sorted(found.original)
    if found.clean:
        assert found.chosen in isr
        return
    known = {c.broker: c.known_log for c in found.candidates if c.known_log is not None}
    assert known[found.chosen].rank == max(of.rank for of in known.values())
    each = [t.records for t in tails(known, found.chosen)]
    assert max(each, default=0) <= found.loss.records <= sum(each)
    if method is RecoveryMethod.BALANCED:
        assert not may_return(found.candidates)
