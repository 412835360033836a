"""What is said of a loop: its words for every case, and that what others named is text wherever it appears."""

import json
from typing import get_args

import msgspec
import pytest
from tests.unit.reporting.loop_statuses import DOWN, HOSTILE, NOW, acting, at_rest, holding

from replan.model.api import DeviationKind
from replan.reconciling import api as values
from replan.reconciling.api import (
    LoopReason,
    LoopState,
    LoopStatus,
    Round,
    RoundResult,
    WhyNot,
    encode_status,
)
from replan.reporting.api import (
    DEVIATION_WORDS,
    LOOP_REASON_WORDS,
    LOOP_STATE_WORDS,
    ROUND_RESULT_WORDS,
    LoopCounts,
    Moment,
    PageLink,
    drawn,
    loop_lines,
    message,
    metrics_of,
    plan_path,
    policy,
    render_loop_page,
    state_text,
    view_of,
    why_not_text,
)

REASONS: list[LoopReason] = [
    values.LeaseHeld("a@b (pid 1)", NOW, 5, 60),
    values.Failed("no broker answers", NOW),
    values.SomebodyPaused("alice", NOW),
    values.OtherApplication("ab12", "bob", at_work=False),
    values.LockHeld("another process has the lock"),
    values.BrokersDown((1,), 5, 1),
    values.RacksDown(("eu-1a",), 1),
    values.UnderMinIsr(("a-0", "a-1"), 12),
    values.BrokersFirst((3,)),
    values.EndedWorse(7, 0, 3),
    values.MovedTooOften(("a-0",), 1, 3, NOW),
    values.RoundsFail(4, "no broker answers", NOW),
    values.NoWindow(None),
]
WHY_NOTS: list[WhyNot] = [
    values.NotAllowed(),
    values.NoHistory(),
    values.TooEarly(),
    values.WindowClosed(NOW),
    values.LoopHolds(),
    values.Refused("safe-start"),
    values.NextStage(),
    values.RunsElsewhere(),
    values.NeedsBrokers((4,)),
    values.DeclaredByList(),
    values.NeedsRates(),
    values.FitsNowhere(5),
    values.FillsLogDirs((4,)),
    values.PersonActs(),
    values.DryRun(),
]


def test_each_reason_state_and_kind_has_words_of_its_own() -> None:
    assert {type(reason) for reason in REASONS} == set(get_args(LoopReason))
    assert {type(why) for why in WHY_NOTS} == set(get_args(WhyNot))
    assert LOOP_STATE_WORDS.keys() == set(LoopState)
    assert DEVIATION_WORDS.keys() == {*DeviationKind, None}
    assert ROUND_RESULT_WORDS.keys() == set(RoundResult)
    texts = [str(r) for r in REASONS] + [why_not_text(w) for w in (None, *WHY_NOTS)]
    states = [state_text(msgspec.structs.replace(at_rest(), state=state)) for state in LoopState]
    assert len({*texts, *states}) == len(texts) + len(states)


def test_what_is_due_is_due_now_and_not_some_minutes_ago() -> None:
    differs = next(b for b in view_of(acting(), NOW + 30).blocks if b.title == "What differs")
    kinds, each = differs.tables
    assert [row[3] for row in kinds.rows] == ["now", "never", Moment(NOW + 3540), "never"]
    assert "now" in [row[5] for row in each.rows]
    status = acting()
    assert status.next is not None
    coming = msgspec.structs.replace(status.next, round_at=NOW - 23, acts_at=NOW - 23)
    facts = view_of(msgspec.structs.replace(status, next=coming), NOW).blocks[0].facts
    assert [fact.cells[0] for fact in facts if "next" in fact.name] == ["now", "now"]


def test_the_terminal_says_what_differs_since_when_and_what_comes_next() -> None:
    text = drawn(loop_lines(acting(), NOW + 30))
    assert text == (
        "Loop: acts, since 2026-11-25 09:36:40 UTC (10 min 30 s ago). It puts right what policy allows.\n"
        "  next look  2026-11-25 09:47:40 UTC (in 30 s)\n"
        "  acts next  2026-11-25 10:45:40 UTC (in 58 min 30 s) 1 deviation: a throttle was left behind\n"
        "  placement  placement.yaml\n"
        "  last look  2026-11-25 09:36:40 UTC (10 min 30 s ago)\n"
        "  instance   replan@ops-1 (pid 4711), 9 rounds, every 5 min\n"
        "\n"
        "It applies\n"
        "  plan        121212121212 application a1b2c3\n"
        "  puts right  a broker is down\n"
        "  began       2026-11-25 09:36:50 UTC (10 min 20 s ago)\n"
        "  steps       90 of 211 done, 20 running, 100 waiting, 1 stopped\n"
        "  copied      45 GB of 100 GB, 75 MB/s, 12 min 13 s left (45%)\n"
        + text[text.index("  partition") :]
    )
    assert "  orders-7 " in text
    assert "and 210 more; `replan drift` lists all\n" in text
    assert "done in part" in text
    assert "\u202e" not in text


def test_a_status_that_nobody_renews_is_called_old() -> None:
    fresh, old = (drawn(loop_lines(at_rest(), NOW + 298 + extra)) for extra in (599, 601))
    assert "not at work" not in fresh
    assert "the loop that wrote it is not at work" in old


def test_only_plans_that_have_a_page_are_links() -> None:
    shown = view_of(acting(), NOW, frozenset({"34" * 32}))
    cells = [cell for block in shown.blocks for t in block.tables for row in t.rows for cell in row]
    links = [cell for cell in cells if isinstance(cell, PageLink)]
    assert links == [PageLink("34" * 6, plan_path("34" * 32))]


def test_the_page_lets_nothing_run_but_its_own_script() -> None:
    page = render_loop_page()
    assert page.count("<script") == 1
    assert policy() in page
    assert "unsafe" not in policy()
    assert "connect-src 'self'" in policy()
    assert "innerHTML" not in page


@pytest.mark.parametrize("of", [at_rest(), acting(), holding()], ids=lambda s: s.state.value)
def test_a_message_has_a_text_that_calls_nobody_and_the_facts(of: LoopStatus) -> None:
    said = message(at_rest(), of)
    assert "<" not in str(said["text"])
    assert ">" not in str(said["text"])
    assert said["state"] == of.state.value
    assert said["before"] == "at-rest"
    json.dumps(said)


def test_a_message_of_a_hold_says_why() -> None:
    assert message(None, holding())["text"] == (
        "replan reconcile, payments-eu: holds. It does nothing by itself now. "
        "2 brokers of 6 are down (3, 4); it holds from 2 on (`hold.brokersDown`)."
    )


def test_a_document_can_be_read_back() -> None:
    for of in (at_rest(), acting(), holding()):
        assert msgspec.json.decode(encode_status(of), type=LoopStatus) == of
    assert HOSTILE in json.loads(encode_status(acting()))["clusterName"]


def test_what_ended_before_this_process_is_not_counted() -> None:
    counts, first = LoopCounts(), acting()
    counts.add(first)
    assert sum(counts.rounds.values()) == 0
    ended = Round(8, NOW, NOW + 9, RoundResult.DONE, (DOWN,), 5, 10**9, "78" * 32)
    later = msgspec.structs.replace(
        first, state=LoopState.AT_REST, rounds=(ended, *first.rounds), running=None
    )
    counts.add(later)
    counts.add(later)
    assert counts.rounds[RoundResult.DONE] == 1
    assert (counts.copied_bytes, counts.moves) == (10**9, 5)
    assert counts.states[LoopState.AT_REST] == counts.states[LoopState.ACTING] == 1


def test_what_another_loop_did_until_this_one_works_is_not_counted() -> None:
    """A loop that waits does not know the rounds yet: it reads them once it takes over."""
    waits = msgspec.structs.replace(acting(), state=LoopState.WAITING_FOR_LEASE, rounds=())
    counts, others = LoopCounts(), acting().rounds
    while_it_waits = Round(8, NOW + 5, NOW + 50, RoundResult.DONE, (DOWN,), 5, 10**9, "78" * 32)
    own = Round(9, NOW + 110, NOW + 150, RoundResult.DONE, (DOWN,), 2, 10**6, "9a" * 32)
    said = [
        counts.add(status)
        for status in (
            waits,
            msgspec.structs.replace(waits, at=NOW + 100),
            msgspec.structs.replace(acting(), at=NOW + 101, rounds=(while_it_waits, *others)),
            msgspec.structs.replace(at_rest(), at=NOW + 151, rounds=(own, while_it_waits, *others)),
        )
    ]
    assert said == [[], [], [], [own]]
    lost = Round(10, NOW + 160, NOW + 170, RoundResult.LEFT, (DOWN,), 0, 0, "bc" * 32)
    waiting = msgspec.structs.replace(waits, at=NOW + 171, rounds=(lost, own))
    assert counts.add(waiting) == [lost], "it ended before the lease was lost"
    assert (sum(counts.rounds.values()), counts.moves) == (2, 2)


def test_every_kind_and_state_has_a_sample_always() -> None:
    for of in (at_rest(), acting(), holding()):
        found = {m.name: list(m.samples) for m in metrics_of(of, LoopCounts())}
        states = {labels["state"]: value for labels, value in found["replan_reconcile_state"]}
        assert states.keys() == {state.value for state in LoopState}
        assert [s for s, value in states.items() if value] == [of.state.value]
        kinds = [labels["kind"] for labels, _ in found["replan_reconcile_deviations"]]
        assert kinds == [*(kind.value for kind in DeviationKind), "person"]


def test_every_reason_has_a_name_where_many_are_summed_up() -> None:
    assert set(LOOP_REASON_WORDS) == set(get_args(LoopReason))
    assert len(set(LOOP_REASON_WORDS.values())) == len(LOOP_REASON_WORDS)
