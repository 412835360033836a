"""Every throttle setting of a cluster, and whose it is, as far as the journal says: for those who only look."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.originals import standing_settings
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIRS_RATE,
    ConfigScope,
    ConfigSource,
    SettingName,
    elements,
)
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot

Stay = Mapping[SettingName, str | None]
"""The settings that ended applications have set to stay."""


class Owner(StrEnum):
    """Whose a throttle setting is."""

    COPIES = "replan"
    """replan's, for the copies of an application."""
    RUNNING = "replan-running"
    """replan's, for reassignments of other tools (`throttle RATE --running`)."""
    SILENT = "replan-silent"
    """replan's, as it was set: the broker is down, and does not say whether it still is."""
    KEPT = "kept"
    """replan's, left in place on purpose."""
    DECLARED = "declared"
    """replan's, declared to stay."""
    OTHER = "other"
    """Not in the journal: another tool's, or declared to stay a long time ago."""
    DEFAULT = "cluster-default"
    """The dynamic default of all brokers."""
    UNUSED = "not-used"
    """A value of a broker's file: shown by Kafka, and not used (ConfigHelper)."""


@dataclass(frozen=True, slots=True)
class FoundThrottle:
    """A rate, or a part of a list of throttled replicas."""

    setting: SettingName
    value: str
    owner: Owner
    before: str | None = None
    """Of replan's rates: what it was, and is to be again; None where it was not set."""


def found_throttles(snapshot: Snapshot, ledger: Ledger) -> list[FoundThrottle]:
    """All of them: rates by broker, then lists by topic."""
    stay = standing_settings(ledger)
    return [*_rates(snapshot, ledger, stay), *_lists(snapshot, ledger, stay)]


def unknown_throttles(snapshot: Snapshot, ledger: Ledger) -> list[FoundThrottle]:
    """Those that the journal does not know: nobody can say whose they are."""
    return [found for found in found_throttles(snapshot, ledger) if found.owner is Owner.OTHER]


def _rates(snapshot: Snapshot, ledger: Ledger, stay: Stay) -> Iterator[FoundThrottle]:
    of_others = ledger.throttles_others
    answering = {b.id for b in snapshot.brokers if b.live} | snapshot.broker_configs.keys()
    for (broker, key), known in sorted(ledger.rates.items()):
        if broker not in answering:
            setting = SettingName(ConfigScope.BROKER, str(broker), key)
            yield FoundThrottle(setting, known.ours[-1], Owner.SILENT, known.before)
    for broker, configs in sorted(snapshot.broker_configs.items()):
        for key in (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE):
            found, saved = configs.get(key), ledger.rates.get((broker, key))
            if found is None:
                continue
            setting = SettingName(ConfigScope.BROKER, str(broker), key)
            match found.source:
                case ConfigSource.BROKER if saved is not None and found.value in saved.ours:
                    copies = Owner.RUNNING if of_others and not ledger.open else Owner.COPIES
                    owner = Owner.KEPT if saved.kept else copies
                    yield FoundThrottle(setting, found.value, owner, saved.before)
                case ConfigSource.BROKER:
                    declared = setting in ledger.standing or found.value == stay.get(setting)
                    yield FoundThrottle(setting, found.value, _not_of_moves(declared=declared))
                case ConfigSource.CLUSTER_DEFAULT:
                    yield FoundThrottle(setting, found.value, Owner.DEFAULT)
                case _:
                    yield FoundThrottle(setting, found.value, Owner.UNUSED)


def _not_of_moves(*, declared: bool) -> Owner:
    return Owner.DECLARED if declared else Owner.OTHER


def _lists(snapshot: Snapshot, ledger: Ledger, stay: Stay) -> Iterator[FoundThrottle]:
    columns = ((LEADER_REPLICAS, "leader_throttled"), (FOLLOWER_REPLICAS, "follower_throttled"))
    for topic in snapshot.topics.select(["name", *(c for _, c in columns)]).to_pylist():
        for key, column in columns:
            setting = SettingName(ConfigScope.TOPIC, topic["name"], key)
            parts: dict[Owner, list[str]] = {}
            for entry in elements(topic[column]):
                parts.setdefault(_owner(setting, entry, ledger, stay), []).append(entry)
            for owner, part in sorted(parts.items(), key=lambda found: found[0] is Owner.OTHER):
                yield FoundThrottle(setting, ",".join(part), owner)


def _owner(setting: SettingName, entry: str, ledger: Ledger, stay: Stay) -> Owner:
    """Whose an entry of a list is."""
    saved, number = ledger.entries.get((setting.name, setting.key)), entry.partition(":")[0]
    if saved is None or entry not in saved.ours:
        declared = setting in ledger.standing or entry in elements(stay.get(setting))
        return _not_of_moves(declared=declared)
    if saved.kept:
        return Owner.KEPT
    own = TopicPartition(setting.name, int(number)) in ledger.open
    return Owner.COPIES if own or not ledger.throttles_others else Owner.RUNNING
