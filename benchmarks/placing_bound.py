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
Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""One kind of constraint: the number of that of each variable, its factor there, and the bounds of each."""
SECONDS = 60.0
"""Who is not solved by then is none: `nan`."""


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
    parts = _rule(of, rack, wanted, np.array([len(set(racks.values())) for racks in may]))
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


def least_busiest(
    had: Lists,
    sizes: Sequence[int],
    factor: int,
    racks: dict[int, int],
    got: Sequence[float],
    means: Sequence[float],
    holds: Sequence[tuple[float, float]],
) -> float:
    """The least that the busiest receiver gets by the mean of its rack, where as much comes to each rack.

    `racks`: of the brokers that may hold the partitions, from 0. Of each rack, in bytes: what comes to it (`got`), what
    its receivers get on average (`means`), and what each of its brokers holds at the end, at the least and at the most.
    """
    on = sorted(racks)
    of, at = np.repeat(np.arange(len(had)), len(on)), np.tile(np.arange(len(on)), len(had))
    rack = np.array([racks[b] for b in on])[at]
    size = np.array(sizes)[of] / 1e9
    copied = np.array([float(b not in before) for before in had for b in on]) * size
    parts = _rule(of, rack, np.full(len(had), factor), np.full(len(had), len(set(racks.values()))))
    comes = np.array(got) / 1e9
    parts.append((rack, copied, comes, comes))
    mean = np.array([means[racks[b]] / 1e9 for b in on])
    start = sum(len(low) for _, _, low, _ in parts)
    parts.append((at, copied, np.full(len(on), -np.inf), np.zeros(len(on))))
    least, most = (np.array([holds[racks[b]][i] / 1e9 for b in on]) for i in range(2))
    parts.append((at, size, least, most))
    return _solved(np.zeros(len(of)), parts, (start + np.arange(len(on)), -mean))


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


def _rule(of: np.ndarray, rack: np.ndarray, wanted: np.ndarray, racks: np.ndarray) -> list[Part]:
    """As many replicas as are asked for, spread over the racks.

    `of`, `rack`: of each variable, its partition and its broker's rack; `wanted`, `racks`: of each partition.
    """
    whole, number = np.unique(of, return_inverse=True)
    found: list[Part] = [(number, np.ones(len(of)), wanted[whole], wanted[whole])]
    codes, number = np.unique(of * 1000 + rack, return_inverse=True)
    low, high = wanted // racks, -(-wanted // racks)
    found.append((number, np.ones(len(of)), low[codes // 1000], high[codes // 1000]))
    return found


def _solved(
    costs: np.ndarray, parts: list[Part], most: tuple[np.ndarray, np.ndarray] | None = None
) -> float:
    """The least cost; `most`: the constraints of one more variable, which costs 1, and its factors in them.

    By interior points: where racks are repaired the simplex method takes ten times as long.
    """
    starts = np.cumsum([0, *(len(low) for _, _, low, _ in parts)])
    lp = highspy.HighsLp()
    rows, factors = most or (np.zeros(0, dtype=int), np.zeros(0))
    more, count = int(most is not None), len(costs)
    lp.num_col_, lp.num_row_ = count + more, int(starts[-1])
    lp.col_cost_ = np.concatenate([costs, np.ones(more)])
    lp.col_lower_ = np.zeros(count + more)
    lp.col_upper_ = np.concatenate([np.ones(count), np.full(more, np.inf)])
    lp.row_lower_ = np.concatenate([low for _, _, low, _ in parts]).astype(float)
    lp.row_upper_ = np.concatenate([high for _, _, _, high in parts]).astype(float)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    ends = np.arange(count + 1) * len(parts)
    lp.a_matrix_.start_ = np.concatenate([ends, ends[-1:] + len(rows)] if more else [ends])
    indices = [n + start for (n, _, _, _), start in zip(parts, starts, strict=False)]
    lp.a_matrix_.index_ = np.concatenate([np.stack(indices, axis=1).ravel(), rows])
    values = np.stack([value for _, value, _, _ in parts], axis=1).ravel()
    lp.a_matrix_.value_ = np.concatenate([values, factors]).astype(float)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    solver.setOptionValue("solver", "ipm")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("time_limit", SECONDS)
    solver.passModel(lp)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return float("nan")
    return float(solver.getInfo().objective_function_value)
