"""The plan on disk: the same bytes, round trips, the schema as a law, and what is said of a file that is not one."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import to_builtins
from msgspec.structs import replace
from tests.builders import listed_leader, move, placement, snapshot, state
from tests.goldens import check_cases
from tests.strategies import BROKERS, fleetlets, replica_lists
from tests.unit.snapshots.strategies import broken

from replan.errors import BadFile
from replan.model.api import BrokerId, MoveThrottle, SideRates, TopicPartition
from replan.placement_file.api import read_schema
from replan.planning.api import (
    Move,
    MoveReason,
    Plan,
    PlanWarning,
    ReasonKind,
    Refusal,
    RefusalRule,
    StandaloneElection,
    WarningKind,
    digest,
    dumps,
    fact_names,
    loads,
    make_plan,
)

SCHEMA = read_schema("plan.v1.json")
VALIDATOR = Draft202012Validator(SCHEMA)
TEXT = st.text(min_size=1, max_size=8)
FACT = st.integers(0, 2**31 - 1) | TEXT | replica_lists() | st.lists(TEXT, min_size=1).map(tuple)
RATES = st.none() | st.integers(1000, 2**40)


@st.composite
def reasons(draw: st.DrawFn, *, whole: bool = True) -> MoveReason:
    brokers = st.none() | st.sampled_from(BROKERS)
    return MoveReason(
        draw(st.sampled_from(ReasonKind)),
        broker=draw(brokers),
        leader=draw(brokers),
        rule=draw(st.none() | TEXT),
        note=draw(st.none() | TEXT),
        order=draw(st.none() | reasons(whole=False)) if whole else None,
    )


@st.composite
def any_moves(draw: st.DrawFn) -> tuple[Move, ...]:
    names = draw(
        st.lists(
            st.builds(TopicPartition, st.sampled_from(["a", "b-1", "ä"]), st.integers(0, 99)),
            unique=True,
            max_size=5,
        )
    )
    unclean = {topic: draw(st.booleans()) for topic in {n.topic for n in names}}
    return tuple(
        move(
            draw(replica_lists()),
            draw(replica_lists()),
            topic=name.topic,
            partition=name.partition,
            unclean_election=unclean[name.topic],
            elect=draw(st.booleans()),
            unnameable=sorted(draw(st.sets(st.sampled_from(BROKERS), max_size=2))),
            size=draw(st.integers(0, 2**63 - 1)),
            leader=draw(st.none() | st.sampled_from(BROKERS)),
            below_min_isr=draw(st.booleans()),
            reason=draw(reasons()),
            election=draw(st.none() | st.sampled_from(StandaloneElection)),
        )
        for name in names
    )


@st.composite
def refusals(draw: st.DrawFn) -> Refusal:
    rule = draw(st.sampled_from(RefusalRule))
    name = TopicPartition(draw(TEXT), draw(st.integers(0, 99)))
    return Refusal(*name, rule, {fact: draw(FACT) for fact in fact_names(rule)})


@st.composite
def warnings(draw: st.DrawFn) -> PlanWarning:
    kind = draw(st.sampled_from(WarningKind))
    return PlanWarning(kind, {fact: draw(FACT) for fact in fact_names(kind)})


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    moves = draw(any_moves())
    throttles = st.builds(MoveThrottle, RATES, st.dictionaries(st.sampled_from(BROKERS), RATES))
    return Plan(
        cluster_name=draw(st.none() | TEXT),
        cluster_id=draw(TEXT),
        placement_digest=draw(TEXT),
        placement_commit=draw(st.sampled_from(["", "9f8e7d6c5b4a"])),
        racks=draw(st.dictionaries(st.sampled_from(BROKERS), st.none() | TEXT)),
        silent=draw(st.sampled_from([(), BROKERS[:1]])),
        moves=moves,
        throttle=draw(st.none() | throttles),
        refusals=tuple(draw(st.lists(refusals(), max_size=2))),
        warnings=tuple(draw(st.lists(warnings(), max_size=2))),
        remember=frozenset(m.partition for m in moves if draw(st.booleans())),
    )


@given(plans() | fleetlets().map(lambda of: make_plan(of.placement, of.snapshot)))
def test_any_plan_survives_its_file_and_fits_the_schema(made: Plan) -> None:
    text = dumps(made)
    VALIDATOR.validate(json.loads(text))
    assert loads(text, "plan.json") == made


def test_the_schema_names_itself_and_says_what_each_key_is() -> None:
    assert SCHEMA["$id"] == "plan.v1.json"
    assert all("description" in of or "enum" in of for of in SCHEMA["properties"].values())


def made_plan() -> Plan:
    seen = snapshot(
        [state([1, 2, 3], size=5000), state([1, 2], partition=1), state([1], topic="x")]
    )
    return make_plan(
        placement(
            {"orders": {0: [4, 2, 3]}, "x": {0: [1, 2]}},
            blacklist=[listed_leader(1, reason="disk")],
            throttle=MoveThrottle(10**6, {BrokerId(3): None, BrokerId(4): SideRates(10**5, None)}),
        ),
        seen,
    )


def test_the_written_form_is_one_move_a_line() -> None:
    text = dumps(made_plan())
    assert text.splitlines()[-10:] == [
        '"reasons": [{"kind": "declared"}, {"kind": "leader-blacklist", "broker": 1, "note": "disk"}],',
        '"topics": [',
        (
            '  {"name": "orders", "id": "b3JkZXJzLW9yZGVycy0wMA", "minInsyncReplicas": 2, '
            '"uncleanLeaderElection": false}'
        ),
        "],",
        '"moves": [',
        (
            '  {"topic": "orders", "partition": 1, "original": [1, 2], "target": [2, 1], "leader": 1, "bytes": 0, '
            '"reason": 1, "remember": true},'
        ),
        (
            '  {"topic": "orders", "partition": 0, "original": [1, 2, 3], "target": [4, 2, 3], "leader": 1, '
            '"bytes": 5000, "reason": 0}'
        ),
        "],",
        f'"digest": "{digest(made_plan())}"',
        "}",
    ]


def test_reasons_stand_by_kind_and_then_by_what_they_say_as_text() -> None:
    drain, leader = ReasonKind.DRAIN, ReasonKind.LEADER_BLACKLIST
    by_rule = MoveReason(ReasonKind.RULE, rule="a")
    reasons = [
        MoveReason(ReasonKind.DECLARED),
        *(MoveReason(drain, broker=BrokerId(broker)) for broker in (1, 10, 2)),
        *(MoveReason(leader, broker=BrokerId(1), note=note) for note in ("disk", "disks", None)),
        *(replace(by_rule, order=order) for order in (by_rule, None)),
        MoveReason(ReasonKind.RULE, rule="ab"),
        MoveReason(ReasonKind.RULE),
    ]
    moves = tuple(
        move((1, 2), (2, 1), partition=number, reason=reason)
        for number, reason in enumerate(reversed(reasons))
    )
    assert json.loads(dumps(replace(made_plan(), moves=moves)))["reasons"] == to_builtins(reasons)


def refusal(text: str) -> str:
    with pytest.raises(BadFile) as caught:
        loads(text, "plan.json")
    return str(caught.value)


CHANGED = (
    "plan.json: the plan was changed after it was written (it does not fit its digest); "
    "what runs is only what was reviewed: make a new plan"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[4, 2, 3]", "[5, 2, 3]"),
        ('"bytes": 5000', '"bytes": 5001'),
        ('"leader": 1, ', '"leader": 1,  '),
        ('"rule": "safe-start", ', '"rule": "safe-start",  '),
        ('"clusterId": "M', '"clusterId": "N'),
        ("1000000", "2000000"),
        ('"uncleanLeaderElection": false', '"uncleanLeaderElection": true'),
        ('"needed": 2', '"needed": 3'),
    ],
)
def test_a_plan_that_was_edited_is_refused(before: str, after: str) -> None:
    text = dumps(made_plan())
    assert before in text
    assert refusal(text.replace(before, after, 1)) == CHANGED


def test_a_plan_with_another_digest_or_none_is_refused() -> None:
    document = json.loads(dumps(made_plan()))
    assert refusal(json.dumps(document | {"digest": "0" * 64})) == CHANGED
    del document["digest"]
    assert refusal(json.dumps(document)) == (
        'plan.json: $: "digest" is missing; make a new plan with `replan plan -o`'
    )
    note = json.dumps(document | {"note": "fine", "digest": ""})
    assert refusal(note).startswith('plan.json: $: unknown key "note"; ')


NO_PLANS = [
    "",
    '{\n  "kind": oops}',
    "[" * 100_000,
    '{"bytes": ' + "1" * 5000 + "}",
    "[1]",
    '{"kind": "replan.snapshot"}',
    '{"kind": "replan.plan", "formatVersion": 2}',
    '{"kind": "replan.plan", "formatVersion": 1}',
]
WRONG: list[tuple[tuple[str | int, ...], object]] = [
    (("moves", 1, "original"), None),
    (("moves", 0, "target"), []),
    (("moves", 0, "target"), [1, 1]),
    (("moves", 0, "target"), ["x"]),
    (("moves", 0, "leader"), "1"),
    (("moves", 0, "bytes"), None),
    (("moves", 0, "bytes"), 2**64),
    (("moves", 0, "partition"), 1.5),
    (("moves", 0, "reason"), 2),
    (("moves", 0, "topic"), "y"),
    (("topics", 0, "minInsyncReplicas"), "2"),
    (("topics", 0, "name"), 5),
    (("throttle",), "fast"),
    (("warnings",), None),
    (("reasons",), None),
    (("placementDigest",), None),
    (("brokers", "1"), 7),
    (("brokers",), {"01": None}),
    (("brokers",), {str(2**31): None}),
    (("throttle",), {"bytesPerSecond": 1, "brokers": {}}),
    (("moves", 0, "unnameable"), [3, 3]),
    (("refusals", 0, "rule"), "weather"),
    (
        ("moves", 0),
        {
            "topic": "orders",
            "partition": 0,
            "original": [1],
            "target": [2],
            "leader": 1,
            "bytes": 0,
            "reason": 0,
        },
    ),
    (("moves", 0, "topic"), []),
    (("refusals", 0, "rule"), {}),
    (("refusals", 0, "facts"), {}),
]
HINT = "; make a new plan with `replan plan -o`"


def wrong(path: Sequence[str | int], value: object) -> str:
    """What is said of a plan with one value replaced, without the hint at the end."""
    document = json.loads(dumps(made_plan()))
    node = document
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    said = refusal(json.dumps(document))
    assert said.startswith("plan.json: $.")
    assert said.endswith(HINT)
    return said.removeprefix("plan.json: ").removesuffix(HINT)


def test_what_no_plan_has_is_said_with_its_place() -> None:
    """In `goldens/wrong-plans.txt`."""
    told = [(text[:60].replace("\n", " ") or "nothing", refusal(text)) for text in NO_PLANS]
    for path, value in WRONG:
        told.append((f"{'.'.join(map(str, path))} = {json.dumps(value)}", wrong(path, value)))
    check_cases(Path(__file__).parent / "goldens" / "wrong-plans.txt", told)


@given(st.data())
def test_a_broken_plan_is_a_bad_file_and_nothing_else_happens(data: st.DataObject) -> None:
    text = dumps(made_plan())
    changed = json.dumps(data.draw(broken(json.loads(text))))
    if changed == json.dumps(json.loads(text)):
        return
    assert refusal(changed).startswith("plan.json")
