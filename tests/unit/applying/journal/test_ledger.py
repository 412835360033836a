"""What the records of a journal mean together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import TOPIC_ID
from tests.unit.applying.journal.records import APP, P0, RECORDS

from replan.applying.api import (
    Application,
    ApplicationStatus,
    CreateRecord,
    Forget,
    Journal,
    LastRequest,
    MemoryJournal,
    MoveRecord,
    Record,
    SavedRate,
    SavedReplicaList,
    Status,
    fold,
)
from replan.errors import Held
from replan.model.api import FOLLOWER_REPLICAS, LEADER_RATE, BrokerId, RememberedOrder, replicas
from replan.planning.api import RequestKind


def filled() -> Journal:
    journal = MemoryJournal()
    journal.append(RECORDS)
    return journal


def test_the_fold_finds_the_open_application_and_what_is_its() -> None:
    ledger = fold(filled().read())
    assert ledger.application == APP
    assert set(ledger.owned) == {P0, P0._replace(partition=1)}
    assert set(ledger.open) == {P0}
    assert ledger.plan_text("a-1") == '{"kind": "é"}\nrest'
    assert ledger.applications("d" * 64) == [APP]
    assert set(ledger.entries) == {("orders", FOLLOWER_REPLICAS)}
    assert set(ledger.rates) == {(4, LEADER_RATE), (5, LEADER_RATE)}
    assert ledger.remembered() == {P0: RememberedOrder(replicas(3, 1, 2), TOPIC_ID)}
    assert [o.partition.partition for o in ledger.ended(Status.STALE)] == [1]


def test_folding_step_by_step_is_folding_at_once() -> None:
    more: tuple[Record, ...] = (
        MoveRecord("a-1", P0, TOPIC_ID, replicas(1, 2, 3), replicas(4, 2, 5), Status.DONE),
        MoveRecord("b-1", P0, TOPIC_ID, replicas(1), replicas(2)),
        Forget("prior/broker/4/leader.replication.throttled.rate"),
        Application("a-1", ApplicationStatus.CLOSED, "d", "m", "cluster", "ann"),
    )
    ledger = fold([])
    for record in (*RECORDS, *more):
        ledger = ledger.after([record])
    assert ledger == fold([*RECORDS, *more])
    assert ledger.application is None
    assert ledger.owned == {}
    assert ledger.after([]) is ledger


ANY_RECORD = st.one_of(
    st.builds(
        lambda app, number, status, asked: MoveRecord(
            app,
            P0._replace(partition=number),
            TOPIC_ID,
            replicas(1, 2, 3),
            replicas(4, 2, 5),
            status,
            asked,
        ),
        st.sampled_from(["a-1", "b-1"]),
        st.integers(0, 3),
        st.sampled_from([Status.OPEN, Status.DONE, Status.STALE]),
        st.none() | st.just(LastRequest(RequestKind.EXPAND, replicas(1, 2, 3, 4, 5))),
    ),
    st.builds(
        lambda topic, ours: SavedReplicaList(topic, FOLLOWER_REPLICAS, False, ours),
        st.sampled_from(["clicks", "orders"]),
        st.sampled_from([("0:1",), ("0:1", "0:2")]),
    ),
    st.builds(
        lambda broker, ours: SavedRate(BrokerId(broker), LEADER_RATE, None, ours),
        st.integers(4, 6),
        st.sampled_from([("10",), ("20",)]),
    ),
    st.builds(
        Forget,
        st.sampled_from(
            [
                "nothing/of/that/name",
                f"own/a-1/{TOPIC_ID}-1",
                *(f"prior/broker/{b}/{LEADER_RATE}" for b in (4, 5, 6)),
                *(f"prior/topic/{t}/{FOLLOWER_REPLICAS}" for t in ("clicks", "orders")),
            ]
        ),
    ),
    st.sampled_from([APP, *RECORDS]),
)


@given(st.lists(st.lists(ANY_RECORD, max_size=4), max_size=12))
def test_a_ledger_with_more_records_is_the_fold_of_all_in_the_same_order(
    batches: list[list[Record]],
) -> None:
    ledger, so_far = fold([APP]), list[Record]([APP])
    for batch in batches:
        ledger, so_far = ledger.after(batch), [*so_far, *batch]
        whole = fold(so_far)
        assert ledger == whole
        for of in ("records", "owned", "entries", "rates", "steps"):
            assert list(getattr(ledger, of)) == list(getattr(whole, of)), of
        assert ledger.done == len(ledger.ended(Status.DONE))
        assert ledger.given_up == {n for n, own in ledger.owned.items() if own.given_up}
        if any(isinstance(r, Forget) for r in batch):
            assert list(ledger.open) == list(whole.open)


def test_two_open_applications_are_refused_with_the_command_that_ends_both() -> None:
    other = Application("b-1", ApplicationStatus.OPEN, "e", "m", "cluster", "bob@ops-2")
    with pytest.raises(Held) as held:
        fold([APP, other])
    assert str(held.value) == (
        "the journal holds 2 open applications: a-1 of ann@ops-1, b-1 of bob@ops-2\n"
        "Two processes wrote to it at once. `replan abandon` ends them all: their moves stay as they are, and "
        "throttles set by replan are restored."
    )


def asked(kind: RequestKind, *, confirmed: bool) -> MoveRecord:
    last = LastRequest(kind, replicas(4, 2, 3), confirmed)
    return MoveRecord("a-1", P0, TOPIC_ID, replicas(1, 2, 3), replicas(4, 2, 3), asked=last)


@pytest.mark.parametrize(
    ("record", "may_arrive"),
    [
        pytest.param(asked(RequestKind.ASSIGN, confirmed=False), True, id="a list"),
        pytest.param(asked(RequestKind.ASSIGN, confirmed=True), False, id="an answered list"),
        pytest.param(asked(RequestKind.ELECT, confirmed=False), False, id="an election"),
        pytest.param(CreateRecord("a-1", "orders", TOPIC_ID, 4), True, id="an open step"),
        pytest.param(
            CreateRecord("a-1", "orders", TOPIC_ID, 4, status=Status.DONE), False, id="a done step"
        ),
        pytest.param(CreateRecord("b-1", "orders", TOPIC_ID, 4), False, id="of another"),
    ],
)
def test_what_may_arrive_of_the_open_application(record: Record, may_arrive: bool) -> None:
    assert fold([APP, record]).may_arrive is may_arrive
