"""Max-min fair shares: no copy gets more while another that shares its bottleneck gets less.

Here belongs the arithmetic alone; what the links are is in `flows`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import TypeVar

CopyT = TypeVar("CopyT", bound=Hashable)
LinkT = TypeVar("LinkT", bound=Hashable)


def fair_shares(
    links: Mapping[CopyT, Iterable[LinkT]], capacity: Callable[[LinkT, int], float]
) -> dict[CopyT, float]:
    """Fill all copies evenly; whoever meets a full link stays at what it has (progressive filling).

    `capacity` is asked once for each link, with the number of its copies. A link's fair share never shrinks while
    copies elsewhere are filled, so a heap with outdated entries finds the tightest link: one that has grown since it
    was put there goes back.
    """
    users: dict[LinkT, list[CopyT]] = {}
    for copy, used in links.items():
        for link in used:
            users.setdefault(link, []).append(copy)
    count = {link: len(copies) for link, copies in users.items()}
    left = {link: capacity(link, many) for link, many in count.items()}
    numbers = {link: number for number, link in enumerate(users)}
    waiting = [(left[link] / many, numbers[link], link) for link, many in count.items()]
    heapify(waiting)
    shares: dict[CopyT, float] = {}
    while waiting:
        share, number, link = heappop(waiting)
        if not count[link]:
            continue
        now = max(0.0, left[link]) / count[link]
        if now > share:
            heappush(waiting, (now, number, link))
            continue
        for copy in users[link]:
            if copy not in shares:
                shares[copy] = now
                for other in links[copy]:
                    left[other] -= now
                    count[other] -= 1
    return shares
