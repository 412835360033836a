"""Why a move is not planned: the safety rules that are judged per partition, before anything is asked for.

Each refusal names the partition, the measure, the limit and the way out. The applier checks the ones that may
change (safe start, unclean guard) again at admission. Mistakes of the manifest against this cluster, such as
an unknown broker, are not refusals: they are in `comparison.cluster_check`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replan.model.broker import Broker
from replan.model.names import BrokerId, Replicas
from replan.model.partition import PartitionState
from replan.planning.moves import Move
from replan.planning.plan import Refusal
from replan.wording import count


@dataclass(frozen=True, slots=True)
class Judge:
    """The rules, with what they need to know of the brokers."""

    registered: frozenset[BrokerId]
    live: frozenset[BrokerId]
    cordoned: frozenset[BrokerId]

    @classmethod
    def of(cls, brokers: Iterable[Broker]) -> "Judge":
        """Make one that knows these brokers."""
        known = tuple(brokers)
        return cls(
            frozenset(b.id for b in known),
            frozenset(b.id for b in known if b.live),
            frozenset(b.id for b in known if b.cordoned),
        )

    def refusals(self, move: Move, seen: PartitionState) -> list[Refusal]:
        """All the reasons for which this move must not be planned; empty when it may."""
        return [
            Refusal(
                str(move.partition), rule, f"{move.partition}: {message}", held=rule == "running"
            )
            for rule, message in self._reasons(move, seen)
        ]

    def _reasons(self, move: Move, seen: PartitionState) -> Iterator[tuple[str, str]]:
        running = seen.running
        if running is not None:
            yield (
                "running",
                (
                    f"a reassignment to {list(running.target)} is running on it (adding {list(running.adding)}, "
                    f"removing {list(running.removing)}); let it end or cancel it, then plan again. "
                    "If it is replan's own, resume it: run the same `replan apply` again"
                ),
            )
            return
        if seen.leader is None:
            yield (
                "no-leader",
                (
                    f"no leader, in sync: {list(seen.isr)}; no step can help it but a recovery: "
                    "bring back one of its in-sync or eligible replicas first"
                ),
            )
        yield from _target_below_min_isr(move)
        if not move.is_leader_only:
            yield from _unregistered(move, self.registered)
            yield from _cordoned(move, self.cordoned)
        if move.new:
            yield from safe_start(move)
            yield from unclean_guard(move, seen, self.live)


def _target_below_min_isr(move: Move) -> Iterator[tuple[str, str]]:
    """Kafka accepts such a target silently (ReplicationControlManager); KIP-966 asks tools to refuse it."""
    m = move.min_insync_replicas
    shrinks = len(move.target) < len(move.original)
    if shrinks and len(move.target) < m and not move.below_min_isr:
        yield (
            "target-below-min-isr",
            (
                f"target {list(move.target)} has {_replicas(move.target)}, min.insync.replicas is {m}; "
                f"declare at least {m}, lower min.insync.replicas, or write `belowMinIsr: true` at the topic"
            ),
        )


def _unregistered(move: Move, registered: frozenset[BrokerId]) -> Iterator[tuple[str, str]]:
    """Only where the list is not declared: ReplicationControlManager refuses a list that keeps such a broker (39)."""
    gone = sorted(set(move.target) - registered)
    if gone:
        yield (
            "unregistered",
            (
                f"its list {list(move.original)} names broker {_ids(gone)}, which is not registered any more: Kafka "
                "takes no list that keeps it, not even in another order; declare the partition under `assignments` "
                "without it"
            ),
        )


def _cordoned(move: Move, cordoned: frozenset[BrokerId]) -> Iterator[tuple[str, str]]:
    """From 4.4 on any list that names a fully cordoned broker is refused with 39 (KAFKA-20832)."""
    named = sorted(cordoned.intersection(move.target))
    if named:
        yield (
            "cordoned",
            (
                f"target {list(move.target)} names broker {_ids(named)}, all of whose log directories are cordoned; "
                "uncordon it, or declare another broker. Until then its replicas can only be dropped"
            ),
        )


def safe_start(move: Move) -> Iterator[tuple[str, str]]:
    """Adding replicas enlarges the effective minimum min(m, assigned) (Partition.effectiveMinIsr since 3.7)."""
    needed = min(move.min_insync_replicas, len({*move.original, *move.target}))
    if len(move.original) < needed:
        yield (
            "safe-start",
            (
                f"{_replicas(move.original)} {list(move.original)}, and min.insync.replicas "
                f"{move.min_insync_replicas} would ask for {needed} in sync as soon as others are added: writes with "
                f"acks=all would stop for the whole copy; set min.insync.replicas of {move.partition.topic} to "
                f"{len(move.original)} first and back afterwards"
            ),
        )


def unclean_guard(
    move: Move, seen: PartitionState, live: frozenset[BrokerId]
) -> Iterator[tuple[str, str]]:
    """With unclean election on, an empty newcomer could be elected when the only in-sync replica restarts."""
    in_sync = [b for b in seen.isr if b in live]
    if move.unclean_election and len(in_sync) < 2:
        yield (
            "unclean-guard",
            (
                f"unclean.leader.election.enable is true and only {len(in_sync)} of its live replicas is in sync "
                f"{in_sync}: an empty new replica could be elected and the data lost; run `kafka-configs.sh --alter "
                f"--entity-type topics --entity-name {move.partition.topic} "
                "--add-config unclean.leader.election.enable=false` first"
            ),
        )


def _ids(brokers: list[BrokerId]) -> str:
    return ", ".join(str(b) for b in brokers)


def _replicas(listed: Replicas) -> str:
    return count(len(listed), "replica")
