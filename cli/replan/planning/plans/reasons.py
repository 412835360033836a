"""Why a plan leaves a partition out, and what one should know beside it: each with its name and its words.

A refusal carries its measures and limits, a warning what it is about. The facts in its words are the facts that it has,
in a plan file, too: neither is written down a second time.
"""
# ruff: noqa: ISC004 - a comma that is missing between a name and its words is a member that cannot be made

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from string import Formatter

from msgspec import field

from replan.documents.json_text import advice, shown
from replan.documents.typed import Form, Int32, Int64, Text
from replan.model.declared.policy import Measure
from replan.model.declared.rules import BalanceMeasure
from replan.model.names import BrokerId, TopicPartition
from replan.planning.available import Awaited, BrokerDown, Comeback, Unavailable
from replan.wording import NAMES_SHOWN, WordedName, capped, count, left_out


class RefusalRule(WordedName):
    """Why a partition is not planned; most of the rules are in `safety.refusals`."""

    RUNNING = (
        "running",
        "a reassignment to {target} is running on it (adding {adding}, removing {removing}); let it end or cancel it, "
        "then plan again. If it is replan's own, `replan resume` goes on with it",
    )
    """Another tool's reassignment runs on it: held rather than refused."""
    OWN_RUNNING = (
        "own-running",
        "replan's own reassignment to {target} is running on it (adding {adding}, removing {removing}); `replan "
        "resume` goes on with it where no process is at work",
    )
    """What the open application of replan itself has asked for."""
    LEFT_RUNNING = (
        "left-running",
        "a reassignment to {target} is running on it (adding {adding}, removing {removing}), which an application of "
        "replan has begun and left; `replan abandon --cancel-copies` cancels it, then plan again",
    )
    """The same where an application of replan's has begun it, and has ended (`RememberedOrder.left`)."""
    NO_LEADER = (
        "no-leader",
        "no leader, in sync: {inSync}; needs recovery first: bring back one of its in-sync or eligible replicas; "
        "then its list can become {target}",
    )
    TARGET_BELOW_MIN_ISR = (
        "target-below-min-isr",
        "target {target} is shorter than min.insync.replicas {minInsyncReplicas}; declare at least {minInsyncReplicas} "
        "replicas, lower min.insync.replicas, or write `belowMinIsr: true` at the topic",
    )
    UNREGISTERED = (
        "unregistered",
        "target {target} names brokers {brokers}, not registered any more: Kafka takes no list that names them, "
        "not even in another order; declare the partition under `assignments` without them",
    )
    CORDONED = (
        "cordoned",
        "target {target} names brokers {brokers}, all of whose log directories are cordoned; uncordon them, drain "
        "them, or declare a list without them: their replicas can only be dropped",
    )
    SAFE_START = (
        "safe-start",
        "with more replicas than {original}, min.insync.replicas {minInsyncReplicas} needs {needed} in sync: writes "
        "with acks=all would stop for the whole copy; set min.insync.replicas of {its_topic} to {assigned} first and "
        "back afterwards",
    )
    UNCLEAN_GUARD = (
        "unclean-guard",
        "unclean.leader.election.enable is true and only {inSync} is in sync and alive: an empty new replica could be "
        "elected and the data lost; run `kafka-configs.sh --alter --entity-type topics --entity-name {its_topic} "
        "--add-config unclean.leader.election.enable=false` first",
    )
    RACKS_LOST = (
        "racks-lost",
        "its target {target} lies in {available} of the {needed} racks that `require` at {where} wants, and its live "
        "replicas lie in more; add brokers in other racks, take a drain back, or lower `racks`",
    )
    """A drain would take away a rack that `require` wants (`planning.making.required_racks`)."""
    NO_SUBSTITUTE = (
        "no-substitute",
        "no broker can take the place of {brokers}, which is to be drained: the others hold it already, or are fenced, "
        "cordoned or drained; bring one back, add a broker, or declare fewer replicas",
    )
    """The others up to the last: no placement keeps the rule (`placing.problem.Obstacle`)."""
    TOO_FEW_BROKERS = (
        "too-few-brokers",
        "it needs {needed_brokers}, and {available} can hold it ({rule}): bring a broker back, add one, name more "
        "under `brokers`, or lower `replicationFactor`",
    )
    WITHOUT_RACK = (
        "without-rack",
        "the rack of brokers {brokers} is not known, and `spread` goes by racks ({rule}): set broker.rack there, or "
        "take them out of `brokers`",
    )
    RACK_LACKS_BROKERS = (
        "rack-lacks-brokers",
        "rack {rack} must hold {needed_replicas}, and {available} of its brokers can ({rule}): bring a broker back, "
        "add one there, lower its number in `replicasPerRack`, or name fewer racks' brokers under `brokers`",
    )
    RACKS_LACK_BROKERS = (
        "racks-lack-brokers",
        "{needed_racks} must hold one replica more than the others, and {available} can ({rule}): add brokers there, "
        "or lower `replicationFactor`",
    )
    NO_RACK_IS_LARGE_ENOUGH = (
        "no-rack-is-large-enough",
        "`spread: in-rack` needs a rack with {needed_brokers} that can hold it, and the largest has {available} "
        "({rule}): add brokers there, or lower `replicationFactor`",
    )
    TOPIC_CROWDS_BROKERS = (
        "topic-crowds-brokers",
        "`maxReplicasPerBroker` lets brokers {brokers} hold {available_replicas} of its topic together, and "
        "{needed} have nowhere else to lie ({rule}): raise it, bring a broker back, add one, name more under "
        "`brokers`, or lower `replicationFactor`",
    )
    BROKERS_FULL = (
        "brokers-full",
        "a broker may hold {available_replicas} ({where}), and with the new partitions of its topic ({rule}) brokers "
        "{brokers} would hold more, one of them {needed}, and partitions cannot be taken away again: raise "
        "`maxReplicasPerBroker`, lower `partitionCount`, or add brokers",
    )
    """It is to be created where brokers would hold more than `balance` lets them."""
    TOPIC_RUNNING = (
        "topic-running",
        "a topic gets partitions only while nothing runs on it, and reassignments run on {count} of its partitions "
        "({partitions}); let them end, then plan again",
    )
    """It is to be created, and a reassignment runs on its topic: held rather than refused."""
    FACTORS_DIFFER = (
        "factors-differ",
        "the partitions of its topic have {factors} replicas, and Kafka takes a new one only with as many as one of "
        "them: let the moves of this plan make them equal, then plan again",
    )
    """It is to be created, and the partitions of its topic have different numbers of replicas."""
    NO_PARTITIONS = (
        "no-partitions",
        "its topic shows no partition, and Kafka gives a new one as many replicas as the others have; look again, and "
        "create the topic again if it has none",
    )
    """The same where its topic shows none, so that nobody knows how many replicas Kafka wants."""
    COUNT_IS_FIXED = (
        "count-is-fixed",
        "the number of partitions of {its_topic} must stay {observed}, and {declared} are declared ({rule}): its "
        "records are found by that number, so with another one what groups have committed, transactions and the like "
        "are lost when brokers restart; declare {observed}, or leave it out",
    )
    """It is to be created, and its topic's records are found by the number of partitions (`names.has_fixed_count`)."""
    NO_ROOM = (
        "no-room",
        "broker {broker} has no room for its {bytes} bytes: {path}, where Kafka makes its next replica, takes {usable} "
        "with a tenth kept free, when everything that can leave it has left; make room, or choose another broker",
    )
    NO_ROOM_BEFORE = (
        "no-room-before",
        "broker {broker} has no room for its {bytes} bytes ({path} takes {usable}) before {aside} has left it, which "
        "waits for room itself; move {aside} aside first, to a broker with room, then plan again",
    )
    """Its room is taken by a replica that waits for room itself: that one must be moved aside first."""
    NO_ROOM_IN_LOG_DIRS = (
        "no-room-in-log-dirs",
        "its replica on broker {broker} is to leave {path} and does not fit into another directory there: it has "
        "{bytes} bytes, and of those that take replicas (not cordoned, not offline) none takes more than {largest} "
        "with a tenth kept free; make room, uncordon one, or drain the broker",
    )
    """It is to leave a log directory, and fits into no other of its broker."""
    BEYOND_LIMIT = (
        "beyond-limit",
        "its change alone is beyond a limit, so no stage has it: {measure} {amount}, limit {limit} ({where}); raise "
        "the limit, or allow it for one plan: --allow {measure}={found}",
    )
    """A plan is made in stages, and its change is beyond a limit all by itself."""
    RECOVERY_REASSIGNED = (
        "recovery-reassigned",
        "no leader, and a reassignment runs on it, so its list stays: by that list Kafka elects {brokers}, which is "
        "not the one to be chosen, or is only being added; bring back a replica that was in sync, or see what "
        "`replan elect unclean` would lose, which lets no replica lead that is being added",
    )
    """The others up to the last: nobody is chosen to lead it again (`recovery.choose.RecoveryObstacle`)."""
    BETTER_MAY_RETURN = (
        "better-may-return",
        "brokers {brokers} may have a better log, and do not say; bring them back, or give them up by name with "
        "`replan elect best-log --give-up-on`: what only they have is lost then",
    )
    NO_LOG_KNOWN = (
        "no-log-known",
        "no live replica says what its log holds, of brokers {brokers}; bring one of them back",
    )
    NO_SUCH_REPLICA = (
        "no-such-replica",
        "brokers {brokers}, named to lead it, hold no replica of it; name one of its replicas",
    )
    CHOSEN_NOT_LIVE = (
        "chosen-not-live",
        "broker {brokers} is to lead it and is not live; start it, or name another replica",
    )
    CHOSEN_UNKNOWN = (
        "chosen-unknown",
        "broker {brokers} would lead it and does not say what its log holds; silence is not taken for an empty log: "
        "find out why, or name another replica with `replan elect designated`",
    )
    FEWER_PARTITIONS = (
        "fewer-partitions",
        "the topic has more partitions ({observed}) than are declared ({declared}; {rule}): Kafka cannot remove any, "
        "as their records would be lost; declare {observed}, or no number: lists by partition, no `partitionCount`",
    )
    """`partitionCount` is below what the topic has."""
    PREFERRED_UNAVAILABLE = (
        "preferred-unavailable",
        "its preferred replica {broker} is not available: {unavailable} (in sync: {inSync}); ask again once it is in "
        "sync",
    )
    """A preferred election is asked for, and Kafka would answer it with 80 (PREFERRED_LEADER_NOT_AVAILABLE)."""
    DESIGNATED_UNAVAILABLE = (
        "designated-unavailable",
        "replica {broker} cannot lead it: {unavailable} (in sync: {inSync}); ask again once it is in sync",
    )
    """The same of a replica that was named, and is not the first of the list."""
    LEADER_BLACKLISTED = (
        "leader-blacklisted",
        "replica {broker}, which would lead, is on the leader blacklist ({where}); `replan plan` puts another one "
        "first",
    )
    """An election is asked for, and who would lead is on the leader blacklist."""
    NO_SUCH_PARTITION = (
        "no-such-partition",
        "the cluster has no such partition; check topic and number",
    )
    """An election is asked for of a partition that does not exist."""


class WarningKind(WordedName):
    """What stops nothing, and should be known."""

    LEADERLESS = (
        "leaderless",
        "no leader: {named_partitions}; no move helps there: bring back a broker that was in sync, or see what "
        "`replan elect best-log` could do",
    )
    HIDDEN = (
        "hidden",
        "Describe is not allowed on {named_topics}: nothing here says anything of these topics; this user needs the "
        "ACL Describe on Topic",
    )
    """Topics that this user may not describe: nothing is known of them."""
    BROKER_DOWN = "broker-down", "{down}"
    """A broker does not serve: fenced, or named by lists and not registered."""
    AWAITED = "awaited", "{awaited}: {named_partitions}"
    """Which broker Kafka elects by itself, once it is back, for partitions without a leader."""
    FENCED_TARGET = (
        "fenced-target",
        "broker {broker} is fenced: replicas are added to it only once it is back",
    )
    UNCLEAN_ELECTION = (
        "unclean-election",
        "unclean.leader.election.enable is true for {named_topics}: Kafka itself may elect a replica that lost "
        "records; consider setting it to false",
    )
    CONVERGING = (
        "converging",
        "a reassignment to the declared list is already running: {named_partitions}",
    )
    ENTRY_UNREGISTERED = (
        "entry-unregistered",
        "{where}: broker {broker} is not registered; its entry does nothing",
    )
    BLACKLIST_REVIEW_DUE = (
        "blacklist-review-due",
        "{where}: the blacklist entry of broker {broker} was to be reviewed by {reviewBy}, and no date ends it; take "
        "it out, or give it another date",
    )
    BLACKLIST_CAUGHT_UP = (
        "blacklist-caught-up",
        "{where}: broker {broker} is in sync for every partition that its blacklist entry reaches, so the entry has "
        "ended (until: caught-up); take it out",
    )
    BLACKLIST_STAYS = (
        "blacklist-stays",
        "the placement does not say who is on the leader blacklist (blacklists.leaders), so it goes on for brokers "
        "{brokers} in {named_partitions}; list them, or write `blacklists: {{leaders: []}}` to end it",
    )
    """The placement has no `blacklists.leaders`, and an earlier one has changed orders."""
    PREFERRED_BLACKLISTED = (
        "preferred-blacklisted",
        "{where}: broker {broker} is the preferred leader of {partition} and on the leader blacklist, which wins; take "
        "one of the two out",
    )
    PREFERRED_LAST = (
        "preferred-last",
        "{where}: broker {broker} is the preferred leader of {partition} and among `lastLeaders`, which wins; take one "
        "of the two out",
    )
    PREFERRED_DRAINED = (
        "preferred-drained",
        "{where}: broker {broker} is the preferred leader of {partition} and is to be drained, which wins; name "
        "another leader, or none",
    )
    MATCHES_NOTHING = (
        "matches-nothing",
        "{where}: {section}: {name} means no topic or partition of the cluster, so it does nothing",
    )
    """An entry means no topic or partition of the cluster."""
    STAY_TOGETHER = (
        "stay-together",
        "{where}: {topics} are declared apart, share brokers {brokers}, and no rule places them: they stay there; "
        "place all but one of them by rule, or list other brokers",
    )
    """Topics that are declared apart, share brokers, and are placed by no rule."""
    DRAIN_UNREGISTERED = (
        "drain-unregistered",
        "{where}: broker {broker} is not registered; where no list names it any more, take its entry out",
    )
    """A broker is to hold nothing, and is not registered."""
    WEIGHTS_ALONE = (
        "weights-alone",
        "{where}: `balance` with weights alone does nothing; declare `replicas`, `bytes` or another measure as well",
    )
    """`balance` has weights, and balances nothing."""
    BALANCES_NOTHING = (
        "balances-nothing",
        "{where}: `balance` does nothing: it moves topics that are placed by rule, and none is",
    )
    """`balance` without a topic that is placed by rule."""
    NEEDS_RATES = (
        "needs-rates",
        "{where}: not balanced by {measures}: nobody has said what producers write. `replan plan --measure 60s "
        "--save-rates rates.json` measures it, and --rates rates.json brings it to plan, apply, drift and explain; "
        "`replan fleet rates` finds it in a lake of snapshots, and --rates LAKE brings that",
    )
    """`balance` goes by what producers write, and nobody has said what that is."""
    RATES_UNKNOWN = (
        "rates-unknown",
        "{where}: the rates do not say what producers write to {named_partitions}; the balance takes it that nobody "
        "does",
    )
    """Of some partitions that are balanced by what producers write, nobody knows what that is."""
    UNKNOWN_RACK = (
        "unknown-rack",
        "{where}: no registered broker is in rack {rack}; it is as if it were not named",
    )
    RACK_NOT_TOLD = (
        "rack-not-told",
        "{named_partitions} kept without a change, and nothing balanced: Kafka does not tell the racks of brokers "
        "{brokers} while they are down, so whether a rule that counts racks is kept shows when they are back",
    )
    """A broker is down whose rack Kafka does not tell: what it holds is kept, and judged when it is back."""
    FEWER_RACKS = (
        "fewer-racks",
        "`require` at {where} wants {racks} racks, and the brokers that may hold replicas leave fewer to "
        "{named_partitions}, whose live replicas lie in no more; add brokers in other racks",
    )
    BALANCE = "balance", "{balance}"
    """How near the balance comes, where that is not as near as is asked for."""
    RACKS_LEFT = (
        "racks-left",
        "{named_partitions}: the replicas end in fewer racks than now ({racks}), and the brokers that may hold them "
        "leave no other way; name `brokers` in other racks, or keep a drained one",
    )
    """Replicas that a rule or a drain places end in fewer racks than they are in, as there is no other way."""
    MIN_ISR_ABOVE_REPLICAS = (
        "min-isr-above-replicas",
        "min.insync.replicas {minInsyncReplicas} is above the number of replicas of {named_topics}: with {replicas} "
        "in sync, writes with acks=all succeed there; lower min.insync.replicas, or declare more replicas",
    )
    STANDING_UNREAD = (
        "standing-unread",
        "{where}: broker {broker} is not registered, fenced, or did not answer; its standing rate is not judged",
    )
    STANDING_WITHOUT_REPLICAS = (
        "standing-without-replicas",
        "{where}: the standing {side} rate of broker {broker} slows nothing down: no replica there is throttled on "
        "that side; list replicas of it under `throttles.standing.topics`, or take the rate out",
    )
    """A standing rate of a broker on which no replica is throttled."""
    LOG_DIR_UNREAD = (
        "log-dir-unread",
        "{where}: broker {broker} does not say what lies in {path} (fenced, silent, or the directory is offline); "
        "nothing is planned for it. If its disk is lost, replace it, or drain the broker",
    )
    LOG_DIR_UNCORDONED = (
        "log-dir-uncordoned",
        "{where}: {path} of broker {broker} still takes new replicas, and Kafka makes them in the directory with the "
        "fewest logs: cordon it (cordoned.log.dirs, Kafka 4.3), or begin nothing else on the broker until it is empty",
    )
    ACKNOWLEDGED = (
        "acknowledged",
        "{where}: acknowledged until {expires} ({reason}), so neither reported nor planned: {named_partitions}",
    )
    ACKNOWLEDGEMENT_EXPIRED = (
        "acknowledgement-expired",
        "{where}: the acknowledgement of {acknowledged} expired on {expires} and covers nothing any more; take it out",
    )
    ELECTION_NOT_NEEDED = (
        "election-not-needed",
        "no election is needed, as they are led already: {named_partitions}",
    )
    STILL_DECLARED = (
        "still-declared",
        "the placement still declares what this plan goes back from: the next plan from it would go forward again; "
        "change it, or take back its commit (back to before application {application})",
    )
    """A plan goes back, and the placement still declares what it goes back from."""
    PARTITIONS_STAY = (
        "partitions-stay",
        "{topic}: its partitions from {first_created} on were created and stay: Kafka cannot remove partitions",
    )
    """A plan goes back, and Kafka cannot remove the partitions that were created."""
    SETTING_CHANGED_SINCE = (
        "setting-changed-since",
        "{setting} was changed by somebody since, to {found}, and is left as it is",
    )
    """The same for a throttle setting."""
    CHANGED_SINCE = (
        "changed-since",
        "changed by somebody since, and left as they are: {named_partitions}",
    )
    """A plan goes back, and these were changed by somebody since: they are left as they are."""
    FIRST_LEADS_ON = (
        "first-leads-on",
        "not led by the first of their list before, and led by it now, which stays so: Kafka elects no other replica "
        "while that one is in sync: {named_partitions}",
    )
    """A plan goes back, and these were not led by the first of their list, as they are now."""
    LOG_DIRS_STAY = (
        "log-dirs-stay",
        "replicas that went to other log directories of their brokers stay there: {named_partitions}",
    )
    """A plan goes back, and replicas of these stay in the log directories of their broker where they lie now."""
    RECOVERIES_STAY = (
        "recoveries-stay",
        "led again by an election, which nothing takes back: {named_partitions}; the next plan from the placement "
        "restores the order of the list",
    )
    """A plan goes back, and nothing takes back the elections by which these are led again."""
    NOTHING_LEFT = (
        "nothing-left",
        "nothing is left to go back of what was done since before application {application}; "
        "`--to` names an earlier one",
    )
    """A plan goes back, and is empty: nothing was changed, or all of it is as it was."""
    MORE_STAGES = (
        "more-stages",
        "this is what the limits allow at once; left for later: {count} (stages still to come: {stages} or more). "
        "Apply it, then plan again",
    )
    """What the limits leave for later plans."""
    JOURNAL_MADE = (
        "journal-made",
        "the journal topic {topic} does not exist: `replan apply` makes it, one compacted partition on {replicas}",
    )
    """The topic of the journal does not exist: whoever applies the plan makes it, on these brokers."""


FactValue = Int64 | str | tuple[Int32 | str, ...]
"""A list is of brokers or of texts."""
Facts = Mapping[str, FactValue]
"""Measures and limits by name, as plan files spell them; `partitions` and `topics` name the first of `count`."""

CAUSES_SHOWN = 8
OF_REFUSAL = "its_topic"
"""What the words of a rule may say without a fact."""


def balance_text(
    where: str,
    measure: str,
    asked: str,
    reached: str,
    brokers: tuple[int, ...],
    proved: str,
    rules: tuple[str, ...],
    closed: tuple[str, ...],
    held: tuple[str, ...],
) -> str:
    """How near the balance comes, what is in the way, and what to do."""
    named = ", ".join(capped(brokers, str, limit=CAUSES_SHOWN))
    nearest = "moves come" if proved == "yes" else "a search that proves nothing came"
    ways = [*(f"broker {one}" for one in closed), *held, *rules]
    written = BalanceMeasure(measure).written.format(reached)
    in_the_way = f" In the way: {'; '.join(ways)}." if ways else ""
    wish = f"{measure} lie within {asked} of the brokers' shares"
    far = "further than asked"
    if measure == BalanceMeasure.MAX_REPLICAS:
        wish, far = f"no broker hold more than {asked} replicas", "more than asked"
    return (
        f"balance: {where} asks that {wish}, and {nearest} as "
        f"near as {reached} ({far}: brokers {named}).{in_the_way} Write `{written}`, or "
        "change what is in the way"
    )


def _named(noun: str, names: tuple[str, ...], number: int) -> str:
    return f"{count(number, noun)} ({' '.join([', '.join(map(str, names)), *left_out(number - len(names))])})"


def _down(broker: int, registered: str, *numbers: int) -> str:
    return str(BrokerDown(BrokerId(broker), registered == "yes", *numbers))


DERIVED: Mapping[str, tuple[tuple[str, ...], Callable[..., object]]] = {
    "needed_brokers": (("needed",), lambda number: count(number, "broker")),
    "needed_racks": (("needed",), lambda number: count(number, "rack")),
    "needed_replicas": (("needed",), lambda number: count(number, "replica")),
    "available_replicas": (("available",), lambda number: count(number, "replica")),
    "named_partitions": (("partitions", "count"), partial(_named, "partition")),
    "named_topics": (("topics", "count"), partial(_named, "topic")),
    "assigned": (("original",), len),
    "unavailable": (("why",), lambda why: Unavailable(why).words),
    "amount": (("measure", "found", "most"), lambda of, *numbers: Measure(of).amounts(*numbers)[0]),
    "limit": (("measure", "found", "most"), lambda of, *numbers: Measure(of).amounts(*numbers)[1]),
    "first_created": (("before", "count"), lambda before, _: before),
    "awaited": (("why", "brokers"), lambda why, brokers: Awaited(Comeback(why), brokers)),
    "down": (("broker", "registered", "replicas", "withoutLeader", "underMinIsr"), _down),
    "balance": (
        ("where", "measure", "asked", "reached", "brokers", "proved", "rules", "closed", "held"),
        balance_text,
    ),
}
"""What words say that is not a fact as it stands: the facts that it is made of, and how."""


@cache
def _names(words: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in Formatter().parse(words) if name)


@cache
def fact_names(of: RefusalRule | WarningKind) -> tuple[str, ...]:
    """Which facts a rule or a kind has: those that are in its words."""
    named = [DERIVED[n][0] if n in DERIVED else (n,) for n in _names(of.words) if n != OF_REFUSAL]
    return tuple(dict.fromkeys(chain.from_iterable(named)))


def _sentence(of: RefusalRule | WarningKind, facts: Facts) -> str:
    said: dict[str, object] = {n: list(f) if isinstance(f, tuple) else f for n, f in facts.items()}
    for name in _names(of.words):
        if name in DERIVED:
            made_of, make = DERIVED[name]
            said[name] = make(*(facts[fact] for fact in made_of))
    return of.words.format(**said)


def _check_facts(of: RefusalRule | WarningKind, facts: Facts) -> None:
    for name in fact_names(of):
        if name not in facts:
            raise ValueError(f'.facts: "{name}" is missing')
    for name, fact in facts.items():
        if name not in fact_names(of):
            raise ValueError(f".facts: unknown key {shown(name)}; {advice(name, fact_names(of))}")
        if isinstance(fact, tuple) and len(set(map(type, fact))) > 1:
            raise ValueError(f".facts.{name}: expected brokers or texts, not both")


class Refusal(Form, frozen=True):
    """A partition that the plan does not serve, and why, with exactly the facts of its rule."""

    topic: Text
    number: Int32 = field(name="partition")
    rule: RefusalRule
    """The rule that refuses it; `running` means that another party is in the way."""
    facts: Facts

    def __post_init__(self) -> None:
        _check_facts(self.rule, self.facts)

    def __str__(self) -> str:
        """One sentence or two, complete with the partition: `orders-7: no leader, …`."""
        return f"{self.partition}: {_sentence(self.rule, {**self.facts, OF_REFUSAL: self.topic})}"

    @property
    def partition(self) -> TopicPartition:
        """Which partition."""
        return TopicPartition(self.topic, self.number)

    @property
    def of_the_list(self) -> bool:
        """Whether it is about the partition's replica list, so that no move can be planned beside it."""
        return self.rule not in {
            RefusalRule.FEWER_PARTITIONS,
            RefusalRule.NO_ROOM_IN_LOG_DIRS,
            RefusalRule.BEYOND_LIMIT,
        }

    @property
    def held(self) -> bool:
        """Whether another party is in the way, or the open application: exit 4 rather than 3."""
        return self.rule in {
            RefusalRule.RUNNING,
            RefusalRule.OWN_RUNNING,
            RefusalRule.LEFT_RUNNING,
            RefusalRule.TOPIC_RUNNING,
            RefusalRule.RECOVERY_REASSIGNED,
        }

    @property
    def held_by_others(self) -> bool:
        """Whether what is in the way is another party's, and not replan's own."""
        return self.held and self.rule not in {RefusalRule.OWN_RUNNING, RefusalRule.LEFT_RUNNING}


class PlanWarning(Form, frozen=True):
    """What a person should know beside the moves and the refusals, with exactly the facts of its kind."""

    kind: WarningKind
    facts: Facts

    def __post_init__(self) -> None:
        _check_facts(self.kind, self.facts)

    def __str__(self) -> str:
        """One line, complete in itself."""
        return _sentence(self.kind, self.facts)


def first_named(noun: str, names: Sequence[object]) -> Facts:
    """The first of `partitions` or `topics`, and how many there are."""
    return {noun: tuple(map(str, names[:NAMES_SHOWN])), "count": len(names)}


def left_out_text(refusals: Iterable[Refusal]) -> str:
    """How many partitions a plan leaves out: `1 partition refused, 2 held`; empty where none."""
    held_of = {r.partition: r.held for r in refusals}
    held = sum(held_of.values())
    parts = [f"{count(len(held_of) - held, 'partition')} refused"] if len(held_of) > held else []
    parts += [f"{count(held, 'partition')} held"] if held else []
    return ", ".join(parts)
