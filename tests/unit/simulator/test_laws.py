"""What holds of every simulated controller after any story."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from tests.golden.language import perform as tell
from tests.golden.simulator_driver import SimulatorDriver
from tests.golden.traces import RESTARTS, STEPS, Words, traces

from replan.simulator.api import (
    RULES,
    ClusterState,
    ControllerCommand,
    ControllerResult,
    Partition,
    decide_command,
    evolve_all,
)

KINDS = [
    (v, elr) for v, rules in RULES.items() for elr in (False, True) if rules.knows_elr or not elr
]
STORIES = traces(st.one_of(STEPS, RESTARTS), shortest=1, longest=25).map(
    lambda trace: [w for w in trace if not (w[0] == "reassign" and len(w) > 2)]
)
"""The same partition twice in one request may leave a mix of both, in Kafka too; no law holds of that."""


class Witness(SimulatorDriver):
    """A driver that remembers each command with the states around it."""

    def __init__(self, version: str, *, elr: bool) -> None:
        self.seen: list[tuple[ClusterState, ControllerCommand, ControllerResult, ClusterState]] = []
        super().__init__(version, elr=elr)

    def ask(self, command: ControllerCommand) -> ControllerResult:
        before = self.state
        decision = super().ask(command)
        self.seen.append((before, command, decision, self.state))
        return decision


def told(trace: list[Words], kind: tuple[str, bool]) -> Witness:
    version, elr = kind
    witness = Witness(version, elr=elr)
    for tokens in trace:
        if tokens[0] != "isr" or witness.observe(0).leader is not None:
            tell(tokens, witness)
    return witness


def partitions(state: ClusterState) -> Iterator[Partition]:
    return (partition for _, partition in state.partitions())


@given(kind=st.sampled_from(KINDS), trace=STORIES)
def test_lists_and_leaders_fit_each_other(kind: tuple[str, bool], trace: list[Words]) -> None:
    for _, _, _, state in told(trace, kind).seen:
        for partition in partitions(state):
            replicas = set(partition.replicas)
            assert len(replicas) == len(partition.replicas)
            assert replicas.issuperset(partition.isr)
            assert replicas.issuperset((*partition.adding, *partition.removing))
            assert not set(partition.isr) & set(partition.elr)
            assert partition.leader is None or partition.leader in partition.isr
            assert partition.leader is None or state.active(partition.leader)
            assert kind[1] or (partition.isr and not partition.elr)


@given(kind=st.sampled_from(KINDS), trace=STORIES)
def test_epochs_never_go_back_and_tell_of_every_change(
    kind: tuple[str, bool], trace: list[Words]
) -> None:
    for before, _, _, after in told(trace, kind).seen:
        for name, partition in after.partitions():
            previous = before.partition(name)
            if previous is None:
                continue
            assert partition.leader_epoch >= previous.leader_epoch
            assert partition.partition_epoch >= previous.partition_epoch
            if partition != previous:
                assert partition.partition_epoch > previous.partition_epoch
            if partition.leader != previous.leader:
                assert partition.leader_epoch > previous.leader_epoch


@given(kind=st.sampled_from(KINDS), trace=STORIES)
def test_a_decision_is_a_function_of_state_and_command(
    kind: tuple[str, bool], trace: list[Words]
) -> None:
    for before, command, decision, after in told(trace, kind).seen:
        shown = repr(before)
        assert decide_command(before, command) == decision
        assert repr(before) == shown
        one_by_one = before
        for event in decision.events:
            one_by_one = evolve_all(one_by_one, (event,))
        assert one_by_one == after == evolve_all(before, decision.events)
        if not decision.events:
            assert after is before


@given(kind=st.sampled_from(KINDS), trace=STORIES)
def test_no_replica_leads_or_joins_uncleanly_unless_it_is_asked_for(
    kind: tuple[str, bool], trace: list[Words]
) -> None:
    clean = [w for w in trace if "unclean" not in " ".join(w) and w[0] != "restart"]
    for _, _, _, state in told(clean, kind).seen:
        assert not any(partition.recovering for partition in partitions(state))
