"""The order of a chosen list: who stays keeps the place, and who is new takes the place of one that leaves."""

from collections.abc import Collection, Sequence


def arranged(
    base: Sequence[int], new: Sequence[int], kept: Collection[int], rack: Sequence[int]
) -> list[int]:
    """The kept ones of `base` in their order, each new one at the place of one that leaves: of its own rack, if any.

    More new ones than places stand behind. All are positions; `rack`: of each position.
    """
    waiting = list(new)
    places: list[int | None] = [b if b in kept else None for b in base]
    for same_rack in (True, False):
        for i, leaving in enumerate(base):
            fits = [b for b in waiting if not same_rack or rack[b] == rack[leaving]]
            if places[i] is None and fits:
                places[i] = fits[0]
                waiting.remove(fits[0])
    return [b for b in places if b is not None] + waiting
