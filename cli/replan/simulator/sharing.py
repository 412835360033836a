"""Max-min fair shares: no copy gets more while another that shares its bottleneck gets less.

Here belongs the arithmetic alone; what the links are is in `flows`.
"""

from collections.abc import Callable, Hashable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import TypeVar

LinkT = TypeVar("LinkT", bound=Hashable)


def fair_shares(
    links: Sequence[Sequence[LinkT]], capacity: Callable[[LinkT, int], float]
) -> list[float]:
    """Fill all copies evenly; whoever meets a full link stays at what it has (progressive filling).

    A copy is given by the links that it uses, at least one. `capacity` is asked once for each link, with the number of
    its copies. A link's fair share never shrinks while copies elsewhere are filled, so a heap with outdated entries
    finds the tightest link: one that has grown since it was put there goes back.
    """
    users: dict[LinkT, list[int]] = {}
    for copy, used in enumerate(links):
        for link in used:
            users.setdefault(link, []).append(copy)
    numbers = {link: number for number, link in enumerate(users)}
    numbered = [[numbers[link] for link in used] for used in links]
    capacities = [capacity(link, len(copies)) for link, copies in users.items()]
    return _filled(numbered, list(users.values()), capacities)


def _filled(links: list[list[int]], users: list[list[int]], left: list[float]) -> list[float]:
    """The same for numbered links; takes from `left`."""
    count = [len(copies) for copies in users]
    waiting = [(left[link] / count[link], link) for link in range(len(count))]
    heapify(waiting)
    shares = [-1.0] * len(links)
    while waiting:
        share, link = waiting[0]
        if not count[link]:
            heappop(waiting)
            continue
        now = max(0.0, left[link] / count[link])
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
