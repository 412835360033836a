"""Why something waits: what may not begin, what copies or is about to, what is not seen yet, what has no leader."""

from replan.applying.journal.records import RecoveryStep
from replan.applying.reasons.reason import EndReason, HoldReason, Reason
from replan.model.configs import SettingName
from replan.model.control_plane import TopicPermission
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.requests import RequestKind
from replan.wording import capped, count, duration, listed, size

# What may not begin now: gates, slots, and what comes first.


class OthersFirst(HoldReason, frozen=True):
    """It is not looked at yet: others of the plan have their turn before it."""

    def __str__(self) -> str:
        return "others of the plan have their turn first"


class PartitionsFirst(HoldReason, frozen=True):
    """Its topic gets more partitions before anything of it moves."""

    def __str__(self) -> str:
        return "its topic gets more partitions first"


class CoordinatorLoads(HoldReason, frozen=True):
    """It would lead a partition of an internal topic, and is about to load others."""

    routine = True

    broker: BrokerId

    def __str__(self) -> str:
        return (
            f"broker {self.broker} is to lead it, and reads other partitions of internal topics that it has begun to "
            "lead: their groups and transactions come first"
        )


class TopicUnsettled(HoldReason, frozen=True):
    """A topic gets partitions only while nothing runs on it."""

    running: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return (
            "its topic gets partitions only while nothing runs on it; waiting for the reassignment of "
            f"{listed(capped(self.running, str, limit=5))}"
        )


class NewBrokerFenced(HoldReason, frozen=True):
    """A broker that is to receive a replica is fenced."""

    broker: BrokerId

    def __str__(self) -> str:
        return f"broker {self.broker} is to receive a replica and is fenced; start it"


class NewBrokerCordoned(HoldReason, frozen=True):
    """All log directories of a broker that is to receive a replica are cordoned (KIP-1066)."""

    broker: BrokerId

    def __str__(self) -> str:
        return (
            f"broker {self.broker} is to receive a replica and all its log directories are cordoned; "
            "uncordon it, or plan without it"
        )


class WritesWouldStop(HoldReason, frozen=True):
    """With more replicas min ISR would not be met."""

    in_sync: Replicas
    min_insync_replicas: int
    needed: int

    def __str__(self) -> str:
        return (
            f"in sync and live: {list(self.in_sync)}; with min.insync.replicas {self.min_insync_replicas} at least "
            f"{self.needed} are needed before replicas are added, or writes stop for the whole copy; "
            "bring the others back first"
        )


class UncleanElectionPossible(HoldReason, frozen=True):
    """An empty new replica could be elected."""

    topic: str
    in_sync: Replicas

    def __str__(self) -> str:
        few = len(self.in_sync) < 2
        why = f"and only {list(self.in_sync)} is in sync" if few else "and was false when planned"
        return (
            f"unclean.leader.election.enable is true {why}: an empty new replica could be elected; run "
            f"`kafka-configs.sh --alter --entity-type topics --entity-name {self.topic} "
            "--add-config unclean.leader.election.enable=false` first"
            f"{', or bring another replica back' if few else ''}"
        )


class NoRoom(HoldReason, frozen=True):
    """The log directory that Kafka would choose, or that a replica is to go to, has no room; all sizes in bytes."""

    changing = (
        "size",
        "usable",
        "promised",
        "kept_free",
    )

    broker: BrokerId
    path: str
    size: int
    usable: int
    promised: int
    """Of `usable`, to other copies."""
    kept_free: int
    within: bool = False
    """It is to go there from another directory of the broker."""

    def __str__(self) -> str:
        also = f", {self.promised} of them promised to other copies" if self.promised else ""
        chosen = "" if self.within else " (the directory with the fewest logs)"
        return (
            f"broker {self.broker} has no room: {self.size} bytes to {self.path}{chosen}, "
            f"{self.usable} usable{also}, {self.kept_free} must stay free; make room there"
        )


class TopicReassigned(HoldReason, frozen=True):
    """Another tool reassigns its topic, and this version cannot guard a reorder against that (KIP-860)."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        return (
            f"another tool reassigns {listed(self.partitions[:3])}; a cluster before 4.1 cannot guard a reorder "
            "against that; waiting for that to end"
        )


class NoSlot(HoldReason, frozen=True):
    """A broker takes part in as many copies as it may."""

    changing = ("others", "own")

    broker: BrokerId
    limit: int
    usual: int
    """The limit before in-sync replicas were lost."""
    others: tuple[TopicPartition, ...] = ()
    """The partitions of other tools' reassignments that take some of its slots."""
    own: tuple[TopicPartition, ...] = ()
    """Those of another application of replan's, in a rehearsal while that is open."""

    def __str__(self) -> str:
        limit = f"`--slots {self.limit}`"
        if self.limit < self.usual:
            limit = f"{self.limit}, not {self.usual}: in-sync replicas were lost"
        loads = {"other tools reassign": self.others, "replan's open application moves": self.own}
        taken = (
            f"; {who} {listed(capped(names, str, limit=3))}"
            for who, names in loads.items()
            if names
        )
        return f"broker {self.broker} is at its limit ({limit}){''.join(taken)}"


class ThrottleContested(HoldReason, frozen=True):
    """Another tool has removed a throttle twice: nothing new is admitted."""

    places: tuple[tuple[str | BrokerId, str], ...]
    """Topic or broker, and the setting."""

    def __str__(self) -> str:
        named = "; ".join(
            f"{'topic' if isinstance(place, str) else 'broker'} {place}: {key}"
            for place, key in self.places
        )
        return (
            f"another tool removed a throttle twice ({named}); find out which, then rerun to resume"
        )


class OthersUnderMinIsr(HoldReason, frozen=True):
    """Partitions that are not replan's have fallen under their min ISR on brokers that copies load."""

    partitions: tuple[TopicPartition, ...]
    brokers: Replicas

    def __str__(self) -> str:
        named = listed(capped(self.partitions, str, limit=3))
        return (
            f"{count(len(self.partitions), 'partition')} that this plan does not move fell under min ISR on brokers "
            f"that its copies load ({listed(self.brokers)}): {named}; no copy is begun until they are back"
        )


class Paused(HoldReason, frozen=True):
    """Somebody has paused the application: nothing new begins."""

    by: str

    def __str__(self) -> str:
        return f"paused by {self.by}; `replan resume` goes on"


class Cancelling(HoldReason, frozen=True):
    """Somebody has cancelled the application: nothing begins, and what has begun is taken back."""

    by: str

    def __str__(self) -> str:
        return f"cancelled by {self.by}: what is not finished goes back"


class SettingFirst(HoldReason, frozen=True):
    """A standing throttle of its topic or of one of its brokers is set first."""

    routine = True

    setting: SettingName

    def __str__(self) -> str:
        return f"waiting until {self.setting} is set"


class SettingInUse(HoldReason, frozen=True):
    """A move has another value set for a while."""

    def __str__(self) -> str:
        return "a move uses another value for a while; it is set when that is restored"


class MoveFirst(HoldReason, frozen=True):
    """The partition moves to other brokers first."""

    def __str__(self) -> str:
        return "the partition moves to other brokers first"


class Stopping(HoldReason, frozen=True):
    """The application is about to leave."""

    routine = True

    def __str__(self) -> str:
        return "stopping"


# What copies, or is about to: its throttle, its replicas, the settle time.


class NoLeader(HoldReason, frozen=True):
    """It has no leader."""

    refused: str = ""
    """What Kafka says to a cancel of its copy meanwhile; empty where it was not asked, or takes it."""

    def __str__(self) -> str:
        said = self.refused.removesuffix(".")
        refused = f", and Kafka does not let its copy be cancelled ({said})" if said else ""
        return f"no leader{refused}; bring back one of its in-sync replicas"


class AwaitingSync(HoldReason, frozen=True):
    """Replicas that have to be in the ISR are not."""

    missing: Replicas
    fenced: Replicas = ()
    unregistered: Replicas = ()
    without_log: Replicas = ()
    """Live brokers that show no log of it: that disk may be lost (KIP-858)."""

    def __str__(self) -> str:
        verb = "is" if len(self.missing) == 1 else "are"
        parts = [f"waiting until {listed(self.missing)} {verb} in sync"]
        if self.fenced:
            parts.append(f"fenced: {listed(self.fenced)}")
        if self.unregistered:
            parts.append(f"not registered any more: {listed(self.unregistered)}; make a new plan")
        if self.without_log:
            where = listed(self.without_log)
            parts.append(f"no log of it on {where}: check the disks there and restart it")
        return "; ".join(parts)

    @property
    def routine(self) -> bool:
        return not self.fenced and not self.unregistered and not self.without_log


class CopyStopsWrites(HoldReason, frozen=True):
    """min.insync.replicas was raised: with the copy in the list more are needed in sync than there are."""

    in_sync: Replicas
    min_insync_replicas: int
    needed: int

    def __str__(self) -> str:
        return (
            f"min.insync.replicas is {self.min_insync_replicas} now: with the copy in its list writes need "
            f"{self.needed} in sync, and {list(self.in_sync)} are; the copy is taken back"
        )


class CopyNeverEnds(HoldReason, frozen=True):
    """A copy of a partition that is to end waits for brokers that are not registered any more: it is taken back."""

    brokers: Replicas

    def __str__(self) -> str:
        gone = listed(self.brokers)
        return f"not registered any more: {gone}; its copy would never end, and is taken back"


class NeverEnding(HoldReason, frozen=True):
    """Lists of another tool have left a reassignment that Kafka does not end from 4.3 on (KAFKA-19975)."""

    brokers: Replicas
    """Both adding and removing; a cancel takes them out."""

    def __str__(self) -> str:
        return (
            f"another tool's lists have left {listed(self.brokers)} both adding and removing, "
            "which Kafka never ends; cancel this reassignment"
        )


class Confirming(HoldReason, frozen=True):
    """The target is in sync, and has to stay so for the settle time."""

    routine = True
    changing = ("seconds",)

    seconds: float

    def __str__(self) -> str:
        return f"in sync; confirming for {self.seconds:.0f} s"


class CopyGoesOn(HoldReason, frozen=True):
    """It has ended in the middle, and its copy still runs: the throttle stays until that ends."""

    def __str__(self) -> str:
        return "its copy goes on, throttled; waiting for that to end"


class AwaitingThrottle(HoldReason, frozen=True):
    """Its throttle is set, and not read back yet."""

    unread: Replicas = ()
    """Live brokers whose rate could not be read."""
    catching_up: tuple[TopicPartition, ...] = ()
    """Partitions that would come back at one of its rates, because of entries that replan did not set."""
    unanswered: Replicas = ()
    """Brokers that did not answer when they were last asked to set their rate."""

    def __str__(self) -> str:
        if self.catching_up:
            names = ", ".join(capped(self.catching_up, str, limit=5))
            return (
                f"waiting for the throttle, which is lifted while {names} catches up: entries of throttled replicas "
                "that are not of its copies would hold it (replan throttle show)"
            )
        if self.unread:
            silent = f"{count(len(self.unread), 'live broker')} ({listed(self.unread)})"
            what = f"{silent} did not answer when asked for the rate"
        elif self.unanswered:
            silent = f"{count(len(self.unanswered), 'broker')} ({listed(self.unanswered)})"
            what = f"{silent} did not answer when asked to set the rate"
        else:
            return "waiting for the throttle to take effect"
        return f"waiting for the throttle: {what}; the copy does not begin without its throttle"

    @property
    def routine(self) -> bool:
        return not self.unread and not self.catching_up and not self.unanswered


class CopyingInBroker(HoldReason, frozen=True):
    """Its broker copies it to another log directory; bytes."""

    changing = (
        "copied",
        "total",
    )

    copied: int
    total: int

    def __str__(self) -> str:
        return f"its broker copies it: {size(self.copied)} of {size(self.total)}"


class Stalled(Reason, frozen=True):
    """A copy that does not move, and so has given its slots back; it is said beside what it waits for."""

    changing = ("bytes", "seconds")

    broker: BrokerId
    bytes: int | None = None
    """What is there; None where the broker is fenced."""
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.bytes is None:
            return f"broker {self.broker} is fenced; the copy goes on when it is back"
        return (
            f"the replica on broker {self.broker} has been at {self.bytes} bytes for {self.seconds:.0f} s; "
            "check its log and the throttle"
        )


# What was asked for and does not show yet, or what a look has not shown.


class MetadataBehind(HoldReason, frozen=True):
    """The broker that was asked has not caught up with the controller."""

    routine = True

    def __str__(self) -> str:
        return "brokers show older metadata than the controller; rechecking"


class NotPermitted(HoldReason, frozen=True):
    """This user may not read its topic any more, so nothing can be said of it; what was asked for goes on."""

    topic: str
    permission: TopicPermission

    def __str__(self) -> str:
        lacks = f"this user lacks the ACL {self.permission} on Topic {self.topic}"
        return f"{lacks}; waiting until it is granted"


class PartitionsUnseen(HoldReason, frozen=True):
    """New partitions were asked for, and brokers do not show them yet."""

    code: int | None = None
    """Kafka's answer, where it was one that says: look again, or ask again."""
    name: str = ""

    def __str__(self) -> str:
        if self.code is None:
            return "the new partitions do not show yet; rechecking"
        said = f"Kafka answered {self.code} {self.name}"
        return f"{said}; rechecking before partitions are asked for again"


class CreateArrivalPossible(HoldReason, frozen=True):
    """New partitions were asked for and do not show; the request may still arrive, so nothing of them ends."""

    changing = ("seconds",)

    seconds: float

    def __str__(self) -> str:
        return (
            "the new partitions do not show, and the request for them may still arrive; "
            f"watching for {self.seconds:.0f} s more"
        )


class SameListElsewhere(HoldReason, frozen=True):
    """Another tool reassigns it to the list that is wanted."""

    def __str__(self) -> str:
        return "another tool already reassigns it to the same list; waiting for that to end"


class Rechecking(HoldReason, frozen=True):
    """A look has shown what would end it; another one has to agree."""

    suspected: EndReason

    def __str__(self) -> str:
        return f"{self.suspected.suspected}; rechecking"


class EffectUnseen(HoldReason, frozen=True):
    """A request shows no effect yet; before it is asked again another look has to agree."""

    request: RequestKind
    code: int | None = None
    """Kafka's answer, where it was one that says: look again."""
    name: str = ""

    def __str__(self) -> str:
        if self.code is None:
            return f"{self.request} shows no effect yet; rechecking"
        return f"{self.request}: Kafka answered {self.code} {self.name}; rechecking"

    @property
    def routine(self) -> bool:
        return self.code is None


class RejectionPending(HoldReason, frozen=True):
    """Rejected, but an earlier copy of the request may still arrive."""

    changing = ("seconds",)

    code: int
    name: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"rejected with {self.code} {self.name}, but an earlier copy of the request may still arrive; "
            f"waiting {self.seconds:.0f} s more"
        )


class RepeatPending(HoldReason, frozen=True):
    """Nobody knows what became of a request; it is sent again, each time after a longer pause."""

    changing = ("seconds",)

    request: RequestKind
    seconds: float
    refusal: str = ""
    """What the cluster said where it refused the request as a whole: a permission is missing, which may come back."""

    def __str__(self) -> str:
        if not self.refusal:
            again = f"sending it again in {self.seconds:.0f} s"
            return f"the outcome of {self.request} is unknown; {again}"
        said = "; ".join(line.strip().rstrip(".") for line in self.refusal.splitlines())
        return f"{self.request} was refused: {said}; asking again in {self.seconds:.0f} s"


class LookTooOld(HoldReason, frozen=True):
    """Between a look and the requests that follow from it passed more time than may, so nothing was sent."""

    changing = ("seconds",)

    seconds: float
    limit: float

    def __str__(self) -> str:
        return (
            f"what the cluster showed was {self.seconds:.0f} s old before anything could be asked, more than "
            f"{self.limit:.0f} s, so nothing was; see what makes this machine, the cluster or the journal slow"
        )


class OutcomePending(HoldReason, frozen=True):
    """A request may still arrive, so a different one has to wait."""

    changing = ("seconds",)

    request: RequestKind
    replicas: Replicas
    following: RequestKind
    seconds: float

    def __str__(self) -> str:
        unknown = _unknown(self.request, self.replicas)
        return f"{unknown}; {self.following} follows in {self.seconds:.0f} s"


class ArrivalPossible(HoldReason, frozen=True):
    """Nothing more is asked for it; its last request may still arrive, so the application stays for so long."""

    changing = ("seconds",)

    request: RequestKind
    replicas: Replicas
    seconds: float

    def __str__(self) -> str:
        unknown = _unknown(self.request, self.replicas)
        return f"{unknown}; watching for {self.seconds:.0f} s more"


def _unknown(kind: RequestKind, replicas: Replicas) -> str:
    return f"the outcome of {kind} {list(replicas)} is unknown and it may still arrive"


class ClusterSilent(HoldReason, frozen=True):
    """The cluster does not answer; what runs goes on by itself."""

    changing = (
        "seconds",
        "error",
    )

    seconds: float
    error: str
    waits_for: str | None = None
    """Who does not answer although brokers do: the active controller."""
    refuses: bool = False
    """It answers, and refuses what this user asks for."""

    def __str__(self) -> str:
        lasts = f"{self.seconds:.0f} s"
        if self.refuses:
            return f"the cluster has refused what this user asks for, for {lasts}: {self.error}"
        if self.waits_for is None:
            return f"the cluster has not answered for {lasts}: {self.error}"
        return (
            f"{self.waits_for} has not answered for {lasts}, while brokers do; "
            "it goes on when another one has taken over"
        )


class JournalSilent(HoldReason, frozen=True):
    """The journal cannot be written, so nothing is asked for; what runs goes on under its throttles."""

    changing = (
        "seconds",
        "error",
    )

    seconds: float
    error: str

    def __str__(self) -> str:
        lasts = f"the journal has not been writable for {self.seconds:.0f} s"
        return f"{lasts}, so nothing new is asked for: {self.error}"


class SettingUnread(HoldReason, frozen=True):
    """The value of a setting cannot be read now."""

    def __str__(self) -> str:
        return "its value cannot be read now; waiting until it can"


class SettingUnseen(HoldReason, frozen=True):
    """A setting was asked for, and does not show yet or may still be changed by an earlier request."""

    def __str__(self) -> str:
        return "asked for; waiting until it is confirmed"


class ReplicaUnread(HoldReason, frozen=True):
    """A broker does not say in which log directories its replicas lie."""

    broker: BrokerId

    def __str__(self) -> str:
        return f"broker {self.broker} does not say where its replicas lie; waiting until it does"


class NextBatch(HoldReason, frozen=True):
    """A tick asks for no more than this."""

    routine = True

    elections: bool

    def __str__(self) -> str:
        return f"waiting for the next batch{' of elections' if self.elections else ''}"


# What has no leader, and is to be led again.


class LeaderlessTooShort(HoldReason, frozen=True):
    """It is to be without a leader for longer before anything is done about it."""

    changing = ("seconds",)

    wait_seconds: float
    seconds: float
    """What is left of that."""

    def __str__(self) -> str:
        lasted = f"once that has lasted for {duration(self.wait_seconds)}"
        return f"no leader; recovered {lasted}, in {self.seconds:.0f} s"


class LogsSilent(HoldReason, frozen=True):
    """Logs that have to be probed again do not answer."""

    brokers: tuple[BrokerId, ...]

    def __str__(self) -> str:
        one = f"broker {self.brokers[0]} does not say what its log holds"
        several = f"brokers {listed(self.brokers)} do not say what their logs hold"
        return (
            f"{one if len(self.brokers) == 1 else several}, and the plan rests on that; wait until that is answered, "
            "or plan again"
        )


class RecoveryUnseen(HoldReason, frozen=True):
    """What was asked for to recover it does not show yet."""

    routine = True

    step: RecoveryStep

    def __str__(self) -> str:
        return f"{self.step} shows no effect yet; rechecking"


class RecoveryArrivalPossible(HoldReason, frozen=True):
    """A request of it, of unknown outcome, may still arrive, so nothing of it ends and the application stays open."""

    changing = ("seconds",)

    chosen: BrokerId
    """Whom an election that arrives late lets lead."""
    led: bool
    better: tuple[BrokerId, ...]
    """Brokers whose logs turned out to be better than the chosen one's; with an unclean election they are cut."""
    seconds: float
    """For so long."""

    def __str__(self) -> str:
        ahead, chosen = f"watching for {self.seconds:.0f} s more", self.chosen
        if self.better and not self.led:
            one = len(self.better) == 1
            return (
                f"the log{'' if one else 's'} of {listed(self.better)} {'is' if one else 'are'} better than that of "
                f"{chosen}, but the unclean election of {chosen} was asked for and may still arrive, which "
                f"cuts what {chosen} lacks; stop broker {chosen} until this has ended to prevent it; {ahead}"
            )
        led = "led again" if self.led else "no leader"
        return (
            f"{led}; the outcome of an earlier request is unknown and it may still arrive; {ahead}"
        )
