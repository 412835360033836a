"""How many replicas of one partition each rack holds under `spread: rack`: decided exactly.

With f replicas over R racks each rack gets q = f // R, and f % R of them get one more. A replica that is there already
costs nothing, so the best choice gives the extra ones to racks that hold q + 1 already, as far as there are such; which
racks they are beyond that costs the same bytes, and is chosen by the caller's order of preference. That is optimal,
because each rack gains at most one by the extra, and no rack's gain depends on another's.
"""

from collections.abc import Sequence

from msgspec import Struct

from replan.planning.placing.problem import Obstacle


class Racks(Struct, frozen=True):
    """The racks of the candidates, as one partition finds them; all sequences run over the same racks."""

    kept: Sequence[int]
    """Replicas of the partition that may stay, of each rack."""
    free: Sequence[int]
    """Brokers that may get a new replica, of each rack."""


class RackLack(Struct, frozen=True):
    """Why the racks cannot hold the partition."""

    obstacle: Obstacle
    rack: int | None
    needed: int
    available: int


class Lacking(Struct, frozen=True):
    """Everything that is in the way."""

    lacks: tuple[RackLack, ...]


def rack_counts(racks: Racks, factor: int, preference: Sequence[int]) -> list[int] | Lacking:
    """Replicas of each rack, with the most of `kept` staying; or everything that is in the way.

    `preference`: the racks in the order in which they get one more where the bytes are equal.
    """
    number = len(racks.kept)
    least, extras = divmod(factor, number)
    fits = [k + f for k, f in zip(racks.kept, racks.free, strict=True)]
    lacks = [
        RackLack(Obstacle.RACK_LACKS_BROKERS, rack, least, room)
        for rack, room in enumerate(fits)
        if room < least
    ]
    able = [rack for rack in preference if fits[rack] > least]
    if len(able) < extras:
        lacks.append(RackLack(Obstacle.RACKS_LACK_BROKERS, None, extras, len(able)))
    if lacks:
        return Lacking(tuple(lacks))
    able.sort(key=lambda rack: racks.kept[rack] <= least)
    more = set(able[:extras])
    return [least + (rack in more) for rack in range(number)]


def counts_that_fit(racks: Racks, wanted: Sequence[int]) -> list[int] | Lacking:
    """The same where the number of each rack is declared."""
    fits = [k + f for k, f in zip(racks.kept, racks.free, strict=True)]
    lacks = [
        RackLack(Obstacle.RACK_LACKS_BROKERS, rack, number, room)
        for rack, (number, room) in enumerate(zip(wanted, fits, strict=True))
        if room < number
    ]
    return Lacking(tuple(lacks)) if lacks else list(wanted)
