"""The throttle ledger as tables: what is ours, how it comes and how it goes."""

import pytest
from msgspec.structs import replace
from tests.builders import move

from replan.applying.api import (
    Forget,
    ListOrRate,
    RateChanged,
    RateKept,
    RateRemoved,
    RateStep,
    Record,
    SavedRate,
    SavedReplicaList,
    ThrottleContested,
    ThrottledCopy,
    ThrottleHistory,
    ThrottleInput,
    UnrestoredRate,
    WantedThrottles,
    admission_closed,
    covers,
    fold,
    history_after,
    leftovers,
    list_step,
    raise_step,
    restore_step,
    throttle_in_place,
    throttle_tick,
    unread,
    wanted_entries,
    wanted_rates,
)
from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    MoveThrottle,
    SideRates,
    TopicSettings,
    broker_change,
    elements,
    replicas,
    topic_change,
)

WHERE = ("orders", LEADER_REPLICAS)
B4 = BrokerId(4)
RATE = (B4, FOLLOWER_RATE)
COPY = ThrottledCopy(move([1, 2, 3], [4, 2, 5]))
THROTTLE = MoveThrottle(1000)


def prior(*ours: str, overridden: bool = False) -> SavedReplicaList:
    return SavedReplicaList(*WHERE, overridden, ours)


def changed(operation: ConfigOperation, value: str = "") -> tuple[ConfigChange, ...]:
    return (topic_change(*WHERE, operation, value),)


def append(value: str) -> tuple[ConfigChange, ...]:
    return changed(ConfigOperation.APPEND, value)


def subtract(value: str) -> tuple[ConfigChange, ...]:
    return changed(ConfigOperation.SUBTRACT, value)


DELETE = changed(ConfigOperation.DELETE)
FORGET = (Forget(prior().key),)

ListCase = tuple[
    set[str],
    SavedReplicaList | None,
    str | None,
    tuple[Record, ...],
    tuple[ConfigChange, ...],
    tuple[ConfigChange, ...],
]


@pytest.mark.parametrize(
    ("wanted", "known", "override", "records", "removals", "additions"),
    [
        pytest.param(set(), None, None, (), (), (), id="nothing wanted, nothing there"),
        pytest.param(set(), None, "7:8", (), (), (), id="what others have is left alone"),
        pytest.param({"0:1"}, None, None, (prior("0:1"),), (), append("0:1"), id="first entry"),
        pytest.param(
            {"0:1", "0:2"},
            None,
            "7:8",
            (prior("0:1", "0:2", overridden=True),),
            (),
            append("0:1,0:2"),
            id="behind what others have",
        ),
        pytest.param(
            {"0:1"},
            None,
            "",
            (prior("0:1", overridden=True),),
            (),
            append("0:1"),
            id="an empty override was there before",
        ),
        pytest.param({"0:1"}, None, "0:1", (), (), (), id="theirs covers ours, and is not ours"),
        pytest.param(
            {"0:1", "0:2"},
            None,
            "0:1",
            (prior("0:2", overridden=True),),
            (),
            append("0:2"),
            id="only what was absent is ours",
        ),
        pytest.param({"0:1"}, None, "*", (), (), (), id="a star covers everything"),
        pytest.param({"0:1"}, prior("0:1"), "0:1", (), (), (), id="in place"),
        pytest.param({"0:1"}, prior("0:1"), "*", (), (), (), id="a star took its place"),
        pytest.param(
            {"0:1"}, prior("0:1"), None, (), (), append("0:1"), id="written down, not yet there"
        ),
        pytest.param(
            {"1:1"},
            prior("0:1"),
            "0:1",
            (prior("0:1", "1:1"),),
            subtract("0:1"),
            append("1:1"),
            id="one goes, one comes",
        ),
        pytest.param(
            set(), prior("0:1", "0:2"), "0:1,7:8,0:2", (), subtract("0:1,0:2"), (), id="all go"
        ),
        pytest.param(
            set(),
            prior("0:1", "0:2"),
            "7:8,0:2",
            (prior("0:2"),),
            subtract("0:2"),
            (),
            id="only what is there is subtracted",
        ),
        pytest.param(
            set(), prior("0:1"), "", (prior(),), DELETE, (), id="empty and not there before"
        ),
        pytest.param(set(), prior(), "", (), DELETE, (), id="deletion asked and not seen yet"),
        pytest.param(set(), prior(), None, FORGET, (), (), id="deletion seen"),
        pytest.param(set(), prior("0:1"), None, FORGET, (), (), id="never appended"),
        pytest.param(
            set(), prior("0:1", overridden=True), "", FORGET, (), (), id="empty and was so before"
        ),
        pytest.param(set(), prior("0:1"), "7:8", FORGET, (), (), id="others came meanwhile"),
        pytest.param(
            {"0:10", "0:9"},
            None,
            None,
            (prior("0:9", "0:10"),),
            (),
            append("0:9,0:10"),
            id="by number",
        ),
    ],
)
def test_what_one_tick_does_about_a_list(
    wanted: set[str],
    known: SavedReplicaList | None,
    override: str | None,
    records: tuple[Record, ...],
    removals: tuple[ConfigChange, ...],
    additions: tuple[ConfigChange, ...],
) -> None:
    step = list_step(WHERE, frozenset(wanted), known, override)
    assert (step.records, step.removals, step.additions) == (records, removals, additions)


def test_an_entry_that_was_seen_and_is_gone_was_wiped() -> None:
    step = list_step(
        WHERE, frozenset({"0:1"}), prior("0:1"), None, seen_in_place=frozenset({"0:1"})
    )
    assert step.wiped == {"0:1"}
    assert step.additions == append("0:1")


def test_where_nothing_may_be_raised_the_wipe_is_still_told() -> None:
    step = list_step(
        WHERE,
        frozenset({"0:1"}),
        prior("0:1"),
        "7:8",
        seen_in_place=frozenset({"0:1"}),
        may_raise=False,
    )
    assert step.wiped == {"0:1"}
    assert (step.additions, step.records) == ((), ())


LEADERS, FOLLOWERS = ("orders", LEADER_REPLICAS), ("orders", FOLLOWER_REPLICAS)


def test_entries_are_the_sources_and_the_new_replicas() -> None:
    assert wanted_entries([COPY], THROTTLE) == {
        LEADERS: {"0:1", "0:2", "0:3"},
        FOLLOWERS: {"0:4", "0:5"},
    }


def test_the_leader_throttle_is_suspended_while_a_kept_replica_is_out_of_sync() -> None:
    suspended = ThrottledCopy(COPY.move, leader_throttle_suspended=True)
    assert wanted_entries([suspended], THROTTLE) == {FOLLOWERS: {"0:4", "0:5"}}


def test_an_unlimited_broker_has_no_entries_and_no_rate() -> None:
    throttle = MoveThrottle(1000, {B4: None, BrokerId(1): 5})
    assert wanted_entries([COPY], throttle)[FOLLOWERS] == {"0:5"}
    assert wanted_rates([COPY], throttle) == {
        (1, LEADER_RATE): 5,
        (2, LEADER_RATE): 1000,
        (3, LEADER_RATE): 1000,
        (5, FOLLOWER_RATE): 1000,
    }


def test_a_broker_may_send_and_fetch_at_different_rates() -> None:
    throttle = MoveThrottle(
        1000, {B4: SideRates(leader=5, follower=None), BrokerId(1): SideRates(7, 9)}
    )
    assert wanted_entries([COPY], throttle)[FOLLOWERS] == {"0:5"}
    assert wanted_rates([COPY], throttle)[BrokerId(1), LEADER_RATE] == 7
    assert (B4, FOLLOWER_RATE) not in wanted_rates([COPY], throttle)


def test_without_a_throttle_nothing_is_wanted() -> None:
    assert wanted_entries([COPY], None) == {}
    assert wanted_rates([COPY], None) == {}


@pytest.mark.parametrize(
    ("override", "found", "covered"),
    [
        (None, (), False),
        ("", (), False),
        ("*", ("*",), True),
        ("0:1,0:2", ("0:1", "0:2"), True),
        ("0:2, 0:1", ("0:2", " 0:1"), False),
    ],
)
def test_elements_are_read_as_brokers_read_them(
    override: str | None, found: tuple[str, ...], covered: bool
) -> None:
    assert elements(override) == found
    assert covers(override, {"0:1"}) is covered


def rate(value: str | None, source: ConfigSource = ConfigSource.BROKER) -> Configs:
    return {} if value is None else {FOLLOWER_RATE: ConfigValue(value, source)}


def set_to(value: str) -> ConfigChange:
    return broker_change(*RATE, ConfigOperation.SET, value)


UNSET = broker_change(*RATE, ConfigOperation.DELETE)


def ours(before: str | None, *values: str) -> SavedRate:
    return SavedRate(*RATE, before, values)


@pytest.mark.parametrize(
    ("known", "found", "step"),
    [
        pytest.param(
            None, rate(None), RateStep((ours(None, "50"),), set_to("50"), in_place=False), id="none"
        ),
        pytest.param(None, rate("50"), RateStep(), id="the same stands already"),
        pytest.param(None, rate("20"), RateStep(), id="a slower one stands already"),
        pytest.param(
            None,
            rate("90"),
            RateStep((ours("90", "50"),), set_to("50"), in_place=False),
            id="a faster one is lowered",
        ),
        pytest.param(
            None, rate("20", ConfigSource.CLUSTER_DEFAULT), RateStep(), id="a slower default holds"
        ),
        pytest.param(
            None,
            rate("90", ConfigSource.CLUSTER_DEFAULT),
            RateStep((ours(None, "50"),), set_to("50"), in_place=False),
            id="a default is not what the broker had",
        ),
        pytest.param(
            None,
            rate("20", ConfigSource.BROKER_FILE),
            RateStep((ours(None, "50"),), set_to("50"), in_place=False),
            id="a file's value is shown and not used",
        ),
        pytest.param(ours("90", "50"), rate("50"), RateStep(), id="in place"),
        pytest.param(
            ours("90", "50"),
            rate("90"),
            RateStep((), set_to("50"), in_place=False),
            id="written down, not yet there",
        ),
        pytest.param(
            ours("90", "50"),
            rate(None),
            RateStep((), set_to("50"), in_place=False),
            id="another tool removed it, and what was before as well",
        ),
        pytest.param(
            ours(None, "30"),
            rate("30"),
            RateStep((ours(None, "30", "50"),), set_to("50"), in_place=False),
            id="another rate of replan",
        ),
        pytest.param(
            ours(None, "30", "50"), rate("50"), RateStep((ours(None, "50"),)), id="changed over"
        ),
        pytest.param(
            ours(None, "50"),
            rate("70"),
            RateStep(note=RateChanged(B4, FOLLOWER_RATE, "70")),
            id="another tool's",
        ),
    ],
)
def test_what_one_tick_does_about_a_wanted_rate(
    known: SavedRate | None, found: Configs, step: RateStep
) -> None:
    assert raise_step(RATE, 50, known, found, seen_in_place=False) == step


def test_the_lower_of_standing_and_wanted_rate_holds_also_when_the_wanted_one_rises() -> None:
    step = raise_step(RATE, 500, ours("90", "50"), rate("50"), seen_in_place=True)
    assert step.change == set_to("90")


def test_a_rate_that_was_seen_and_is_gone_was_wiped() -> None:
    step = raise_step(RATE, 50, ours(None, "50"), rate(None), seen_in_place=True)
    assert (step.wiped, step.change) == (True, set_to("50"))


@pytest.mark.parametrize(
    ("known", "found", "step"),
    [
        pytest.param(
            ours(None, "50"), rate("50"), RateStep(change=UNSET, in_place=False), id="removed"
        ),
        pytest.param(
            ours("90", "50"),
            rate("50"),
            RateStep(change=set_to("90"), in_place=False),
            id="set back",
        ),
        pytest.param(ours(None, "50"), rate(None), RateStep((Forget(ours(None).key),)), id="gone"),
        pytest.param(ours("90", "50"), rate("90"), RateStep((Forget(ours(None).key),)), id="back"),
        pytest.param(
            ours("90", "50"),
            rate("70"),
            RateStep(
                (Forget(ours(None).key),),
                note=RateKept(B4, FOLLOWER_RATE, "70", "90"),
            ),
            id="changed by others",
        ),
        pytest.param(
            ours("90", "50"),
            rate(None),
            RateStep(
                (Forget(ours(None).key),),
                note=RateKept(B4, FOLLOWER_RATE, None, "90"),
            ),
            id="removed by others",
        ),
    ],
)
def test_how_a_rate_is_put_back(known: SavedRate, found: Configs, step: RateStep) -> None:
    assert restore_step(known, found) == step


def test_leftovers_name_broker_rate_and_way_out() -> None:
    known = {RATE: ours("90", "50"), (B4, LEADER_RATE): SavedRate(B4, LEADER_RATE, None, ("50",))}
    assert leftovers(known, {}) == (
        UnrestoredRate(B4, FOLLOWER_RATE, "90"),
        UnrestoredRate(B4, LEADER_RATE, None),
    )
    assert leftovers(known, {B4}) == ()


ALL_BROKERS: dict[BrokerId, Configs] = {BrokerId(b): {} for b in range(1, 6)}


def test_a_tick_lowers_before_it_raises_with_one_change_of_each_a_list() -> None:
    ledger = fold([prior("9:1", overridden=True)])
    view = ThrottleInput({"orders": TopicSettings(leader_throttled="9:1,7:8")}, ALL_BROKERS)
    tick = throttle_tick(WantedThrottles.of([COPY], THROTTLE), ledger, view, keep_rates=True)
    assert tick.removals == subtract("9:1")
    assert [c for c in tick.additions if c.name == "orders"] == [
        topic_change("orders", FOLLOWER_REPLICAS, ConfigOperation.APPEND, "0:4,0:5"),
        topic_change("orders", LEADER_REPLICAS, ConfigOperation.APPEND, "0:1,0:2,0:3"),
    ]
    assert not throttle_in_place(COPY, THROTTLE, tick, view)


def test_a_copy_begins_when_entries_and_rates_were_read_back() -> None:
    rates = {
        LEADER_RATE: ConfigValue("1000", ConfigSource.BROKER),
        FOLLOWER_RATE: ConfigValue("1000", ConfigSource.BROKER),
    }
    topic = TopicSettings(leader_throttled="0:1,0:2,0:3", follower_throttled="*")
    answering = {b: rates for b in ALL_BROKERS if b != 3}
    view = ThrottleInput({"orders": topic}, answering)
    tick = throttle_tick(WantedThrottles.of([COPY], THROTTLE), fold([]), view, keep_rates=True)
    assert tick.quiet
    assert throttle_in_place(COPY, THROTTLE, tick, view)
    assert not throttle_in_place(COPY, THROTTLE, tick, ThrottleInput({}, answering))
    live_but_silent = ThrottleInput({"orders": topic}, answering, live=ALL_BROKERS)
    assert not throttle_in_place(COPY, THROTTLE, tick, live_but_silent)
    assert unread(COPY, THROTTLE, live_but_silent) == replicas(3)


def test_the_priors_of_a_topic_that_is_gone_are_forgotten() -> None:
    ledger = fold([prior("0:1")])
    gone = ThrottleInput({}, {}, ThrottleHistory(gone=frozenset({"orders"})))
    assert (
        throttle_tick(WantedThrottles.of([], None), ledger, gone, keep_rates=False).records
        == FORGET
    )
    assert (
        throttle_tick(
            WantedThrottles.of([], None), ledger, ThrottleInput({}, {}), keep_rates=False
        ).records
        == ()
    )


def test_rates_stay_while_more_copies_are_to_come() -> None:
    ledger, view = fold([ours(None, "50")]), ThrottleInput({}, {B4: rate("50")})
    assert throttle_tick(WantedThrottles.of([], THROTTLE), ledger, view, keep_rates=True).quiet
    assert throttle_tick(
        WantedThrottles.of([], THROTTLE), ledger, view, keep_rates=False
    ).additions == (UNSET,)


def test_a_throttle_that_was_wiped_twice_closes_admission() -> None:
    places: dict[ListOrRate, int] = {WHERE: 2, RATE: 3, ("clicks", LEADER_REPLICAS): 1}
    assert admission_closed(ThrottleHistory(wiped=places)) == ThrottleContested((RATE, WHERE))
    assert admission_closed(ThrottleHistory(wiped={WHERE: 1})) is None


def test_a_rate_that_was_wiped_twice_is_not_set_again() -> None:
    ledger = fold([SavedRate(B4, FOLLOWER_RATE, None, ("1000",))])
    throttle_history = ThrottleHistory(rates=frozenset({RATE}), wiped={RATE: 2})
    view = ThrottleInput({"orders": TopicSettings()}, {B4: {}}, throttle_history)
    tick = throttle_tick(WantedThrottles.of([COPY], THROTTLE), ledger, view, keep_rates=True)
    assert [c for c in tick.additions if c.name == "4"] == []
    assert RATE not in tick.rates_in_force
    assert RateRemoved(B4, FOLLOWER_RATE, again=True) in tick.notes


def test_traces_keep_what_was_seen_and_count_what_was_wiped() -> None:
    ledger = fold([prior("0:1", "0:2"), ours(None, "50")])
    view = ThrottleInput(
        {"orders": TopicSettings(leader_throttled="0:1")},
        {B4: rate("50")},
        ThrottleHistory({WHERE: frozenset({"0:1", "0:2"})}),
    )
    copy = ThrottledCopy(move([1, 2], [1, 2, 4]))
    tick = throttle_tick(
        WantedThrottles.of([copy], MoveThrottle(50)), ledger, view, keep_rates=True
    )
    after = history_after(tick, view, ledger)
    assert after.entries == {WHERE: frozenset({"0:1"})}
    assert after.rates == {RATE}
    assert after.wiped == {WHERE: 1}


def test_what_replan_takes_away_itself_was_not_taken_by_another_tool() -> None:
    ledger = fold([prior("0:1", "0:2")])
    view = ThrottleInput({"orders": TopicSettings(leader_throttled="0:1,0:2")}, {})
    tick = throttle_tick(WantedThrottles.of([], THROTTLE), ledger, view, keep_rates=True)
    assert tick.removals
    after = history_after(tick, view, ledger)
    gone = ThrottleInput({"orders": TopicSettings(leader_throttled="")}, {}, after)
    again = throttle_tick(
        WantedThrottles.of([ThrottledCopy(move([1, 2], [1, 2, 4]))], THROTTLE),
        ledger,
        gone,
        keep_rates=True,
    )
    assert again.additions
    assert (again.wiped, again.notes) == (frozenset(), ())


@pytest.mark.parametrize("wanted", [20, 50])
def test_a_rate_of_before_that_arrives_late_is_known_to_be_of_replan(wanted: int) -> None:
    """The rate was changed while the request for the one before had no answer: both stay written down until it cannot
    arrive any more, so that it is taken away where it does arrive after the rate was put back."""
    copy, throttle = ThrottledCopy(move([1, 2], [1, 2, 4])), MoveThrottle(wanted)
    prior = ours(None, "50", "20") if wanted == 20 else ours(None, "20", "50")
    late = ThrottleHistory(may_arrive=frozenset({(ConfigScope.BROKER, "4")}))
    in_force = ThrottleInput({"orders": TopicSettings()}, {B4: rate(str(wanted))}, late)

    def rates_of(view: ThrottleInput) -> list[Record]:
        tick = throttle_tick(
            WantedThrottles.of([copy], throttle), fold([prior]), view, keep_rates=True
        )
        return [r for r in tick.records if isinstance(r, SavedRate) and r.broker == B4]

    assert rates_of(in_force) == []
    assert rates_of(replace(in_force, history=ThrottleHistory())) == [ours(None, str(wanted))]


def test_nobody_is_blamed_while_a_change_of_replan_may_still_arrive() -> None:
    ledger = fold([prior("0:1", "0:2"), ours(None, "50")])
    late = frozenset({(ConfigScope.TOPIC, "orders"), (ConfigScope.BROKER, "4")})
    seen = ThrottleHistory({WHERE: frozenset({"0:1"})}, frozenset({RATE}), may_arrive=late)
    view = ThrottleInput({"orders": TopicSettings()}, {B4: {}}, seen)
    copy = ThrottledCopy(move([1, 2], [1, 2, 4]))
    tick = throttle_tick(
        WantedThrottles.of([copy], MoveThrottle(50)), ledger, view, keep_rates=True
    )
    assert tick.additions
    assert (tick.wiped, tick.notes) == (frozenset(), ())
