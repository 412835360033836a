"""Max-min fair shares: no copy gets more while another that shares its bottleneck gets less.

Here belongs the arithmetic alone; what the links are is in `copy_rates`. Links and copies are numbers here, since a
long simulation asks this tens of thousands of times.
"""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace


def fair_shares(links: Sequence[Sequence[int]], wide: Mapping[int, float]) -> list[float]:
    """Fill all copies evenly; whoever meets a full link stays at what it has (progressive filling).

    A copy is given by the links that it uses, at least one; `wide` is what each link carries. A link's fair share never
    shrinks while copies elsewhere are filled, so a heap with outdated entries finds the tightest link: one that has
    grown since it was put there goes back.
    """
    users: list[list[int]] = [[] for _ in range(1 + max(wide, default=-1))]
    for copy, used in enumerate(links):
        for link in used:
            users[link].append(copy)
    count = [len(copies) for copies in users]
    left = [wide[link] if many else 0.0 for link, many in enumerate(count)]
    waiting = [(left[link] / many, link) for link, many in enumerate(count) if many]
    heapify(waiting)
    shares = [-1.0] * len(links)
    while waiting:
        share, link = waiting[0]
        now = left[link] / count[link] if count[link] else share
        now = now if now > 0 else 0.0
        if now > share:
            heapreplace(waiting, (now, link))
            continue
        heappop(waiting)
        for copy in users[link]:
            if shares[copy] < 0:
                shares[copy] = now
                for other in links[copy]:
                    left[other] -= now
                    count[other] -= 1
    return shares
