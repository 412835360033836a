"""The lists of a reassignment: how they merge with a new target, when they are complete, what a cancel leaves.

Here belongs arithmetic on replica lists alone (PartitionReassignmentReplicas, PartitionReassignmentRevert). Not here:
requests, records, leaders.
"""

from dataclasses import dataclass, replace

from replan.model.names import BrokerId, Replicas
from replan.simulator.controller.versions import Completion


@dataclass(frozen=True, slots=True)
class Lists:
    """The five lists that a change of one partition works on."""

    replicas: Replicas
    isr: Replicas
    adding: Replicas = ()
    removing: Replicas = ()


def retargeted(lists: Lists, target: Replicas) -> Lists:
    """The lists after a request for `target`, before anything completes.

    Both sets come out in ascending order, and are computed against the transitional list; an *empty* result leaves
    the stored set as it was, so stale members survive (ReplicationControlManager.changePartitionReassignment).
    """
    removing = tuple(sorted(set(lists.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(lists.replicas)))
    return replace(
        lists,
        replicas=target + removing,
        adding=adding or lists.adding,
        removing=removing or lists.removing,
    )


def completed(lists: Lists, rule: Completion) -> Lists | None:
    """The lists after the reassignment completed; None where it has not, or where none runs."""
    if not lists.adding and not lists.removing:
        return None
    isr = without(lists.isr, lists.removing)
    target = without(lists.replicas, lists.removing)
    if lists.removing and not (isr and target):
        return None
    if not _complete(frozenset(isr), target, lists, rule):
        return None
    return Lists(target, isr)


def _complete(isr: frozenset[BrokerId], target: Replicas, lists: Lists, rule: Completion) -> bool:
    match rule:
        case Completion.WHOLE_TARGET_IN_SYNC:
            return isr.issuperset(target)
        case Completion.ADDING_IN_SYNC:  # the second condition keeps the ISR from shrinking
            enough = len(lists.adding) >= len(lists.removing) or isr.issuperset(target)
            return isr.issuperset(lists.adding) and enough


@dataclass(frozen=True, slots=True)
class Reverted:
    """What a cancel asks for; `unclean` where nobody of the ISR would stay."""

    replicas: Replicas
    isr: Replicas
    unclean: bool


def reverted(lists: Lists) -> Reverted | None:
    """The lists after a cancel: the adding ones go, the order before is lost; None where nothing would stay."""
    kept = without(lists.replicas, lists.adding)
    isr = without(lists.isr, lists.adding)
    if not kept:
        return None
    return Reverted(kept, isr or kept[:1], unclean=not isr)


def without(replicas: Replicas, dropped: Replicas) -> Replicas:
    """The list without some members, in its own order."""
    return tuple(b for b in replicas if b not in dropped)
