"""Every throttle setting of a cluster, and whose it is, as far as the journal says: for those who only look."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from replan.applying.journal.ledger import Ledger
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigScope,
    ConfigSource,
    SettingName,
    elements,
)
from replan.model.snapshot import Snapshot


class Owner(StrEnum):
    """Whose a throttle setting is."""

    COPIES = "replan"
    """replan's, for the copies of an application."""
    KEPT = "kept"
    """replan's, left in place on purpose."""
    OTHER = "other"
    """Not in the journal: declared to stay, or another tool's."""
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
    return [*_rates(snapshot, ledger), *_lists(snapshot, ledger)]


def _rates(snapshot: Snapshot, ledger: Ledger) -> Iterator[FoundThrottle]:
    for broker, configs in sorted(snapshot.broker_configs.items()):
        for key in (LEADER_RATE, FOLLOWER_RATE):
            found, saved = configs.get(key), ledger.rates.get((broker, key))
            if found is None:
                continue
            setting = SettingName(ConfigScope.BROKER, str(broker), key)
            match found.source:
                case ConfigSource.BROKER if saved is not None and found.value in saved.ours:
                    owner = Owner.KEPT if saved.kept else Owner.COPIES
                    yield FoundThrottle(setting, found.value, owner, saved.before)
                case ConfigSource.BROKER:
                    yield FoundThrottle(setting, found.value, Owner.OTHER)
                case ConfigSource.CLUSTER_DEFAULT:
                    yield FoundThrottle(setting, found.value, Owner.DEFAULT)
                case _:
                    yield FoundThrottle(setting, found.value, Owner.UNUSED)


def _lists(snapshot: Snapshot, ledger: Ledger) -> Iterator[FoundThrottle]:
    columns = ((LEADER_REPLICAS, "leader_throttled"), (FOLLOWER_REPLICAS, "follower_throttled"))
    for topic in snapshot.topics.select(["name", *(c for _, c in columns)]).to_pylist():
        for key, column in columns:
            listed = elements(topic[column])
            saved = ledger.entries.get((topic["name"], key))
            ours = () if saved is None else saved.ours
            setting = SettingName(ConfigScope.TOPIC, topic["name"], key)
            kept = Owner.KEPT if saved is not None and saved.kept else Owner.COPIES
            for owner, part in (
                (kept, [e for e in listed if e in ours]),
                (Owner.OTHER, [e for e in listed if e not in ours]),
            ):
                if part:
                    yield FoundThrottle(setting, ",".join(part), owner)
