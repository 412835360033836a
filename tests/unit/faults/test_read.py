"""How faults are read: what each means to the simulator, and how what is wrong is reported, in `goldens/faults.txt`."""

from pathlib import Path

import pytest
from tests.goldens import check_cases
from tests.unit.faults.fault_context import CONTEXT, SAMPLES

from replan.errors import BadUsage
from replan.faults.api import FORMS, by_words, read_fault, read_loop_event

GOLDEN = Path(__file__).parent / "goldens" / "faults.txt"
MEANT = """\
kill 3
stop 3
start  3
restart 3
slow 3 to 5MB/s
slow 3 to usual
fence 3
lose disk 3 for 10m
lag orders-1 broker 3
lag orders-1 broker 3 by 2GB
lag orders-1 broker 3 by 1GiB
flap orders-1 broker 3 every 10s for 20s
produce orders-1 1MB/s
produce orders-1 0
unknown outcome of elect without effect
unknown outcome of 2 configs with effect
unknown outcome of reassign late by 75s
repeated 3 reassign
metadata 2s behind
foreign reassign orders-1 [1,2]
foreign reassign orders-1 [1, 2]
foreign cancel orders-1
foreign elect preferred orders-1
foreign elect unclean orders-1
foreign config topic orders set min.insync.replicas 3
foreign config topic orders delete min.insync.replicas
foreign config topic orders set leader.replication.throttled.replicas *
foreign config broker 3 delete leader.replication.throttled.rate
foreign recreate-topic orders [1,2]*2
foreign add-partitions orders [1,2,3]
""".splitlines()
WRONG = """\

at 5s
kill 3
kill 3 at
kill 3 at 5
kill 3 at 1.2.3s
kill 3 at -5s
kill x at 5s
kill 9 at 5s
kill 3 hard at 5s
kill 3 at 5s hard
kill 3 at 5s for ever
foreign cancel orders-1 at 3s for 5s
slow 3 to 5 at 3s
silence at 5s
lag orders-9 broker 3 at 5s
foreign min-isr clicks 2 at 5s
foreign reassign orders-1 [1,b] at 5s
unknown outcome of reassign late by 70 at 5s
lag orders-1 broker 3 by 9999PB at 5s
unknown outcome of 0 reassign with effect at 5s
burn 3 at 10m
foreign dance at 10m
kill 3 at 36501d
silence at 5s for 99999999999999d
flap orders-1 broker 3 every 1ms at 5s for 1d
release next.yaml
release at 5s
resume at 5s for 3s
pause at soon
""".splitlines()


def meant(text: str) -> str:
    return "\n".join(f"{at.seconds:g} s: {at.fault}" for at in read_fault(text, CONTEXT).schedule)


def refused(text: str) -> str:
    with pytest.raises(BadUsage) as found:
        _ = read_loop_event(text) or read_fault(text, CONTEXT)
    return str(found.value)


def test_what_a_fault_means_and_what_is_wrong_with_one_is_as_written() -> None:
    timed = [f"{what} at 10m" for what in (*SAMPLES, *MEANT)]
    check_cases(
        GOLDEN,
        [*((text, meant(text)) for text in timed), *((f"wrong: {t}", refused(t)) for t in WRONG)],
    )


def test_no_two_faults_begin_alike() -> None:
    """The one would hide the other."""
    assert len(by_words(FORMS)) == len(FORMS)
    with pytest.raises(ValueError, match=r"^`start BROKER` begins like `start BROKER`$"):
        by_words([kind for kind in FORMS if kind.begins == ("start",)] * 2)
