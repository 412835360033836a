"""The sentences of what other tools did to throttles."""

from typing import get_args

import pytest

from replan.applying.journal.records import Verb
from replan.applying.reasons.notes import (
    ArrivedLate,
    EntriesRemoved,
    ListsLeft,
    Note,
    Obeyed,
    RateChanged,
    RateGivesWay,
    RateKept,
    RateLowered,
    RateRefused,
    RateRemoved,
    RateUnused,
    ReadingsApart,
    SlowerAlready,
)
from replan.model.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.reporting.sentences.note_text import note_text

B4 = BrokerId(4)
NOTES: list[tuple[Note, str]] = [
    (
        EntriesRemoved("orders", FOLLOWER_REPLICAS, ("0:4", "1:4"), again=False),
        "follower.replication.throttled.replicas of topic orders: another tool removed 0:4,1:4; set again, this once",
    ),
    (
        RateRemoved(B4, FOLLOWER_RATE, again=True),
        (
            "follower.replication.throttled.rate of broker 4: another tool removed it; "
            "for the second time: no more copies are started until you rerun to resume"
        ),
    ),
    (
        RateGivesWay(B4, FOLLOWER_RATE, TopicPartition("orders", 0)),
        (
            "follower.replication.throttled.rate of broker 4: lifted while orders-0 catches up, "
            "which an entry that is not of these copies would hold at this rate"
        ),
    ),
    (
        RateChanged(B4, FOLLOWER_RATE, "70"),
        (
            "follower.replication.throttled.rate of broker 4 was changed to 70 B/s by another tool; "
            "it is left alone, copies go at that rate"
        ),
    ),
    (
        RateKept(B4, FOLLOWER_RATE, "70", "90"),
        (
            "follower.replication.throttled.rate of broker 4 was changed to 70 B/s by another tool; "
            "it is left as it is (before this application it was 90 B/s)"
        ),
    ),
    (
        RateKept(B4, FOLLOWER_RATE, None, None),
        (
            "follower.replication.throttled.rate of broker 4 was removed by another tool; "
            "it is left as it is (before this application it was not set)"
        ),
    ),
    (
        RateRefused(("0",), "bob@ops-2"),
        (
            "throttle 0 B/s, by bob@ops-2: not obeyed; a rate is 1000 to 9223372036854775807 B/s, or unlimited"
        ),
    ),
    (
        RateUnused(B4, FOLLOWER_RATE, "90"),
        (
            "follower.replication.throttled.rate of broker 4 is still replan's, and no broker of that id is "
            "registered: if one is again, it is set back to 90 B/s by the next application or `replan throttle clear`"
        ),
    ),
    (
        ReadingsApart(9, (B4,)),
        (
            "readings of the cluster were 9 s apart; silent: [4]; confirming that replicas stay in sync takes longer"
        ),
    ),
    (
        ListsLeft((TopicPartition("orders", 0),)),
        (
            "with more replicas than before, as their moves had begun to add some: orders-0; the next plan makes "
            "them as they were, or as the placement declares them"
        ),
    ),
    (
        ArrivedLate(TopicPartition("orders", 0), replicas(1, 2, 3, 4)),
        (
            "orders-0: [1, 2, 3, 4] runs there after it was done, as an earlier request wanted; it is taken back, "
            "unless its topic was made again"
        ),
    ),
    (
        SlowerAlready(B4, FOLLOWER_RATE, 1_000_000, 20_000_000),
        (
            "follower.replication.throttled.rate of broker 4 is 1 MB/s, set by another tool, and lower than the "
            "20 MB/s asked for; it is left alone"
        ),
    ),
    (
        RateLowered(B4, FOLLOWER_RATE, 90_000_000, 20_000_000),
        (
            "follower.replication.throttled.rate of broker 4 was 90 MB/s, set by another tool; lowered to 20 MB/s, "
            "and restored at the end"
        ),
    ),
    (
        Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2", others=True),
        "throttle 80 MB/s, other tools' reassignments, too, by bob@ops-2",
    ),
    (Obeyed(Verb.PAUSE, "", "bob@ops-2"), "pause, by bob@ops-2"),
    (Obeyed(Verb.THROTTLE, "80000000", "bob@ops-2"), "throttle 80 MB/s, by bob@ops-2"),
    (Obeyed(Verb.THROTTLE, "unlimited", "bob@ops-2"), "throttle unlimited, by bob@ops-2"),
]


@pytest.mark.parametrize(("note", "text"), NOTES)
def test_a_note_says_what_was_done_about_it(note: Note, text: str) -> None:
    assert note_text(note) == text


def test_every_note_has_its_sentence_and_text_stays_text() -> None:
    assert {type(note) for note, _ in NOTES} == set(get_args(Note))
    assert note_text("fault: kill 3") == "fault: kill 3"
