"""The numbers of small worlds: the product's, or smaller ones in the same order, so that less has to be counted.

What matters is which is longer: a message is late for less than the quarantine, and for longer than an application of
one move takes, so that the next one can meet it; brokers lag for less than it takes to give a partition up.
"""

from math import inf

from replan.applying.api import Settings

QUANTUM = 5.0
"""Seconds of a tick; time goes in these."""
LATEST_QUANTA = 7
"""How late a message takes effect at the latest."""
LAG_QUANTA = 2
"""How old what brokers show may be."""
SETTLE_LOOKS = 3
"""The looks before this one that the settle time has, at one in a quantum."""
SETTINGS = Settings(
    owner="small world",
    slots_per_broker=1,
    poll_seconds=QUANTUM,
    settle_seconds=15.0,
    ending_seconds=15.0,
    agreeing_seconds=5.0,
    quarantine_seconds=40.0,
    retry_seconds=QUANTUM,
    patience_seconds=10.0,
    rates_seconds=10.0,
    neighbours_seconds=QUANTUM,
    stalled_seconds=inf,
    disk_seconds=inf,
)
