"""Lists that arrive when their partition is done, as a network may hold back a request for longer than replan waits.

Brokers do not (they re-send for 75 s at most), so nobody waits for them; but before an application is closed, all that
is done is looked at once more. What shows an earlier list of this application is taken up again, from where that list
leads; what shows anything else was done, and is somebody's since.
"""

from collections.abc import Iterator

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import changed
from replan.applying.journal.steps import MoveRecord, Reached, Status
from replan.applying.reasons.notes import ArrivedLate
from replan.model.control_plane import ClusterReader, Wanted
from replan.model.names import Replicas
from replan.model.partition import PartitionState


def arrived_late(ledger: Ledger, reader: ClusterReader) -> Iterator[tuple[MoveRecord, ArrivedLate]]:
    """The records of what is to be taken up again. Raises what a look raises."""
    done = [r for r in ledger.owned.values() if r.status is Status.DONE and r.past]
    seen = (
        reader.look(Wanted(partitions=sorted(r.partition for r in done))).partitions if done else {}
    )
    for own in done:
        listed = _late_list(own, seen.get(own.partition))
        if listed is not None:
            again = changed(own, status=Status.OPEN, reached=Reached.EXPANDED)
            yield again, ArrivedLate(own.partition, listed)


def _late_list(own: MoveRecord, found: PartitionState | None) -> Replicas | None:
    if found is None or found.topic_id != own.topic_id:
        return None
    listed = found.replicas if found.running is None else found.running.target
    return listed if listed != own.target and listed in own.past else None
