"""In which order the controller comes upon what it keeps by number.

Here belongs what of Kafka's hash tables can be seen from outside (BaseHashTable, TimelineHashMap): how many slots one
has, and which key an iteration meets first. A table grows before something is added or replaced, and never shrinks.
"""

from collections.abc import Iterable

GOLDEN_RATIO = 0x9E3779B97F4A7C15
HASHES = 1 << 64
FEWEST_SLOTS = 2


def slots_for(elements: int) -> int:
    """The slots of a table to which so many elements were added, and none replaced."""
    slots = FEWEST_SLOTS
    while 3 * elements > 4 * slots:
        slots *= 2
    return slots


def slots_after_replacing(elements: int) -> int:
    """The slots that a table of so many elements has at least, once one of them was replaced: room for one more."""
    return slots_for(elements + 1)


def first_of(keys: Iterable[int], slots: int) -> int:
    """The key that an iteration meets first: the latest in the first slot, where ascending keys were added."""
    return max(key for key in keys if key * GOLDEN_RATIO % HASHES * slots < HASHES)
