"""What a balance of a placement asks of the chooser beside its shares: rates, and who leads.

Not here: shares and how they are reached (`placing`), and how near they come (`safety.placing_refusals`).
"""

import numpy as np
import pyarrow as pa

from replan.model.columns import PAD, Ints, Matrix, take, to_matrix, topics_of
from replan.model.declared.placement import Placement
from replan.model.declared.rules import BalanceMeasure, Tolerance
from replan.model.rates import Rates
from replan.model.snapshot import topic_codes
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.placing.problem import Leading

FASTEST = 1 << 40
"""A rate above it counts as this one: so many bytes per second reach no broker."""


def balanced_by(placement: Placement, rates: Rates | None) -> tuple[Tolerance, ...]:
    """What of the brokers is balanced, as far as it is known."""
    tolerances = () if placement.balance is None else placement.balance.tolerances
    return tuple(
        tolerance
        for tolerance in tolerances
        if tolerance.measure is not BalanceMeasure.LOG_DIRS
        and not (tolerance.measure.needs_rates and rates is None)
    )


def without_rates(placement: Placement, rates: Rates | None) -> tuple[BalanceMeasure, ...]:
    """What of the brokers cannot be balanced, as nobody knows what producers write."""
    tolerances = () if placement.balance is None else placement.balance.tolerances
    return tuple(t.measure for t in tolerances if t.measure.needs_rates and rates is None)


def rates_of_rows(rates: Rates | None, partitions: pa.Table) -> Ints:
    """What producers write to each partition, bytes per second; nothing where it is not known."""
    by_row = np.zeros(partitions.num_rows, dtype=np.int64)
    if rates is not None:
        rows = partition_rows(named_partitions(rates.bytes_per_second), partitions)
        written = np.array([min(r, FASTEST) for r in rates.bytes_per_second.values()], np.int64)
        by_row[rows[rows >= 0]] = written[rows >= 0]
    return by_row


def leading_of(aligned: Alignment, rows: Ints, lists: Matrix) -> Leading | None:
    """Who leads observed rows, by what they have; None where the balance asks for no leaders."""
    placement, snapshot = aligned.placement, aligned.snapshot
    balance = placement.balance
    if balance is None or not any(t.measure.of_leaders for t in balance.tolerances):
        return None
    some = take(snapshot.partitions, rows)
    names, codes = topics_of(some)
    by_rule = aligned.intents.leaders
    declared = np.array([*(n in by_rule for n in names.to_pylist()), False], dtype=bool)[codes]
    by_id = partition_rows(named_partitions(placement.preferred_leaders), some)
    declared[by_id[by_id >= 0]] = True
    first = np.full(len(rows), PAD, dtype=np.int64)
    if len(rows):
        first = to_matrix(some.column("replicas"))[:, 0].astype(np.int64)
    first[~(lists[rows] == first[:, None]).any(axis=1)] = PAD
    numbers = topic_codes(snapshot.partitions)[rows]
    topics = snapshot.topics.column("name").to_pylist()
    entries = in_force(placement, snapshot)
    last = last_leaders(placement, snapshot)
    listed = {
        int(number): frozenset(
            [*last, *(int(e.broker) for e in entries if blacklist_reaches(e, topics[number]))]
        )
        for number in (np.unique(numbers).tolist() if entries or last else ())
    }
    return Leading(first, declared, {number: of for number, of in listed.items() if of})
