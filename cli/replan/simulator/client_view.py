"""What a client sees of a simulated cluster: partitions as brokers show them, answers as clients take them.

Here belongs the translation from the controller's replies to the port's answers. Not here: sending (`control_plane`).
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, Rejected
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.simulator.cluster.disks import lies_on_lost_disk
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.commands import Decision, Subject
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.state import Partition, Topic

UNKNOWN_OUTCOMES = frozenset(
    {Code.UNKNOWN_SERVER_ERROR, Code.REQUEST_TIMED_OUT, Code.NOT_CONTROLLER}
)

SubjectT = TypeVar("SubjectT", bound=Subject)


def answers(simulation: Simulation, broker: BrokerId) -> bool:
    """Whether a broker can be asked about its own things; one that is not registered is not known to anybody."""
    registration = simulation.cluster.brokers.get(broker)
    return registration is not None and not registration.fenced and simulation.world.serves(broker)


def unreachable(simulation: Simulation, name: str) -> Answer | None:
    """The answer where a broker cannot be asked: known to be fenced, or dead and not fenced yet."""
    known = {str(b): r for b, r in simulation.cluster.brokers.items()}
    if name not in known or known[name].fenced:
        return rejected(
            Code.INVALID_REQUEST,
            f"broker {name} is not live, and only a broker itself can change its configuration; "
            "ask again when it is back",
        )
    if not simulation.world.serves(known[name].id):
        return OutcomeUnknown(f"broker {name} does not answer")
    return None


def answers_of(decision: Decision, subjects: Sequence[SubjectT]) -> dict[SubjectT, Answer]:
    """The answers by subject; where the whole request failed, that answer for each."""
    if not isinstance(decision.whole, Accepted):
        return dict.fromkeys(subjects, _as_known(decision.whole))
    found: dict[Subject, Answer] = dict(decision.each)
    return {subject: _as_known(found[subject]) for subject in subjects}


def _as_known(answer: Answer) -> Answer:
    """What a client makes of an answer: some codes do not say what became of the request."""
    if isinstance(answer, Rejected) and answer.code in UNKNOWN_OUTCOMES:
        return OutcomeUnknown(f"{answer.name}: {answer.message}")
    return answer


def seen(name: TopicPartition, topic: Topic, partition: Partition) -> PartitionState:
    """A partition as brokers show it."""
    return PartitionState(
        partition=name,
        topic_id=topic.id,
        replicas=partition.replicas,
        isr=partition.isr,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
    )


def replica_sizes(
    simulation: Simulation, broker: BrokerId, wanted: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The sizes of the replicas that a broker has on disks that work."""
    return {
        name: simulation.world.replica_bytes(name, broker)
        for name in sorted(wanted)
        if (partition := simulation.cluster.partition(name)) is not None
        and broker in partition.replicas
        and not lies_on_lost_disk(simulation.world, (name, broker))
    }
