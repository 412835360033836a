"""The fewest bytes that any plan copies: each job as a linear program (highspy), in which replicas may be divided.

One variable for each partition and broker that may hold it. Each partition has as many replicas as are asked for, each
rack as many of them as the rule says, and each broker as much as the balance allows. No plan copies less; where
partitions are large, none may copy as little.
"""

from collections.abc import Sequence
from math import ceil, floor

import highspy
import numpy as np

Lists = list[list[int]]


def bound(
    had: Lists,
    sizes: Sequence[int],
    factor: Sequence[int],
    may: Sequence[dict[int, int]],
    tolerances: Sequence[tuple[str, float]] = (),
) -> float:
    """Bytes; `may`: of each partition, the brokers that may hold it and their racks.

    `tolerances`: of replicas or bytes, of the average of the brokers; all hold at once.
    """
    rows, brokers, costs = [], [], []
    for row, (racks, before) in enumerate(zip(may, had, strict=True)):
        for broker in racks:
            rows.append(row)
            brokers.append(broker)
            costs.append(0.0 if broker in before else sizes[row] / 1e9)
    of, at = np.array(rows), np.array(brokers)
    rack = np.array([may[r][b] for r, b in zip(rows, brokers, strict=True)])
    size, wanted = np.array(sizes) / 1e9, np.array(factor)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    whole, number = np.unique(of, return_inverse=True)
    parts.append((number, np.ones(len(of)), wanted[whole], wanted[whole]))
    codes, number = np.unique(of * 1000 + rack, return_inverse=True)
    racks_of = np.array([len(set(racks.values())) for racks in may])
    low, high = wanted // racks_of, -(-wanted // racks_of)
    parts.append((number, np.ones(len(of)), low[codes // 1000], high[codes // 1000]))
    every, number = np.unique(at, return_inverse=True)
    for measure, tolerance in tolerances:
        units = size if measure == "bytes" else np.ones(len(size))
        mean = float((units * wanted).sum()) / len(every)
        least, most = mean * (1 - tolerance), mean * (1 + tolerance)
        if measure == "replicas":
            least, most = floor(least), ceil(most)
        some = np.ones(len(every))
        parts.append((number, units[of], least * some, most * some))
    return _solved(np.array(costs), parts) * 1e9


def bound_of_spread_topics(
    sizes: Sequence[int],
    topics: Sequence[int],
    factor: int,
    brokers: int,
    new: int,
    tolerance: float,
) -> float:
    """Bytes that brokers which join with nothing take at least until replicas are balanced, where topics stay spread.

    Each partition gives one replica at most, and none of the new ones gets more of a topic than its share, rounded up,
    and one. `sizes`, `topics`: of each partition; `brokers`: all of them, in racks of as many.
    """
    each = floor(len(sizes) * factor / brokers * (1 - tolerance))
    given: list[int] = []
    for topic in set(topics):
        mine = sorted(size for size, of in zip(sizes, topics, strict=True) if of == topic)
        given += mine[: new * (ceil(len(mine) * factor / brokers) + 1)]
    return float(sum(sorted(given)[: new * each]))


def _solved(
    costs: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
) -> float:
    """The least cost; `parts`: of each kind of constraint its number for each variable, factors, and bounds."""
    starts = np.cumsum([0, *(len(low) for _, _, low, _ in parts)])
    lp = highspy.HighsLp()
    count = len(costs)
    lp.num_col_, lp.num_row_ = count, int(starts[-1])
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, np.zeros(count), np.ones(count)
    lp.row_lower_ = np.concatenate([low for _, _, low, _ in parts]).astype(float)
    lp.row_upper_ = np.concatenate([high for _, _, _, high in parts]).astype(float)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(count + 1) * len(parts)
    indices = [n + start for (n, _, _, _), start in zip(parts, starts, strict=False)]
    lp.a_matrix_.index_ = np.stack(indices, axis=1).ravel()
    lp.a_matrix_.value_ = (
        np.stack([value for _, value, _, _ in parts], axis=1).ravel().astype(float)
    )
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return float("nan")
    return float(solver.getInfo().objective_function_value)
