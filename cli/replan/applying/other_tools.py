"""Reassignments of other tools under replan's throttle (`throttle RATE --running`): which there are. Pure.

An application throttles them from when somebody asks for it (`Application.others`, one append with the answer) until
none runs. It may have a plan of its own, which goes on beside; where none was open, one is opened whose plan is empty
(`plan_of_throttle`). Of each that copies and is not replan's own:

    listed    the controller lists it: entries of its original replicas on the leader's side, of those that it adds on
              the follower's, and the application's rate on their brokers
    missing   not listed any more, for less than `agreeing_seconds`: its throttle stays
    over      missing for so long: its entries are removed, and rates are restored when no other copy needs them

What holds, whatever is killed when:

1. Nothing of one is in the journal but what was there before its throttle (`prior/...`), written before it is set, by
   the same function as for replan's own copies (`throttle_tick`). What runs the cluster says; that they are to be
   throttled, and how fast, says the application. So whoever resumes comes to the same end.
2. What another tool has set is neither removed nor forgotten: an entry that was there is not replan's; a rate that is
   lower stays; one that is higher is saved, lowered, and restored unless it was changed again. Both are notes
   (`rates_of_others`): nothing of that is silent.
3. The application stays open while any is listed or missing, and until all is restored. ^C leaves it open and the
   copies throttled, `throttle clear` keeps what they need, `cancel` and `abandon --unthrottled` restore all of it.
4. They are throttled, and nothing else: no list, election or cancel is ever asked for because of them.
5. One that runs on a partition of the plan is another tool's as long as it does not lead to a list of replan's.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from replan.applying.journal.ledger import Ledger
from replan.applying.observation import runs_own
from replan.applying.reasons.notes import RateLowered, SlowerAlready
from replan.applying.reasons.reason import Note
from replan.applying.throttles import (
    RunningCopy,
    ThrottledCopy,
    ThrottleInput,
    WantedThrottles,
    catches_up_beside,
    effective_rate,
)
from replan.model.configs import own_value
from replan.model.control_plane import Look
from replan.model.declared.placement import MoveThrottle
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import Reassignment
from replan.planning.plans.plan import Plan


def plan_of_throttle(cluster_id: str, look: Look, rate: int | None) -> Plan:
    """A plan of nothing but a rate: bytes per second, None without a limit."""
    digest = hashlib.sha256(b"the throttle of running reassignments").hexdigest()
    racks = {broker.id: broker.rack for broker in look.brokers.values()}
    return Plan(cluster_id, digest, racks, moves=(), throttle=MoveThrottle(rate))


def not_ours(look: Look, ledger: Ledger) -> dict[TopicPartition, Reassignment]:
    """The running reassignments that copy, and that replan did not ask for."""
    return {
        name: running
        for name, running in look.running.items()
        if running.adding and not runs_own(look, ledger.owned.get(name))
    }


class OtherCopies(Struct, frozen=True):
    """What is known of the reassignments of other tools, while an application throttles them."""

    began: float | None = None
    """Since when they are looked for; None where they are not."""
    reassignments: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    """Listed or missing."""
    listed_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    progress: Mapping[tuple[TopicPartition, BrokerId], int | None] = field(default_factory=dict)
    """Bytes of each replica that is added, as far as read; None once it is in sync."""
    total: int = 0
    """How many there were."""

    def after(
        self, look: Look, ledger: Ledger, now: float, agreeing_seconds: float
    ) -> "OtherCopies":
        """What is known after a look."""
        if not ledger.throttles_others:
            return OtherCopies()
        listed = not_ours(look, ledger)
        missing = {
            name: running
            for name, running in self.reassignments.items()
            if name not in listed and now - self.listed_at[name] < agreeing_seconds
        }
        foreign = listed | missing
        return OtherCopies(
            now if self.began is None else self.began,
            foreign,
            {n: now if n in listed else self.listed_at[n] for n in foreign},
            dict(self._progress(look, foreign)),
            self.total + len(listed.keys() - self.reassignments.keys()),
        )

    def _progress(
        self, look: Look, reassignments: Mapping[TopicPartition, Reassignment]
    ) -> Iterator[tuple[tuple[TopicPartition, BrokerId], int | None]]:
        for name, running in reassignments.items():
            state = look.partitions.get(name)
            for broker in running.adding:
                last = self.progress.get((name, broker), 0)
                read = look.sizes.get(broker, {}).get(name, last)
                in_sync = state is not None and broker in state.isr
                yield (name, broker), None if in_sync else read

    def over(self, now: float, agreeing_seconds: float) -> bool:
        """Whether none is left: none was listed for long enough."""
        return (
            self.began is not None
            and not self.reassignments
            and now - self.began >= agreeing_seconds
        )

    @property
    def replicas(self) -> dict[TopicPartition, Replicas]:
        """The replicas of each that are being added: whose sizes show whether it moves."""
        return {name: running.adding for name, running in self.reassignments.items()}

    @property
    def brokers(self) -> set[BrokerId]:
        """All that send or receive."""
        return {b for running in self.reassignments.values() for b in running.replicas}

    def copies(self, look: Look) -> list[ThrottledCopy]:
        """All of them, as throttles see copies."""
        copies = []
        for name, running in sorted(self.reassignments.items()):
            state = look.partitions.get(name)
            stays = set(running.original).difference(running.removing)
            isr = running.original if state is None else state.isr
            copy = RunningCopy(name, running.original, running.adding)
            suspended = catches_up_beside(running.original, stays, isr, look)
            copies.append(ThrottledCopy(copy, leader_throttle_suspended=suspended))
        return copies


def rates_of_others(
    copies: Sequence[ThrottledCopy],
    throttle: MoveThrottle | None,
    ledger: Ledger,
    view: ThrottleInput,
) -> Iterator[Note]:
    """What is said of the rates that another tool has set where these copy."""
    for where, rate in sorted(WantedThrottles.of(copies, throttle).rates.items()):
        configs = view.brokers.get(where[0])
        if configs is None or where in ledger.rates:
            continue
        own, effective = own_value(configs, where[1]), effective_rate(configs, where[1])
        if effective is not None and effective < rate:
            yield SlowerAlready(*where, effective, rate)
        elif own is not None and int(own) > rate:
            yield RateLowered(*where, int(own), rate)
