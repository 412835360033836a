"""Refusals, warnings, conflicts and risks of plans as sentences, each rendered once; reports put them in place."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from replan.model.declared.policy import GB, Measure, Prices
from replan.model.names import BrokerId, TopicPartition
from replan.planning.elections.available import UNAVAILABLE_WORDS, Unavailable
from replan.planning.findings.health import BrokerDown, Comeback
from replan.planning.findings.risks import Risk, RiskKind
from replan.planning.plans.conflicts import (
    Conflict,
    Constraint,
    ConstraintKind,
    Lack,
    Proof,
    Shortage,
)
from replan.planning.plans.plan import (
    Facts,
    FactValue,
    Plan,
    PlanWarning,
    Refusal,
    RefusalRule,
    WarningKind,
)
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.lines import aligned_lines
from replan.wording import (
    LINES_LISTED,
    NAMES_SHOWN,
    capped,
    count,
    left_out,
    listed,
    plural,
    ranges,
    size,
)


def broker_down_text(down: BrokerDown) -> str:
    """Which broker is down, and what it holds; without a full stop."""
    state = "is down" if down.registered else "is not registered"
    held = f"{count(down.replicas, 'replica')} on it" if down.replicas else "no replica on it"
    ill = [
        f"{number:,} {text}"
        for number, text in (
            (down.leaderless, "without a leader"),
            (down.under_min_isr, "under min ISR"),
        )
        if number
    ]
    partitions = f"; of its partitions {' and '.join(ill)}" if ill else ""
    return f"broker {down.broker} {state}: {held}{partitions}"


def broker_down_json(down: BrokerDown) -> Mapping[str, object]:
    """The fields of a JSON document."""
    return {
        "broker": down.broker,
        "registered": down.registered,
        "replicas": down.replicas,
        "withoutLeader": down.leaderless,
        "underMinIsr": down.under_min_isr,
    }


def unclean_text(topics: Sequence[str]) -> str:
    """Topics where unclean election is on, and what that means."""
    return (
        f"unclean.leader.election.enable is true for {count(len(topics), 'topic')} "
        f"({', '.join(capped(topics, limit=LINES_LISTED))}): Kafka itself may elect a replica that lost records"
    )


def elr_gone_text(partitions: Sequence[TopicPartition]) -> str:
    """Partitions whose ELR has been cleared, and by what."""
    named = ", ".join(capped(partitions, str, limit=LINES_LISTED))
    return (
        f"no eligible replica although under min ISR: {count(len(partitions), 'partition')} ({named}): a change of "
        "min.insync.replicas clears the ELR of a topic, as an unclean election or unclean restarts do"
    )


REFUSALS: Mapping[RefusalRule, str] = {
    RefusalRule.RUNNING: (
        "a reassignment to {target} is running on it (adding {adding}, removing {removing}); let it end or cancel it, "
        "then plan again. If it is replan's own, `replan resume` goes on with it"
    ),
    RefusalRule.OWN_RUNNING: (
        "replan's own reassignment to {target} is running on it (adding {adding}, removing {removing}); `replan "
        "resume` goes on with it where no process is at work"
    ),
    RefusalRule.LEFT_RUNNING: (
        "a reassignment to {target} is running on it (adding {adding}, removing {removing}), which an application of "
        "replan has begun and left; `replan abandon --cancel-copies` cancels it, then plan again"
    ),
    RefusalRule.NO_LEADER: (
        "no leader, in sync: {inSync}; needs recovery first: bring back one of its in-sync or eligible replicas; "
        "then its list can become {target}"
    ),
    RefusalRule.TARGET_BELOW_MIN_ISR: (
        "target {target} is shorter than min.insync.replicas {minInsyncReplicas}; declare at least {minInsyncReplicas} "
        "replicas, lower min.insync.replicas, or write `belowMinIsr: true` at the topic"
    ),
    RefusalRule.UNREGISTERED: (
        "its list {original} names brokers {brokers}, not registered any more: Kafka takes no list that keeps them, "
        "not even in another order; declare the partition under `assignments` without them"
    ),
    RefusalRule.CORDONED: (
        "target {target} names brokers {brokers}, all of whose log directories are cordoned; uncordon them, drain "
        "them, or declare a list without them: their replicas can only be dropped"
    ),
    RefusalRule.SAFE_START: (
        "with more replicas than {original}, min.insync.replicas {minInsyncReplicas} needs {needed} in sync: writes "
        "with acks=all would stop for the whole copy; set min.insync.replicas of {topic} to {assigned} first and back "
        "afterwards"
    ),
    RefusalRule.UNCLEAN_GUARD: (
        "unclean.leader.election.enable is true and only {inSync} is in sync and alive: an empty new replica could be "
        "elected and the data lost; run `kafka-configs.sh --alter --entity-type topics --entity-name {topic} "
        "--add-config unclean.leader.election.enable=false` first"
    ),
    RefusalRule.RACKS_LOST: (
        "its target {target} lies in {available} of the {needed} racks that `require` at {where} wants, and its live "
        "replicas lie in more; add brokers in other racks, take a drain back, or lower `racks`"
    ),
    RefusalRule.NO_SUBSTITUTE: (
        "no broker can take the place of {brokers}, which is to be drained: the others hold it already, or are fenced, "
        "cordoned or drained; bring one back, add a broker, or declare fewer replicas"
    ),
    RefusalRule.TOO_FEW_BROKERS: (
        "it needs {needed_brokers}, and {available} can hold it ({rule}): bring a broker back, add one, name more "
        "under `brokers`, or lower `replicationFactor`"
    ),
    RefusalRule.WITHOUT_RACK: (
        "the rack of brokers {brokers} is not known, and `spread` goes by racks ({rule}): set broker.rack there, or "
        "take them out of `brokers`"
    ),
    RefusalRule.RACK_LACKS_BROKERS: (
        "rack {rack} must hold {needed_replicas}, and {available} of its brokers can ({rule}): bring a broker back, "
        "add one there, lower its number in `replicasPerRack`, or name fewer racks' brokers under `brokers`"
    ),
    RefusalRule.RACKS_LACK_BROKERS: (
        "{needed_racks} must hold one replica more than the others, and {available} can ({rule}): add brokers there, "
        "or lower `replicationFactor`"
    ),
    RefusalRule.NO_RACK_IS_LARGE_ENOUGH: (
        "`spread: in-rack` needs a rack with {needed_brokers} that can hold it, and the largest has {available} "
        "({rule}): add brokers there, or lower `replicationFactor`"
    ),
    RefusalRule.TOPIC_CROWDS_BROKERS: (
        "`maxReplicasPerBroker` lets brokers {brokers} hold {available_replicas} of its topic together, and "
        "{needed} have nowhere else to lie ({rule}): raise it, bring a broker back, add one, name more under "
        "`brokers`, or lower `replicationFactor`"
    ),
    RefusalRule.BROKERS_FULL: (
        "a broker may hold {available_replicas} ({where}), and with the new partitions of its topic ({rule}) brokers "
        "{brokers} would hold more, one of them {needed}, and partitions cannot be taken away again: raise "
        "`maxReplicasPerBroker`, lower `partitionCount`, or add brokers"
    ),
    RefusalRule.TOPIC_RUNNING: (
        "a topic gets partitions only while nothing runs on it, and reassignments run on {count} of its partitions "
        "({partitions}); let them end, then plan again"
    ),
    RefusalRule.FACTORS_DIFFER: (
        "the partitions of its topic have {factors} replicas, and Kafka takes a new one only with as many as one of "
        "them: let the moves of this plan make them equal, then plan again"
    ),
    RefusalRule.RECOVERY_REASSIGNED: (
        "no leader, and a reassignment runs on it, so its list stays: by that list Kafka elects {brokers}, which is "
        "not the one to be chosen, or is only being added; bring back a replica that was in sync, or see what "
        "`replan elect unclean` would lose, which lets no replica lead that is being added"
    ),
    RefusalRule.BETTER_MAY_RETURN: (
        "brokers {brokers} may have a better log, and do not say; bring them back, or give them up by name with "
        "`replan elect best-log --give-up-on`: what only they have is lost then"
    ),
    RefusalRule.NO_LOG_KNOWN: (
        "no live replica says what its log holds, of brokers {brokers}; bring one of them back"
    ),
    RefusalRule.NO_SUCH_REPLICA: (
        "brokers {brokers}, named to lead it, hold no replica of it; name one of its replicas"
    ),
    RefusalRule.CHOSEN_NOT_LIVE: (
        "broker {brokers} is to lead it and is not live; start it, or name another replica"
    ),
    RefusalRule.CHOSEN_UNKNOWN: (
        "broker {brokers} would lead it and does not say what its log holds; silence is not taken for an empty log: "
        "find out why, or name another replica with `replan elect designated`"
    ),
    RefusalRule.NO_PARTITIONS: (
        "its topic shows no partition, and Kafka gives a new one as many replicas as the others have; look again, and "
        "create the topic again if it has none"
    ),
    RefusalRule.COUNT_IS_FIXED: (
        "the number of partitions of {topic} must stay {observed}, and {declared} are declared ({rule}): its records "
        "are found by that number, so with another one what groups have committed, transactions and the like are lost "
        "when brokers restart; declare {observed}, or leave it out"
    ),
    RefusalRule.NO_ROOM: (
        "broker {broker} has no room for its {bytes} bytes: {path}, where Kafka makes its next replica, takes {usable} "
        "with a tenth kept free, when everything that can leave it has left; make room, or choose another broker"
    ),
    RefusalRule.NO_ROOM_BEFORE: (
        "broker {broker} has no room for its {bytes} bytes ({path} takes {usable}) before {aside} has left it, which "
        "waits for room itself; move {aside} aside first, to a broker with room, then plan again"
    ),
    RefusalRule.NO_ROOM_IN_LOG_DIRS: (
        "its replica on broker {broker} is to leave {path} and does not fit into another directory there: it has "
        "{bytes} bytes, and of those that take replicas (not cordoned, not offline) none takes more than {largest} "
        "with a tenth kept free; make room, uncordon one, or drain the broker"
    ),
    RefusalRule.BEYOND_LIMIT: (
        "its change alone is beyond a limit, so no stage has it: {measure} {amount}, limit {limit} ({where}); raise "
        "the limit, or allow it for one plan: --allow {measure}={found}"
    ),
    RefusalRule.FEWER_PARTITIONS: (
        "the topic has more partitions ({observed}) than are declared ({declared}; {rule}): Kafka cannot remove any, "
        "as their records would be lost; declare {observed}, or no number: lists by partition, no `partitionCount`"
    ),
    RefusalRule.PREFERRED_UNAVAILABLE: (
        "its preferred replica {broker} is not available: {reason} (in sync: {inSync}); ask again once it is in sync"
    ),
    RefusalRule.DESIGNATED_UNAVAILABLE: (
        "replica {broker} cannot lead it: {reason} (in sync: {inSync}); ask again once it is in sync"
    ),
    RefusalRule.LEADER_BLACKLISTED: (
        "replica {broker}, which would lead, is on the leader blacklist ({where}); `replan plan` puts another one first"
    ),
    RefusalRule.NO_SUCH_PARTITION: "the cluster has no such partition; check topic and number",
}

WARNINGS: Mapping[WarningKind, str] = {
    WarningKind.LEADERLESS: (
        "no leader: {named}; no move helps there: bring back a broker that was in sync, or see what "
        "`replan elect best-log` could do"
    ),
    WarningKind.HIDDEN: (
        "Describe is not allowed on {named}: nothing here says anything of these topics; this user needs the ACL "
        "Describe on Topic"
    ),
    WarningKind.BROKER_DOWN: "{down}",
    WarningKind.AWAITED: "{comeback}: {named}",
    WarningKind.FENCED_TARGET: "broker {broker} is fenced: replicas are added to it only once it is back",
    WarningKind.UNCLEAN_ELECTION: (
        "unclean.leader.election.enable is true for {named}: Kafka itself may elect a replica that lost records; "
        "consider setting it to false"
    ),
    WarningKind.CONVERGING: "a reassignment to the declared list is already running: {named}",
    WarningKind.ENTRY_UNREGISTERED: (
        "{where}: broker {broker} is not registered; its entry does nothing"
    ),
    WarningKind.MATCHES_NOTHING: (
        "{where}: {section}: {name} means no topic or partition of the cluster, so it does nothing"
    ),
    WarningKind.STAY_TOGETHER: (
        "{where}: {topics} are declared apart, share brokers {brokers}, and no rule places them: they stay there; "
        "place all but one of them by rule, or list other brokers"
    ),
    WarningKind.DRAIN_UNREGISTERED: (
        "{where}: broker {broker} is not registered; where no list names it any more, take its entry out"
    ),
    WarningKind.WEIGHTS_ALONE: (
        "{where}: `balance` with weights alone does nothing; declare `replicas`, `bytes` or another measure as well"
    ),
    WarningKind.BALANCES_NOTHING: (
        "{where}: `balance` does nothing: it moves topics that are placed by rule, and none is"
    ),
    WarningKind.NEEDS_RATES: (
        "{where}: not balanced by {measures}: nobody has said what producers write. `replan plan --measure 60s "
        "--save-rates rates.json` measures it, and --rates rates.json brings it to plan, apply, drift and explain; "
        "`replan fleet rates` finds it in a lake of snapshots, and --rates LAKE brings that"
    ),
    WarningKind.RATES_UNKNOWN: (
        "{where}: the rates do not say what producers write to {named}; the balance takes it that nobody does"
    ),
    WarningKind.UNKNOWN_RACK: (
        "{where}: no registered broker is in rack {rack}; it is as if it were not named"
    ),
    WarningKind.BLACKLIST_REVIEW_DUE: (
        "{where}: the blacklist entry of broker {broker} was to be reviewed by {reviewBy}; it stays in force until it "
        "is taken out"
    ),
    WarningKind.BLACKLIST_CAUGHT_UP: (
        "{where}: broker {broker} is in sync for every partition that its blacklist entry reaches, so the entry has "
        "ended (until: caught-up); take it out"
    ),
    WarningKind.BLACKLIST_STAYS: (
        "the placement does not say who is on the leader blacklist (blacklists.leaders), so it goes on for brokers "
        "{brokers} in {named}; list them, or write `blacklists: {{leaders: []}}` to end it"
    ),
    WarningKind.PREFERRED_BLACKLISTED: (
        "{where}: broker {broker} is the preferred leader of {partition} and on the leader blacklist, which wins; take "
        "one of the two out"
    ),
    WarningKind.PREFERRED_LAST: (
        "{where}: broker {broker} is the preferred leader of {partition} and among `lastLeaders`, which wins; take one "
        "of the two out"
    ),
    WarningKind.PREFERRED_DRAINED: (
        "{where}: broker {broker} is the preferred leader of {partition} and is to be drained, which wins; name "
        "another leader, or none"
    ),
    WarningKind.RACK_NOT_TOLD: (
        "{named} kept without a change, and nothing balanced: Kafka does not tell the racks of brokers {brokers} while "
        "they are down, so whether a rule that counts racks is kept shows when they are back"
    ),
    WarningKind.FEWER_RACKS: (
        "`require` at {where} wants {racks} racks, and the brokers that may hold replicas leave fewer to {named}, "
        "whose live replicas lie in no more; add brokers in other racks"
    ),
    WarningKind.RACKS_LEFT: (
        "{named}: the replicas end in fewer racks than now ({racks}), and the brokers that may hold them leave no "
        "other way; name `brokers` in other racks, or keep a drained one"
    ),
    WarningKind.MIN_ISR_ABOVE_REPLICAS: (
        "min.insync.replicas {minInsyncReplicas} is above the number of replicas of {named}: with {replicas} in sync, "
        "writes with acks=all succeed there; lower min.insync.replicas, or declare more replicas"
    ),
    WarningKind.LOG_DIR_UNREAD: (
        "{where}: broker {broker} does not say what lies in {path} (fenced, silent, or the directory is offline); "
        "nothing is planned for it. If its disk is lost, replace it, or drain the broker"
    ),
    WarningKind.LOG_DIR_UNCORDONED: (
        "{where}: {path} of broker {broker} still takes new replicas, and Kafka makes them in the directory with the "
        "fewest logs: cordon it (cordoned.log.dirs, Kafka 4.3), or begin nothing else on the broker until it is empty"
    ),
    WarningKind.STANDING_UNREAD: (
        "{where}: broker {broker} is not registered, fenced, or did not answer; its standing rate is not judged"
    ),
    WarningKind.STANDING_WITHOUT_REPLICAS: (
        "{where}: the standing {side} rate of broker {broker} slows nothing down: no replica there is throttled on "
        "that side; list replicas of it under `throttles.standing.topics`, or take the rate out"
    ),
    WarningKind.ACKNOWLEDGED: (
        "{where}: acknowledged until {expires} ({reason}), so neither reported nor planned: {named}"
    ),
    WarningKind.ACKNOWLEDGEMENT_EXPIRED: (
        "{where}: the acknowledgement of {acknowledged} expired on {expires} and covers nothing any more; take it out"
    ),
    WarningKind.ELECTION_NOT_NEEDED: "no election is needed, as they are led already: {named}",
    WarningKind.STILL_DECLARED: (
        "the placement still declares what this plan goes back from: the next plan from it would go forward again; "
        "change it, or take back its commit (back to before application {application})"
    ),
    WarningKind.PARTITIONS_STAY: (
        "{topic}: its partitions from {before} on were created and stay: Kafka cannot remove partitions"
    ),
    WarningKind.SETTING_CHANGED_SINCE: "{setting} was changed by somebody since, to {found}, and is left as it is",
    WarningKind.CHANGED_SINCE: "changed by somebody since, and left as they are: {named}",
    WarningKind.FIRST_LEADS_ON: (
        "not led by the first of their list before, and led by it now, which stays so: Kafka elects no other replica "
        "while that one is in sync: {named}"
    ),
    WarningKind.LOG_DIRS_STAY: (
        "replicas that went to other log directories of their brokers stay there: {named}"
    ),
    WarningKind.RECOVERIES_STAY: (
        "led again by an election, which nothing takes back: {named}; the next plan from the placement restores the "
        "order of the list"
    ),
    WarningKind.MORE_STAGES: (
        "this is what the limits allow at once; left for later: {count} (stages still to come: {stages} or more). "
        "Apply it, then plan again"
    ),
    WarningKind.JOURNAL_MADE: (
        "the journal topic {topic} does not exist: `replan apply` makes it, one compacted partition on {replicas}"
    ),
}


def refusal_text(refusal: Refusal) -> str:
    """One sentence or two, complete with the partition: `orders-7: no leader, …`."""
    original, why = refusal.facts.get("original", ()), refusal.facts.get("why")
    facts: Facts = {
        **refusal.facts,
        "reason": UNAVAILABLE_WORDS[Unavailable(str(why))] if why is not None else "",
        "topic": refusal.partition.topic,
        "assigned": len(original) if isinstance(original, tuple) else 0,
        **_counted(refusal.facts),
    }
    return f"{refusal.partition}: {_filled(REFUSALS[refusal.rule], facts)}"


def _counted(facts: Facts) -> Facts:
    """Numbers with what they count, `needed_racks`: `1 rack`; and what is beyond a limit in its words."""
    counted: dict[str, FactValue] = {}
    for name in ("needed", "available"):
        number = facts.get(name)
        if isinstance(number, int):
            counted |= {
                f"{name}_{plural(of)}": count(number, of) for of in ("broker", "rack", "replica")
            }
    if "measure" in facts:
        numbers = int(str(facts["found"])), int(str(facts["most"]))
        counted["amount"], counted["limit"] = Measure(str(facts["measure"])).amounts(*numbers)
    return counted


def warning_text(warning: PlanWarning) -> str:
    """One line, complete in itself."""
    if warning.kind is WarningKind.BALANCE:
        return balance_text(warning.facts)
    facts = dict(warning.facts)
    for noun in ("partition", "topic"):
        names, number = facts.get(f"{noun}s"), facts.get("count")
        if isinstance(names, tuple) and isinstance(number, int):
            more = left_out(number - len(names))
            facts["named"] = (
                f"{count(number, noun)} ({', '.join(map(str, names))}{''.join(f' {m}' for m in more)})"
            )
    if warning.kind is WarningKind.BROKER_DOWN:
        facts["down"] = broker_down_text(_broker_down(facts))
    if warning.kind is WarningKind.AWAITED:
        facts["comeback"] = awaited_text(Comeback(str(facts["why"])), facts["brokers"])
    return _filled(WARNINGS[warning.kind], facts)


def _broker_down(facts: Facts) -> BrokerDown:
    names = ("broker", "replicas", "withoutLeader", "underMinIsr")
    broker, *numbers = (int(str(facts[name])) for name in names)
    return BrokerDown(BrokerId(broker), facts["registered"] == "yes", *numbers)


COMEBACKS: Mapping[Comeback, str] = {
    Comeback.IN_SYNC: "Kafka elects {which} by itself once it is back: it is in sync",
    Comeback.ELIGIBLE: (
        "Kafka elects {which} by itself once it is back: it is eligible (ELR), if it had stopped cleanly"
    ),
    Comeback.LAST_KNOWN_LEADER: "Kafka elects {which} by itself once it is back: the last known leader",
    Comeback.ANY: (
        "unclean election is on: Kafka elects {which} by itself once it is back, with all that it lacks"
    ),
    Comeback.NOBODY: "Kafka elects nobody by itself, whichever broker returns",
}


def awaited_text(why: Comeback, brokers: FactValue) -> str:
    """Which broker leads by itself once it is back; the first of several."""
    listed = brokers if isinstance(brokers, tuple) else (brokers,)
    one = f"broker {listed[0]}" if len(listed) == 1 else f"the first of brokers {list(listed)}"
    return COMEBACKS[why].format(which=one if listed else "nobody")


def _filled(sentence: str, facts: Facts) -> str:
    return sentence.format(**{k: list(v) if isinstance(v, tuple) else v for k, v in facts.items()})


SHORTAGES: Mapping[Shortage, str] = {
    Shortage.BROKERS: "it needs {needed}, and {available} can hold it",
    Shortage.RACK_BROKERS: "rack {rack} must hold {needed}, and {available} of its brokers can",
    Shortage.RACKS_WITH_ONE_MORE: "{needed} must hold one replica more than the others, and {available} can",
    Shortage.BROKERS_IN_ONE_RACK: "it needs a rack with {needed}, and the largest has {available} that can hold it",
    Shortage.KNOWN_RACKS: "it goes by racks, and {needed} without a rack may hold it",
    Shortage.RACKS: "it needs {needed}, and its replicas can lie in {available}",
    Shortage.REPLICAS: "its list would be shortened to {available}, below {needed}",
    Shortage.PRESENT_REPLICAS: (
        "it needs {needed}, no other than the present ones may be added, and {available} of them can stay"
    ),
    Shortage.TOPIC_REPLICAS: "its topic has {needed} to place{of}, and the brokers there may hold {available} together",
    Shortage.BROKER_REPLICAS: "a broker would hold {needed}, and may hold {available}",
    Shortage.ROOM: "it needs room for {needed}, and {available} is the most there is",
}

NOUNS: Mapping[Shortage, str] = {
    Shortage.BROKERS: "broker",
    Shortage.RACK_BROKERS: "replica",
    Shortage.RACKS_WITH_ONE_MORE: "rack",
    Shortage.BROKERS_IN_ONE_RACK: "broker",
    Shortage.KNOWN_RACKS: "broker",
    Shortage.RACKS: "rack",
    Shortage.REPLICAS: "replica",
    Shortage.PRESENT_REPLICAS: "replica",
    Shortage.TOPIC_REPLICAS: "replica",
    Shortage.BROKER_REPLICAS: "replica",
}
"""What is counted; room is in bytes."""

_CONSTRAINTS_SHOWN = 12
"""Constraints of one conflict that are listed; the rest is counted."""


def conflict_text(conflict: Conflict) -> str:
    """Whom it concerns, how sure it is, and what is missing: one sentence."""
    return f"{_whom(conflict)}: {PROOFS[conflict.proof](conflict)}: {'; '.join(map(lack_text, conflict.lacks))}"


def conflict_lines(conflict: Conflict) -> list[str]:
    """The sentence, and its constraints below, places first."""
    rows = [(c.where or "the cluster", text) for c, text in _constraints(conflict)]
    more = left_out(len(rows) - _CONSTRAINTS_SHOWN, "constraint")
    return [conflict_text(conflict), *aligned_lines(rows[:_CONSTRAINTS_SHOWN]), *more]


def conflict_with_constraints(conflict: Conflict) -> str:
    """All of it in one line."""
    return "; ".join([conflict_text(conflict), *constraint_texts(conflict)])


def constraint_texts(conflict: Conflict) -> list[str]:
    """Each constraint with its place in one line."""
    return [text + (f" ({c.where})" if c.where else "") for c, text in _constraints(conflict)]


def lack_text(lack: Lack) -> str:
    """What is missing, with its measure."""
    if lack.shortage is Shortage.ROOM:
        needed, available = size(lack.needed), size(lack.available)
    else:
        needed, available = count(lack.needed, NOUNS[lack.shortage]), str(lack.available)
    return SHORTAGES[lack.shortage].format(
        needed=needed,
        available=available,
        rack=lack.rack,
        of=f" in rack {lack.rack}" if lack.rack else "",
    )


def _whom(conflict: Conflict) -> str:
    if conflict.count == 1:
        return conflict.partitions[0]
    names = [*conflict.topics[:3], *left_out(len(conflict.topics) - 3)]
    return f"{count(conflict.count, 'partition')} of {listed(names)}"


def _impossible(_: Conflict) -> str:
    return "impossible while all of these hold"


def _not_found(conflict: Conflict) -> str:
    if not conflict.steps:
        return "no order of the moves was found that has room in time, which proves nothing"
    return (
        f"no placement with room was found in {count(conflict.steps, 'step')}, which proves nothing"
    )


PROOFS = {Proof.IMPOSSIBLE: _impossible, Proof.NOT_FOUND: _not_found}


def _constraints(conflict: Conflict) -> Iterator[tuple[Constraint, str]]:
    """Each with its text; facts of several brokers are one."""
    for _, alike in groupby(conflict.constraints, key=lambda c: (c.kind, c.where)):
        members = list(alike)
        if members[0].kind is ConstraintKind.LIST:
            yield from ((c, constraint_text([c])) for c in members)
        else:
            yield members[0], constraint_text(members)


CONSTRAINTS: Mapping[ConstraintKind, str] = {
    ConstraintKind.FENCED: "{brokers} {are} fenced",
    ConstraintKind.CORDONED: "{brokers} {are} cordoned",
    ConstraintKind.NO_ROOM: "{brokers} can take {available} at most, of {bytes}, with a tenth kept free",
    ConstraintKind.UNCLEAN_ELECTION: (
        "unclean.leader.election.enable is true, with {replicas} in sync and alive"
    ),
    ConstraintKind.MIN_INSYNC_REPLICAS: "min.insync.replicas is {number}",
    ConstraintKind.REQUIRED_RACKS: "`require` wants {racks}",
    ConstraintKind.WITHOUT_RACK: "no rack is known of {brokers}",
    ConstraintKind.DRAINED: "{brokers} {are} drained",
    ConstraintKind.APART: "apart: [{text}], and {brokers} {are} left to the other topics of it",
    ConstraintKind.BROKERS: "brokers: {named}",
    ConstraintKind.IN_RACK: "inRack: {text}",
    ConstraintKind.REPLICAS_PER_RACK: "replicasPerRack: {text}: {number}",
    ConstraintKind.MAX_REPLICAS_PER_BROKER: "maxReplicasPerBroker: {number}",
    ConstraintKind.PARTITION_COUNT: "partitionCount: {number}",
    ConstraintKind.SPREAD: "spread: {text}",
    ConstraintKind.REPLICATION_FACTOR: "replicationFactor: {number}",
    ConstraintKind.LIST: "the list {listed}",
}
UNDECLARED: Mapping[ConstraintKind, str] = {
    ConstraintKind.REPLICATION_FACTOR: "{replicas}, as many as it has",
    ConstraintKind.LIST: "its list of {replicas}, which no entry declares",
}
"""The same of keys that no entry has."""


TOGETHER_WORDS: Mapping[ConstraintKind, str] = {
    ConstraintKind.FENCED: "{} of them must be back",
    ConstraintKind.CORDONED: "{} of them must be uncordoned",
    ConstraintKind.DRAINED: "{} of these drains must be taken back together",
    ConstraintKind.NO_ROOM: "{} of them need more",
    ConstraintKind.WITHOUT_RACK: "{} of them need one",
}
"""What is said where several brokers have to change together."""


def constraint_text(alike: Sequence[Constraint]) -> str:
    """What constraints of one kind at one place say."""
    first, named = alike[0], sorted({b for c in alike for b in c.brokers})
    sentence = CONSTRAINTS[first.kind] if first.where else None
    number = max(c.together for c in alike)
    sentence = sentence or UNDECLARED.get(first.kind, CONSTRAINTS[first.kind])
    one = len(named) == 1
    noun = f"broker {named[0]}" if one else f"brokers {ranges(named)}" if named else "all disks"
    said = sentence.format(
        brokers=noun,
        are="is" if one else "are",
        named=ranges(named),
        listed=list(first.brokers),
        number=first.number,
        text=first.text,
        replicas=count(first.number, "replica"),
        racks=count(first.number, "rack"),
        bytes=size(first.number),
        available=size(max(c.available for c in alike)),
    )
    return said if number < 2 else f"{said}; {TOGETHER_WORDS[first.kind].format(number)}"


def cross_rack_bytes(plan: Plan) -> int:
    """Bytes that are copied from one rack to another; where a rack is not known, nothing crosses."""
    return sum(
        move.bytes
        for move in plan.moves
        for broker in move.new
        if (to := plan.racks.get(broker)) is not None
        and (source := plan.racks.get(move.source)) is not None
        and source != to
    )


def stored_bytes(plan: Plan) -> int:
    """How many more bytes are stored afterwards; negative where there are fewer."""
    return sum(move.bytes * (len(move.target) - len(move.original)) for move in plan.moves)


def price_lines(plan: Plan, prices: Prices | None) -> Iterator[str]:
    """One line for copies, one for storage; none without a price or without bytes."""
    if prices is None:
        return
    crossing, stored = cross_rack_bytes(plan), stored_bytes(plan)
    if prices.cross_rack_per_gb is not None and crossing:
        cost = _money(crossing * prices.cross_rack_per_gb / GB, prices.currency)
        yield f"Copies between racks: {size(crossing)}, {cost}."
    if prices.per_gb_month is not None and stored:
        sign = "more" if stored > 0 else "less"
        cost = _money(abs(stored) * prices.per_gb_month / GB, prices.currency)
        yield f"Stored afterwards: {size(abs(stored))} {sign}, {cost} a month {sign}."


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount.quantize(Decimal('0.01')):,} {currency}"


RISKS: Mapping[RiskKind, tuple[str, str]] = {
    RiskKind.RECORDS_LOST: (
        "Unclean elections lose records for good, and need --unclean on the command line",
        "partition",
    ),
    RiskKind.WITHOUT_LEADER: ("Without a leader: nobody can read or write", "partition"),
    RiskKind.BELOW_MIN_ISR: (
        "Shorter than min.insync.replicas afterwards, as `belowMinIsr: true` accepts",
        "partition",
    ),
    RiskKind.FEWER_REPLICAS: (
        "Fewer copies of the data afterwards; getting one back means to copy it again",
        "partition",
    ),
    RiskKind.MORE_REPLICAS: ("More replicas than now: the replication factor grows", "partition"),
    RiskKind.ALL_REPLACED: ("No replica stays where it is", "partition"),
    RiskKind.NEW_PARTITIONS: (
        "New partitions cannot be taken away again, and keys map to other partitions from then on",
        "topic",
    ),
    RiskKind.BLACKLIST_LIFTED: (
        "No longer on the leader blacklist, so the orders from before it come back",
        "broker",
    ),
    RiskKind.INTERNAL_TOPICS: (
        "Internal topics change: what depends on them, as consumer groups do, pauses where a leader moves",
        "topic",
    ),
    RiskKind.UNTHROTTLED: (
        "Copies run as fast as the brokers can (throttles.moves has no rate for them)",
        "partition",
    ),
    RiskKind.LIMIT_RAISED: ("Raised for this plan alone, with --allow", "limit"),
}


def risk_text(risk: Risk, named: int = NAMES_SHOWN) -> str:
    """One line: what happens, how many it concerns, and the first of them."""
    what, noun = RISKS[risk.kind]
    total = len(risk.names) + risk.more
    shown = risk.names[:named]
    return f"{what}: {count(total, noun)} ({', '.join([*shown, *left_out(total - len(shown))])})."
