"""Every form does what it says, in a story and as a `--fault` alike; docs/faults.md lists exactly these."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import pytest
from tests.properties import hostile_faults
from tests.unit.faults.fault_context import CONTEXT

from replan.faults.api import (
    FORMS,
    LOOP_FORMS,
    Kind,
    LoopForm,
    TokenReader,
    read_fault,
    read_schedule,
)
from replan.scenarios.api import run_scenario
from replan.simulator.api import At, Fault, SendLogMoves

DOCUMENT = Path(__file__).parents[3] / "docs" / "faults.md"
FOUNDING = """\
cluster brokers 1-5 racks a,b,c network 20MB/s
topic orders [1,2,3] [2,3,1] size 60MB
"""
APPLY = "placement\n  assignments: {orders: {partitions: {0: [1, 2, 4]}}}\n"

EFFECTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "kill BROKER [for TIME]": (
        "kill 3 for 20s",
        "at 1s {}\ntick 40s",
        ("10s   broker 3 is fenced", "24s   broker 3 serves"),
    ),
    "kill rack RACK [for TIME]": (
        "kill rack a for 20s",
        "at 1s {}\ntick 40s",
        ("10s   broker 1 is fenced", "24s   broker 1 serves", "24s   broker 4 serves"),
    ),
    "stop BROKER [for TIME]": (
        "stop 2 for 20s",
        "at 1s {}\ntick 40s",
        ("1s    orders-1: in sync [1,3], leader 3", "2s    broker 2 is fenced", "24s   broker 2 serves"),
    ),
    "start BROKER": (
        "start 3",
        "kill 3\nat 12s {}\ntick 30s",
        ("9s    broker 3 is fenced", "15s   broker 3 serves"),
    ),
    "restart BROKER [for TIME]": (
        "restart 1 for 15s",
        "at 1s {}\ntick 40s",
        ("1s    broker 1 is shutting down", "2s    broker 1 is fenced", "19s   broker 1 serves"),
    ),
    "slow BROKER to RATE|usual [for TIME]": (
        "slow 4 to 1MB/s for 30s",
        APPLY + "at 1s {}\napply until orders-0 in-sync",
        ("32s   orders-0: in sync [1,2,3,4], reassignment over",),
    ),
    "unresponsive BROKER [to rates|sizes|changes] [for TIME]": (
        "unresponsive 4 to changes for 20s",
        APPLY + "  throttles: {moves: {rate: 5MB/s}}\n{}\napply until orders-0 expanded",
        (
            "0s    answer for broker 4: outcome unknown, broker 4 does not answer",
            "32s   asks orders-0: expand [1,2,3,4]",
        ),
    ),
    "fence BROKER [for TIME]": (
        "fence 3 for 10s",
        "at 1s {}\ntick 30s",
        ("1s    broker 3 is fenced", "11s   broker 3 serves"),
    ),
    "unfence BROKER": (
        "unfence 3",
        "fence 3\nat 12s {}\ntick 30s",
        ("0s    broker 3 is fenced", "12s   broker 3 serves"),
    ),
    "cordon BROKER [for TIME]": (
        "cordon 3 for 10s",
        "at 1s {}\ntick 30s",
        ("1s    broker 3 is cordoned", "11s   broker 3 serves"),
    ),
    "uncordon BROKER": (
        "uncordon 3",
        "cordon 3\nat 12s {}\ntick 30s",
        ("0s    broker 3 is cordoned", "12s   broker 3 serves"),
    ),
    "lose disk BROKER [DIR] [for TIME]": (
        "lose disk 1 b for 20s",
        "disk 1 total 1GB usable 900MB dirs a,b\nat 1s {}\ntick 60s",
        ("1s    broker 1 has lost its disk b", "34s   broker 1 serves", "37s   orders-1: in sync [1,2,3]"),
    ),
    "replace disks BROKER": (
        "replace disks 3",
        "lose disk 3\nat 12s {}\ntick 60s",
        ("9s    broker 3 is fenced", "15s   broker 3 serves", "21s   orders-0: in sync [1,2,3]"),
    ),
    "unregister BROKER": (
        "unregister 3",
        "kill 3\nat 12s {}\ntick 13s",
        ("12s   broker 3 is not registered any more",),
    ),
    "lag PARTITION broker BROKER [by SIZE]": (
        "lag orders-0 broker 2 by 100MB",
        "at 1s {}\ntick 30s",
        ("1s    orders-0: in sync [1,3]", "6s    orders-0: in sync [1,2,3]"),
    ),
    "flap PARTITION broker BROKER every TIME for TIME": (
        "flap orders-0 broker 2 every 10s for 20s",
        "at 1s {}\ntick 60s",
        (
            "1s    orders-0: in sync [1,3]",
            "1s    orders-0: in sync [1,2,3]",
            "11s   orders-0: in sync [1,3]",
            "11s   orders-0: in sync [1,2,3]",
        ),
    ),
    "produce PARTITION RATE": (
        "produce orders-0 2MB/s",
        "at 1s {}\ntick 11s\n" + APPLY + "apply until orders-0 in-sync",
        ("17s   orders-0: in sync [1,2,3,4], reassignment over",),
    ),
    "rebalance": ("rebalance", "restart 1\nat 20s {}\ntick 30s", ("20s   orders-0: leader 1",)),
    "unknown outcome of [COUNT] reassign|elect|configs|create|log-dirs with effect|without effect|late by TIME": (
        "unknown outcome of 2 reassign without effect",
        APPLY + "at 1s {}\napply",
        (
            "19s   answer for orders-0: outcome unknown, the request timed out",
            "20s   answer for orders-0: outcome unknown, the request timed out",
            "22s   orders-0: in sync [1,2,4]",
        ),
    ),
    "repeated [COUNT] reassign|elect|configs|create|log-dirs": (
        "repeated elect",
        "placement\n  preferredLeaders: {orders: {0: 2}}\n{}\napply",
        ("1s    answer for orders-0: 84 ELECTION_NOT_NEEDED: Leader election not needed for topic partition.",),
    ),
    "controller moves with effect|without effect|late by TIME": (
        "controller moves with effect",
        APPLY + "at 1s {}\napply",
        (
            "19s   orders-0: in sync [1,2,4]",
            "19s   answer for orders-0: outcome unknown, the request timed out",
        ),
    ),
    "looks take TIME [for TIME]": (
        "looks take 6s for 1m",
        APPLY + "{}\napply until orders-0 expanded",
        ("6s    asks orders-0: expand [1,2,3,4]",),
    ),
    "forbid describe|describe-configs|alter|alter-configs on topic TOPIC|cluster [for TIME]": (
        "forbid describe on topic orders for 30s",
        APPLY + "at 1.5s {}\napply",
        (
            "2s    orders-0 waits: this user lacks the ACL Describe on Topic orders; waiting until it is granted",
        ),
    ),
    "silence for TIME": (
        "silence for 10s",
        APPLY + "at 1s {}\napply",
        ("11s   orders-0 waits: in sync; confirming for 15 s",),
    ),
    "metadata TIME behind [for TIME]": (
        "metadata 8s behind for 30s",
        APPLY + "at 1s {}\napply",
        ("12s   orders-0 waits: in sync; confirming for 15 s",),
    ),
    "foreign reassign PARTITION LIST": (
        "foreign reassign orders-0 [1,2,5]",
        "at 1s {}\ntick 10s",
        ("1s    orders-0: replicas [1,2,5,3], adding [5], removing [3]",),
    ),
    "foreign cancel PARTITION": (
        "foreign cancel orders-0",
        APPLY + "at 1s {}\napply",
        ("1s    orders-0: replicas [1,2,3], reassignment over", "exit 4: 1 foreign"),
    ),
    "foreign elect preferred|unclean PARTITION": (
        "foreign elect preferred orders-0",
        "restart 1\nat 20s {}\ntick 30s",
        ("20s   orders-0: leader 1",),
    ),
    "foreign config SCOPE set|append|subtract|delete KEY [VALUE]": (
        "foreign config broker 3 set leader.replication.throttled.rate 1000000",
        "at 1s {}\ntick 2s\nthrottles",
        ("broker 3: leader rate 1 MB/s",),
    ),
    "foreign min-isr TOPIC COUNT": (
        "foreign min-isr orders 3",
        "at 1s {}\ntick 2s\nplacement\n  assignments: {orders: {partitions: {0: [1, 2]}}}\nplan",
        ("Refused (1 target-below-min-isr):",),
    ),
    "foreign delete-topic TOPIC": (
        "foreign delete-topic orders",
        "at 1s {}\ntick 2s",
        ("1s    topic orders is deleted",),
    ),
    "foreign recreate-topic TOPIC LISTS": (
        "foreign recreate-topic orders [3,4]",
        "at 1s {}\ntick 4s",
        ("1s    topic orders is deleted", "2s    topic orders is created: 0 [3,4]"),
    ),
    "foreign add-partitions TOPIC LISTS": (
        "foreign add-partitions orders [2,3,4] [4,5,1]",
        "at 1s {}\ntick 3s",
        ("1s    topic orders gets more partitions: 2 [2,3,4] 3 [4,5,1]",),
    ),
}  # fmt: skip


def form(kind: Kind) -> str:
    return kind.form


@pytest.mark.parametrize("kind", FORMS, ids=form)
def test_a_form_does_what_it_says(kind: Kind) -> None:
    what, story, lines = EFFECTS[kind.form]
    told = run_scenario(
        FOUNDING + story.replace("{}", what) + "\n", "story.txt"
    ).output.splitlines()
    assert [line for line in lines if line not in told] == [], "\n".join(told)


@pytest.mark.parametrize("kind", FORMS, ids=form)
def test_a_form_means_the_same_on_the_command_line_as_in_a_story(kind: Kind) -> None:
    what, _, _ = EFFECTS[kind.form]
    told = read_schedule(TokenReader(what, "story.txt:3"), CONTEXT)
    ends = re.search(r" for \w+$", what)
    ahead = what if ends is None else what[: ends.start()]
    asked = f"{ahead}  at 5s{'' if ends is None else ends[0]}"
    fault = read_fault(asked, CONTEXT)
    assert fault.schedule == tuple(At(5 + at.seconds, at.fault) for at in told)
    assert read_fault(f"{what} at 5s", CONTEXT).schedule == fault.schedule
    assert fault.text == " ".join(asked.split())


@pytest.mark.parametrize("kind", FORMS, ids=form)
def test_a_form_that_is_left_in_the_middle_is_shown_whole(kind: Kind) -> None:
    if kind.form == "rebalance":
        return
    for read in (
        lambda what: read_fault(f"{what} at 5s", CONTEXT),
        lambda what: read_schedule(TokenReader(what, "story.txt:3"), CONTEXT),
    ):
        with pytest.raises(Exception, match=r"; the form is: ") as refused:
            read(" ".join(kind.begins))
        assert str(refused.value).endswith(f"; the form is: {kind.form}")


def test_the_laws_are_tried_under_every_fault() -> None:
    drawn = vars(hostile_faults)
    by_itself = {SendLogMoves}  # what a lost request comes to, when it arrives late
    faults = [fault for fault in get_args(Fault) if fault not in by_itself]
    assert [fault for fault in faults if fault.__name__ not in drawn] == []


@pytest.mark.parametrize(("what", "forms"), [("form", FORMS), ("event", LOOP_FORMS)])
def test_every_form_stands_in_the_document_and_nothing_else(
    what: str, forms: Sequence[Kind | LoopForm]
) -> None:
    rows = "".join(f"| `{k.form.replace('|', chr(92) + '|')}` | {k.means} |\n" for k in forms)
    text = DOCUMENT.read_text(encoding="utf-8")
    head, title, rest = text.partition(f"| {what} | means |\n| --- | --- |\n")
    written, gap, below = rest.partition("\n\n")
    if "REPLAN_REWRITE" in os.environ:
        DOCUMENT.write_text(f"{head}{title}{rows.rstrip()}{gap}{below}", "utf-8")
    else:
        assert f"{written}\n" == rows
