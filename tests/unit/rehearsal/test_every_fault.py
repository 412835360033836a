"""Every fault in the middle of a copy: a rehearsal ends, is reported, and no law is broken."""

import pytest
from tests.unit.faults.fault_context import SAMPLES
from tests.unit.rehearsal.stages import MB, faults_of, plan_of, rehearsed
from tests.unit.reporting.rendered import rehearsal_text

from replan.rehearsal.api import Options, report_on

pytestmark = pytest.mark.slow

PLAN = plan_of([1, 2, 4], [3, 1, 2])
FAULTS = [
    *(what.replace("disk 1 b", "disk 1") for what in SAMPLES),  # one disk here
    "unregister 4",
    "kill 4",
    "unknown outcome of configs late by 75s",
    "foreign reassign orders-0 [1,9]",
]


def at(what: str, moment: str) -> str:
    ahead, ends, rest = what.rpartition(" for ")
    return f"{ahead} at {moment}{ends}{rest}" if ends else f"{what} at {moment}"


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("moment", ["0s", "9s"])
def test_a_rehearsal_bears_it(what: str, moment: str) -> None:
    fault = at(what, moment)
    found = rehearsed(PLAN, fault, network=50.0 * MB)
    assert found.broken == ()
    told = rehearsal_text(report_on(PLAN, Options(faults=faults_of(fault)), found))
    assert fault in told
    assert ("Completes:" in told) == found.completed
