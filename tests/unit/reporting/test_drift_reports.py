"""Drift as text, markdown, html, json and Prometheus' samples."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, listed_leader, placement, snapshot, state
from tests.goldens import check, check_cases
from tests.unit.reporting.rendered import drift_markdown, drift_page

from replan.model.api import BrokerId, StandingThrottles, ThrottledReplicas, Where, replicas
from replan.planning.api import (
    Difference,
    DifferenceKind,
    DriftClass,
    DriftKey,
    DriftReport,
    DriftRule,
    OtherKind,
    Spell,
    drift_report,
)
from replan.reporting.api import (
    CLASSES,
    LIMIT,
    MEANINGS,
    SMALLEST,
    render_drift,
    render_drift_json,
    render_drift_prometheus,
    weight,
)

GOLDENS = Path(__file__).parent / "goldens"

pytestmark = pytest.mark.slow

SOME = st.lists(st.integers(3, 6), unique=True, max_size=3)


def found() -> DriftReport:
    """Each kind of drift, and each class that a partition can have."""
    states = [
        state([1, 2, 3]),
        state([2, 1, 3], partition=1),
        state([1, 2, 3], leader=3, partition=2),
        state([1, 2, 3], partition=10),
        state([1, 2, 4, 3], [1, 2, 3], adding=[4], removing=[3], partition=11),
        state([1], [1], leader=None, partition=12),
        state([6, 2, 3], [2, 3], partition=14),
        state([1, 2, 5], adding=[5], partition=15),
        state([1, 2], topic="clicks"),
        state([1, 2], topic="clicks", partition=1),
    ]
    asked = placement(
        {
            "orders": {
                0: [1, 2, 3],
                1: [1, 2, 3],
                2: [1, 2, 3],
                10: [1, 2],
                11: [1, 2, 4],
                12: [1],
                13: [1, 2, 3],
                14: [1, 2, 3],
                15: [1, 2],
            },
            "clicks": [[1, 2]],
            "gone": {0: [5]},
        }
    )
    seen = snapshot([*states, state([1, 2], topic="unnamed")], registered=brokers(6, fenced=[6]))
    return drift_report(
        replace(asked, leader_blacklist=(listed_leader(5, review_by="2026-11-01"),)), seen
    )


def with_differences(*differences: Difference) -> DriftReport:
    none = drift_report(placement(), snapshot([state([1, 2])]))
    return replace(none, drift=replace(none.drift, differences=differences))


def no_drift() -> DriftReport:
    return drift_report(placement({"orders": [[1, 2]]}), snapshot([state([1, 2])]))


def seconds_of(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def large(count: int) -> DriftReport:
    return with_differences(
        *(
            Difference(
                DriftRule.LISTS_DIFFER,
                DifferenceKind.ORDER,
                "orders-über-" + "x" * 200,
                p,
                declared=(BrokerId(1), BrokerId(2)),
                observed=(BrokerId(2), BrokerId(1)),
                leader=BrokerId(2),
            )
            for p in range(count)
        )
    )


def test_each_kind_and_class_of_drift() -> None:
    report = found()
    assert {c for c, number in report.tally().items() if number} == {
        DriftClass.MISTAKE,
        DriftClass.OPERATOR,
        DriftClass.FAILURE,
        DriftClass.PARTITION_COUNT,
        DriftClass.REVIEW_DUE,
        DriftClass.IN_FLIGHT,
        DriftClass.OTHER_TOOL,
    }
    check(GOLDENS / "drift.txt", render_drift(report, unmanaged=True))
    check(GOLDENS / "drift.md", drift_markdown(report, unmanaged=True))
    check(GOLDENS / "drift.json", render_drift_json(report, unmanaged=True))
    check(GOLDENS / "drift.prom", render_drift_prometheus(report, seconds_of))


def test_each_class_has_its_words_and_each_difference_its_meaning() -> None:
    assert set(CLASSES) == set(DriftClass)
    assert set(MEANINGS) == {*DifferenceKind, *OtherKind}


def test_text_lists_whatever_differs_in_whichever_class() -> None:
    listed_from_what_else_is_known = {OtherKind.PARTITIONS, OtherKind.STANDING, OtherKind.BALANCE}
    for kind in set(OtherKind) - listed_from_what_else_is_known:
        for rule in DriftRule:
            differs = Difference(rule, kind, "pay", broker=BrokerId(4), detail="seven of them")
            text = render_drift(with_differences(differs))
            assert "seven of them" in text or differs.drift_class is DriftClass.IN_FLIGHT, text


def test_a_throttle_that_is_to_stay_is_one_difference_in_every_form() -> None:
    throttles = StandingThrottles(
        {"orders": ThrottledReplicas(Where("f", 1, 1), frozenset("*"), frozenset("*"))}
    )
    report = drift_report(
        placement({"orders": [[1, 2]]}, standing=throttles), snapshot([state([1, 2])])
    )
    assert len(report.drift.standing) == 2
    assert report.tally()[DriftClass.OPERATOR] == 2
    assert [c.kind for c in report.drift.differences] == [OtherKind.STANDING] * 2
    for rendered in (render_drift(report), drift_markdown(report), drift_page(report)):
        assert rendered.count("follower.replication.throttled.replicas") == 1
        assert "2 differences" in rendered
    document = json.loads(render_drift_json(report))
    assert (document["classes"]["operator"], len(document["differences"])) == (2, 2)


def test_no_drift() -> None:
    none = no_drift()
    assert none.drift.none
    assert json.loads(render_drift_json(none))["drift"] is False
    assert drift_markdown(none).splitlines()[1].startswith("## replan drift: ")
    samples = render_drift_prometheus(none, seconds_of)
    assert set(re.findall(r'class="([a-z-]+)"} (\d+)', samples)) == {(c, "0") for c in DriftClass}


def small() -> Iterator[tuple[str, str]]:
    """Reports of one thing each, with the topics that no entry names."""
    listed = placement({"orders": [[1, 2, 3]]})
    down = state([4, 2, 3], [2, 3], leader=2)
    eligible = replace(state([1, 2, 3], [1]), elr=(BrokerId(2),))
    alone = replace(state([1, 2, 3], [1], partition=1), elr=())
    for title, report in (
        ("nothing", no_drift()),
        ("on its way", drift_report(listed, snapshot([state([1, 2, 3], [1, 2], adding=[3])]))),
        ("a failure", drift_report(listed, snapshot([down], registered=brokers(5, fenced=[4])))),
        ("who could lead", drift_report(placement(), snapshot([eligible, alone]))),
    ):
        yield title, render_drift(report, unmanaged=True)


def test_each_small_report_is_as_the_golden_file_has_it() -> None:
    check_cases(GOLDENS / "drift-cases.txt", small())


@given(st.lists(st.tuples(SOME, SOME, SOME), max_size=6))
def test_the_electable_are_counted_as_for_each_partition(
    lists: list[tuple[list[int], list[int], list[int]]],
) -> None:
    """Members of the ELR that are no replicas, which Kafka keeps, can lead nothing."""
    states = [
        replace(state([1, 2, *listed], [1, *isr], partition=n), elr=replicas(*elr))
        for n, (listed, isr, elr) in enumerate(lists)
    ]
    found = drift_report(placement(), snapshot(states)).electable
    assert found.partitions == Counter(seen.electable for seen in states)
    at_risk = [seen.partition for seen in states if seen.electable <= 1]
    assert (found.at_risk, list(found.named)) == (len(at_risk), at_risk)


def test_a_topic_that_no_entry_names_is_listed_when_asked_and_is_no_drift() -> None:
    report = drift_report(placement(), snapshot([state([1, 2])]))
    assert report.drift.none
    assert "orders" not in render_drift(report)
    assert render_drift(report, unmanaged=True).startswith(
        "Topics that no entry names (1):\n  orders  1 partition\n"
    )
    listed = json.loads(render_drift_json(report, unmanaged=True))["unmanaged"]
    assert listed == [{"topic": "orders", "partitions": 1}]


def test_more_than_five_hundred_of_a_kind_are_counted_and_all_are_listed_when_asked() -> None:
    lines = render_drift(large(502)).splitlines()
    assert sum(line.startswith("  orders-") for line in lines) == 500
    assert "  and 2 more; --all lists them" in lines
    complete = render_drift(large(502), everything=True).splitlines()
    assert sum(line.startswith("  orders-") for line in complete) == 502


def test_the_room_of_a_comment_is_for_what_differs() -> None:
    assert weight(drift_markdown(large(10_000))) > 0.9 * LIMIT


@pytest.mark.parametrize("limit", [SMALLEST, LIMIT])
@pytest.mark.parametrize("report", [large(1), large(10_000), found()])
def test_markdown_fits_the_declared_size(report: DriftReport, limit: int) -> None:
    text = drift_markdown(report, unmanaged=True, limit=limit)
    assert weight(text) <= limit
    assert text.startswith("<!-- replan drift ")


def test_json_has_every_partition() -> None:
    assert len(json.loads(render_drift_json(large(10_000)))["differences"]) == 10_000


def rows(page: str) -> list[tuple[str, str, int | None, str, str, str]]:
    """Class, topic, partition, how, declared and has of each row of a page."""
    (embedded,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    data = json.loads(embedded)
    return [
        (drift_class, topic, partition, data["kinds"][how], declared, has)
        for drift_class, _, topics in data["classes"]
        for topic, of_topic in topics
        for partition, how, declared, has in of_topic
    ]


def test_the_page_has_every_difference_with_its_class() -> None:
    report = found()
    page = drift_page(report, unmanaged=True)
    listed = rows(page)
    assert len(listed) == len(report.drift.differences)
    assert ("operator", "orders", 1, "other order", "[1,2,3]", "[2,1,3]") in listed
    assert ("failure", "orders", 14, "other replicas", "[1,2,3]", "[6,2,3]") in listed
    assert ("failure", "orders", 2, "another leader", "1", "3") in listed
    assert any(row[:2] == ("review-due", "broker 5") for row in listed)
    assert 'unnamed</td><td data-head="partitions">1</td>' in page
    assert "unnamed" not in drift_page(report)


def test_two_pages_of_one_state_are_the_same_bytes() -> None:
    assert drift_page(found()) == drift_page(found())


def test_a_page_without_drift_says_so_and_lists_nothing() -> None:
    page = drift_page(no_drift())
    assert "No drift, as of 2026-11-21T03:00:00Z." in page
    assert 'id="data"' not in page


def test_a_hundred_thousand_differences_are_one_page_of_less_than_five_megabytes() -> None:
    assert len(drift_page(large(100_000)).encode()) < 5_000_000


def test_replicas_in_a_directory_that_is_to_be_empty_are_listed_in_every_form() -> None:
    path = "/disk|1`<b>\n# no heading"
    rule, kind = DriftRule.LOG_DIR_DRAINED, OtherKind.LOG_DIR
    lying = Difference(rule, kind, "orders", 0, BrokerId(2), detail=path)
    report = with_differences(lying)
    assert "In log directories that are to be empty (1):" in render_drift(report)
    markdown = drift_markdown(report)
    assert "``broker 2, /disk\\|1`<b> # no heading``" in markdown
    page = drift_page(report)
    assert '"broker 2, /disk|1`' in page
    assert "<b>" not in page.partition('id="data"')[2].partition("</script>")[0]
    assert json.loads(render_drift_json(report))["differences"][0]["detail"] == path
    assert 'class="operator"} 1' in render_drift_prometheus(report, seconds_of)
    assert "Drift: 1 difference" in render_drift(report)


def other_order() -> DriftReport:
    asked = placement({"orders": {1: [1, 2, 3]}})
    return drift_report(asked, snapshot([state([2, 1, 3], partition=1)]))


NOW, EARLIER = "2026-11-21T03:00:00Z", "2026-11-20T03:00:00Z"
ITEM: DriftKey = ("orders", 1, None, "order")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, Spell(NOW, began=(NOW,))),
        ({ITEM: Spell(EARLIER, None, 2, (EARLIER,))}, Spell(EARLIER, None, 2, (EARLIER,))),
        (
            {ITEM: Spell(EARLIER, "2026-11-20T05:00:00Z", 2, (EARLIER,))},
            Spell(NOW, None, 3, (EARLIER, NOW)),
        ),
        ({ITEM: Spell(EARLIER, "2026-11-22T05:00:00Z")}, Spell(EARLIER)),
        ({ITEM: Spell("2026-11-22T03:00:00Z")}, Spell(NOW, began=(NOW,))),
    ],
    ids=["new", "goes on", "came back", "an older snapshot, within", "an older snapshot, before"],
)
def test_since_when_something_differs(known: dict[DriftKey, Spell], expected: Spell) -> None:
    report = other_order()
    (difference,) = report.drift.differences
    assert report.spell(difference) is None
    assert replace(report, spells=known).spell(difference) == expected


def at(hour: str) -> str:
    return f"2026-11-{hour}:00:00Z"


@pytest.mark.parametrize(("known", "flapping"), [(("19T03", "20T03"), True), (("20T03",), False)])
def test_what_begins_for_the_third_time_in_a_week_flaps_from_then_on(
    known: Sequence[str], *, flapping: bool
) -> None:
    report = other_order()
    earlier = Spell(EARLIER, at("20T04"), 9, tuple(map(at, known)))
    text = render_drift_json(replace(report, spells={ITEM: earlier}))
    (difference,) = json.loads(text)["differences"]
    assert (difference["spells"], difference["flapping"]) == (10, flapping)


def test_each_form_has_since_when_where_it_was_asked_for() -> None:
    began = (at("19T03"), at("19T12"), EARLIER)
    report = replace(found(), spells={ITEM: Spell(EARLIER, None, 3, began)})
    check(GOLDENS / "drift-since.txt", render_drift(report))
    check(GOLDENS / "drift-since.md", drift_markdown(report))
    check(GOLDENS / "drift-since.prom", render_drift_prometheus(report, seconds_of))
    differences = json.loads(render_drift_json(report))["differences"]
    (known,) = [d for d in differences if d["kind"] == "order"]
    assert (known["since"], known["spells"], known["flapping"]) == (EARLIER, 3, True)
    assert {d["since"] for d in differences} == {EARLIER, NOW}
    assert f'"{EARLIER}, 3 times, flapping"' in drift_page(report)
