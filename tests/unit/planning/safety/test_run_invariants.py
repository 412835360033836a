"""Laws over histories, on histories that are written by hand."""

import math

import pytest
from msgspec.structs import replace
from tests.builders import lists, move

from replan.model.api import BrokerId, TopicPartition, replicas
from replan.planning.api import (
    Blindness,
    Broken,
    Crowding,
    Ends,
    Sample,
    Slack,
    Trajectory,
    UncleanElection,
    arrived,
    drops_only_what_was_replaced,
    harms_nobody,
    throttles_are_known,
)

NAME = TopicPartition("orders", 0)
MOVE = move([1, 2, 3], [4, 2, 5])


def sample(
    at: float,
    listed: tuple[int, ...],
    in_sync: tuple[int, ...] | None = None,
    *,
    leader: int | None = -1,
    log_end: float = 0.0,
) -> Sample:
    members = listed if in_sync is None else in_sync
    leads = (members[0] if members else None) if leader == -1 else leader
    return Sample(
        at,
        lists(*listed),
        lists(*members),
        None if leads is None else BrokerId(leads),
        min(2, len(listed)),
        log_end,
    )


def history(*samples: Sample, ended: float = 100.0) -> Trajectory:
    return Trajectory(NAME, samples, ended)


WHOLE = history(sample(0, (1, 2, 3)))
THERE = history(sample(0, (4, 2, 5)))
ENDS = Ends(at_original=WHOLE, at_target=THERE)


def harm(ours: Trajectory, ends: Ends = ENDS) -> list[str]:
    return [f"{b.message} [{b.law}]" for b in harms_nobody(ours, ends, Slack())]


def dropped_early(ours: Trajectory, blind: Blindness | None = None) -> list[Broken]:
    return list(drops_only_what_was_replaced(MOVE, ours, 15.0, blind or Blindness()))


def test_a_history_shows_how_long_something_held() -> None:
    ours = history(
        sample(0, (1, 2, 3)),
        sample(10, (1, 2, 3), (1,)),
        sample(30, (1, 2, 3), (), leader=None),
        sample(40, (1, 2, 3)),
    )
    assert ours.under_min_isr_seconds == 30
    assert ours.leaderless_seconds == 10
    assert ours.at(29.9).margin == -1
    assert ours.at(40).margin == 1


def test_a_move_that_goes_well_harms_nobody() -> None:
    ours = history(
        sample(0, (1, 2, 3)),
        sample(1, (1, 2, 3, 4, 5), (1, 2, 3)),
        sample(20, (1, 2, 3, 4, 5)),
        sample(40, (4, 2, 5)),
    )
    assert harm(ours) == []
    assert dropped_early(ours) == []
    assert list(arrived(MOVE, ours)) == []


def test_fewer_in_sync_than_at_both_ends_is_harm() -> None:
    ours = history(sample(0, (1, 2, 3)), sample(10, (1, 2, 3, 4, 5), (1, 2)), sample(30, (1, 2, 3)))
    assert harm(ours) == [
        (
            "orders-0: from second 10 to 30 it has fewer live in-sync replicas than without any step: "
            "in sync [1, 2] of [1, 2, 3, 4, 5], leader 1; at its original in sync [1, 2, 3] of [1, 2, 3], leader 1; "
            "at its target in sync [4, 2, 5] of [4, 2, 5], leader 4 [fewer-in-sync]"
        )
    ]


def test_what_recovers_at_once_is_no_harm() -> None:
    ours = history(sample(0, (1, 2, 3)), sample(10, (1, 2, 3), (1, 2)), sample(12, (1, 2, 3)))
    assert harm(ours) == []


def nobody_there(since: float, until: float) -> Slack:
    return Slack(unattended=((since, until),))


def crowded(*copy: float) -> Slack:
    return Slack(crowded=((Crowding(*copy),), ()))


BACK_SOON = Ends(
    at_original=history(sample(0, (1, 2, 3)), sample(20, (1, 2, 3), (1, 3)), sample(22, (1, 2, 3))),
    at_target=history(sample(0, (4, 2, 5)), sample(20, (4, 2, 5), (4, 5)), sample(22, (4, 2, 5))),
)
BACK_LATE = history(sample(0, (1, 2, 3)), sample(20, (1, 2, 3, 4), (1, 3)), sample(42, (1, 2, 3)))
"""A replica that is out of sync from second 20: back at 22 without any step, and at 42 with them."""


@pytest.mark.parametrize(
    ("slack", "late"),
    [
        (nobody_there(5, 25), True),
        (nobody_there(25, 45), True),
        (nobody_there(60, 80), False),
        (crowded(10.0, 60.0, 40.0), True),  # 17.6 s of it fall between seconds 20 and 42
        (crowded(10.0, 60.0, 30.0), False),
        (crowded(10.0, 20.0, 40.0), False),
        (crowded(42.0, 60.0, 40.0), False),
        (crowded(41.0, 60.0, math.inf), True),
        (crowded(42.0, 60.0, math.inf), False),
        (crowded(30.0, 30.0, 40.0), False),
    ],
)
def test_a_replica_may_be_late_by_what_copies_took_or_by_as_long_as_nobody_could_lift_throttles(
    slack: Slack, *, late: bool
) -> None:
    assert [b.law for b in harms_nobody(BACK_LATE, BACK_SOON, slack)] == (
        [] if late else ["fewer-in-sync"]
    )


def test_what_only_the_target_would_suffer_is_no_harm_done_by_the_steps() -> None:
    ours = history(sample(0, (1, 2, 3)), sample(40, (4, 2, 5)), sample(50, (4, 2, 5), (2, 5)))
    suffering = history(sample(0, (4, 2, 5)), sample(50, (4, 2, 5), (2, 5)))
    assert harm(ours, Ends(at_original=WHOLE, at_target=suffering)) == []


def test_no_leader_for_the_steps_sake_where_neither_end_would_have_one() -> None:
    ours = history(sample(0, (4, 2, 5)), sample(50, (4, 2, 5), leader=None))
    assert [b.law for b in harms_nobody(ours, ENDS, Slack())] == ["leaderless"]
    for ends in (Ends(at_original=WHOLE, at_target=ours), Ends(at_original=ours, at_target=WHOLE)):
        assert harm(ours, ends) == []


def test_under_min_isr_and_leaderless_are_harm() -> None:
    ours = history(sample(0, (1, 2, 3)), sample(10, (1, 2, 3), ()), sample(40, (1, 2, 3)))
    laws = [b.law for b in harms_nobody(ours, ENDS, Slack())]
    assert laws == ["fewer-in-sync", "under-min-isr", "leaderless"]


def test_a_log_that_was_cut_off_is_harm() -> None:
    ours = history(
        sample(0, (1, 2, 3), log_end=3_000),
        sample(5, (1, 2, 3), (), log_end=3_000),
        sample(6, (1, 2, 3), (3,), log_end=1_000),
        sample(7, (1, 2, 3), log_end=1_000),
    )
    assert harm(ours) == [
        "orders-0: 2000 bytes of its committed log were lost, 0 without any step [shorter-log]"
    ]


def test_a_replica_that_leaves_before_the_target_has_settled_is_reported() -> None:
    ours = history(
        sample(0, (1, 2, 3)),
        sample(1, (1, 2, 3, 4, 5), (1, 2, 3, 4)),
        sample(20, (1, 2, 3, 4, 5)),
        sample(30, (4, 2, 5)),
    )
    (found,) = dropped_early(ours)
    assert (found.law, found.subject) == ("drops-only-what-was-replaced", "orders-0")


def test_what_is_out_of_sync_between_two_looks_may_go_unseen() -> None:
    ours = history(
        sample(0, (1, 2, 3)),
        sample(1, (1, 2, 3, 4, 5)),
        sample(10, (1, 2, 3, 4, 5), (1, 2, 3, 4)),
        sample(11, (1, 2, 3, 4, 5)),
        sample(16, (4, 2, 5)),
    )
    assert dropped_early(ours) == []
    sharp = Blindness(unseen_seconds=0.5)
    assert dropped_early(ours, sharp)


@pytest.mark.parametrize(("lost_at", "broken"), [(28.0, False), (26.0, True)])
def test_what_was_lost_long_before_the_drop_had_to_be_known(lost_at: float, broken: bool) -> None:
    ours = history(
        sample(0, (1, 2, 3)),
        sample(5, (1, 2, 3, 4, 5)),
        sample(lost_at, (1, 2, 3, 4, 5), (1, 2, 3, 4)),
        sample(30, (4, 2, 5), (4, 2)),
    )
    assert bool(dropped_early(ours)) is broken


@pytest.mark.parametrize(("accepted_at", "broken"), [(21.0, False), (26.0, True)])
def test_a_drop_counts_from_when_kafka_accepted_it(accepted_at: float, broken: bool) -> None:
    """It completes it by itself, as soon as the whole target is in sync again."""
    removing = sample(accepted_at, (4, 2, 5, 1, 3), (4, 2, 1, 3))
    ours = history(
        sample(0, (1, 2, 3)),
        sample(5, (1, 2, 3, 4, 5)),
        sample(20, (1, 2, 3, 4, 5), (1, 2, 3, 4)),
        replace(removing, removing=replicas(1, 3)),
        sample(60, (4, 2, 5)),
    )
    assert bool(dropped_early(ours)) is broken


def test_a_dead_broker_counts_as_in_sync_until_its_session_ends() -> None:
    died = replace(sample(17, (1, 2, 3, 4, 5), (1, 2, 3, 4)), not_serving=replicas(5))
    ours = history(
        sample(0, (1, 2, 3)), sample(5, (1, 2, 3, 4, 5)), died, sample(22, (4, 2, 5), (4, 2))
    )
    assert dropped_early(ours) == []


def test_a_move_that_is_said_to_be_done_has_its_target() -> None:
    assert [b.message for b in arrived(MOVE, WHOLE)] == [
        "orders-0: it counts as done, and its list is [1, 2, 3] instead of [4, 2, 5]"
    ]


def test_a_move_that_is_said_to_be_done_was_led_by_the_first_of_its_target() -> None:
    ours = history(sample(0, (1, 2, 3)), sample(5, (4, 2, 5), leader=2))
    assert [b.message for b in arrived(MOVE, ours)] == [
        "orders-0: it counts as done, and 4, the first of [4, 2, 5], never led it"
    ]
    once = history(*ours.samples, sample(6, (4, 2, 5)), sample(7, (4, 2, 5), leader=2))
    assert list(arrived(MOVE, once)) == []
    assert list(arrived(move([1, 2, 3], [4, 2, 5], elect=False), ours)) == []


def test_a_throttle_that_the_journal_does_not_know_is_reported() -> None:
    where = ("broker", "3", "leader.replication.throttled.rate")
    assert list(throttles_are_known({}, {where: "5"}, frozenset({where}))) == []
    assert [b.message for b in throttles_are_known({}, {where: "5"}, frozenset())] == [
        "broker 3: leader.replication.throttled.rate was None and stays behind as '5', and the journal does not know"
    ]


DIES = (
    sample(0, (1, 2, 3), log_end=100),
    sample(10, (1, 2, 3, 4), (1,), log_end=100),
    sample(40, (1, 2, 3, 4), (), log_end=100),
    sample(49, (1, 2, 3, 4), (4,), log_end=10),
)
STAYS = history(DIES[0], replace(DIES[2], replicas=lists(1, 2, 3)))


@pytest.mark.parametrize(
    ("unclean", "excused"),
    [
        (None, False),
        (UncleanElection(switched=((0, True),), noticed_seconds=29), False),
        (UncleanElection(switched=((0, True),), noticed_seconds=30), True),
        (UncleanElection(switched=((0, False), (25, True)), noticed_seconds=14), False),
        (UncleanElection(switched=((0, False), (25, True)), noticed_seconds=15), True),
        (UncleanElection(switched=((0, False),), noticed_seconds=90), False),
        (UncleanElection(switched=((0, True),), noticed_seconds=10, unattended=((15, 35),)), True),
    ],
)
def test_a_copy_that_an_unclean_election_chose_is_excused_where_nobody_could_take_it_back_in_time(
    unclean: UncleanElection | None, *, excused: bool
) -> None:
    ends = Ends(at_original=STAYS, at_target=STAYS)
    found = list(harms_nobody(history(*DIES), ends, Slack(in_sync_seconds=99, unclean=unclean)))
    assert [b.law for b in found] == ([] if excused else ["shorter-log"])


def test_while_two_replicas_serve_in_sync_no_copy_has_to_be_taken_back() -> None:
    two = sample(10, (1, 2, 3, 4), (1, 2), log_end=100)
    ours = history(DIES[0], two, replace(DIES[1], at=20), *DIES[2:])
    unclean = UncleanElection(switched=((0, True),), noticed_seconds=20)
    slack = Slack(in_sync_seconds=99, unclean=unclean)
    assert list(harms_nobody(ours, Ends(at_original=STAYS, at_target=STAYS), slack)) == []


def test_a_log_that_is_cut_while_a_replica_serves_in_sync_is_never_excused() -> None:
    always = UncleanElection(switched=((0, True),), noticed_seconds=90)
    ours = history(DIES[0], sample(20, (4, 5, 6), log_end=10))
    found = list(harms_nobody(ours, ENDS, Slack(unclean=always)))
    assert [b.law for b in found] == ["shorter-log"]
