"""Hypothesis: placements that are right, placements that are nearly right, and anything else."""

from typing import Any

import yaml
from hypothesis import strategies as st

Document = dict[str, Any]


class _Quoting(yaml.SafeDumper):
    """Writes every text in quotes, so that each reader of YAML takes it for text, and no aliases."""

    def ignore_aliases(self, _value: object) -> bool:
        return True


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Quoting.add_representer(str, _quoted)


def block_style(document: Document) -> str:
    """A document as YAML, one key or item a line."""
    return yaml.dump(document, Dumper=_Quoting, sort_keys=False, default_flow_style=False)


def mixed_style(document: Document) -> str:
    """A document as YAML, its innermost containers on one line."""
    return yaml.dump(
        document, Dumper=_Quoting, sort_keys=False, default_flow_style=None, allow_unicode=True
    )


BROKERS = st.integers(0, 9)
TOPICS = st.sampled_from(["orders", "clicks", "payments.v1", "on", "007", "1e3", "2024", "a_b-c"])
RATES = st.sampled_from(["50MB/s", "1.5GB/s", "800KB/s", "20MiB/s", "1KB/s", "unlimited"])
EXPIRIES = st.sampled_from(["2026-12-01", "2026-12-01T18:00:00Z", "2026-12-01T18:00:00+02:00"])
REPLICAS = st.lists(BROKERS, min_size=1, max_size=4, unique=True)
PARTITIONS = st.lists(REPLICAS, min_size=1, max_size=4) | st.dictionaries(
    st.integers(0, 20).map(str), REPLICAS, min_size=1, max_size=4
)
WORDS = st.sampled_from(["disk at 92 %", "storage", "NO", "010", "1:30", "~", "# x", "a: b", "é"])


def explicit() -> st.SearchStrategy[Document]:
    """An explicit assignment."""
    return st.fixed_dictionaries(
        {"partitions": PARTITIONS}, optional={"belowMinIsr": st.booleans()}
    )


def blacklist_entry() -> st.SearchStrategy[Document]:
    """A broker that shall lead nothing."""
    return st.fixed_dictionaries(
        {"broker": BROKERS},
        optional={
            "reason": WORDS,
            "owner": WORDS,
            "reviewBy": EXPIRIES,
            "topics": st.lists(TOPICS | st.just("pay-*"), min_size=1, max_size=3),
        },
    )


SIZES = st.sampled_from(["2TB", "1.5GiB", "400 GB", "0B"])
COUNTS = st.integers(0, 500)


THRESHOLDS = st.sampled_from(["0s", "10m", "6h", "1d", "never"])
KINDS = st.sampled_from(
    ["placementChanged", "changedElsewhere", "leadershipMoved", "outOfBalance", "staleThrottle"]
)
WINDOWS = st.lists(
    st.fixed_dictionaries(
        {"from": st.just("22:00"), "to": st.sampled_from(["05:00", "24:00"])},
        optional={
            "days": st.sampled_from(["mon-fri", "sat, sun"]),
            "zone": st.sampled_from(["UTC", "Europe/Berlin"]),
        },
    ),
    min_size=1,
    max_size=2,
)


def policies() -> st.SearchStrategy[Document]:
    """What a loop may put right."""
    excepted = st.lists(KINDS, unique=True, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "putRight": st.dictionaries(KINDS, THRESHOLDS, max_size=3),
            "windows": WINDOWS | st.fixed_dictionaries({"open": WINDOWS, "except": excepted}),
            "hold": st.fixed_dictionaries(
                {}, optional={"brokersDown": st.just("20%") | COUNTS.map(lambda n: n + 1)}
            ),
        },
    )


def limits() -> st.SearchStrategy[Document]:
    """What one plan may change."""
    return st.fixed_dictionaries(
        {},
        optional={
            "partitions": COUNTS,
            "bytes": SIZES,
            "bytesPerBroker": SIZES,
            "leaders": COUNTS,
            "replicationFactorDecreases": COUNTS,
            "topics": COUNTS,
        },
    )


def acknowledgement() -> st.SearchStrategy[Document]:
    """Drift that is known."""
    return st.fixed_dictionaries(
        {
            "topic": st.sampled_from(["orders", "clicks*", "*"]),
            "reason": WORDS,
            "expires": EXPIRIES,
        },
        optional={
            "owner": WORDS,
            "partitions": st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
        },
    )


def placements() -> st.SearchStrategy[Document]:
    """What this release supports and a cluster may or may not satisfy; nothing contradicts itself."""
    return st.fixed_dictionaries(
        {"version": st.just(1), "assignments": st.dictionaries(TOPICS, explicit(), max_size=4)},
        optional={
            "cluster": st.fixed_dictionaries({}, optional={"name": WORDS, "id": st.just("0123")}),
            "preferredLeaders": st.dictionaries(
                st.just("elsewhere"),
                st.dictionaries(st.integers(0, 9).map(str), BROKERS, min_size=1, max_size=3),
            ),
            "blacklists": st.fixed_dictionaries(
                {"leaders": st.lists(blacklist_entry(), max_size=3, unique_by=_broker)}
            ),
            "require": st.dictionaries(
                st.sampled_from(["*", "pay-*", "orders"]),
                st.sampled_from([{"replicationFactor": 1}, {"racks": 3}]),
                max_size=2,
            ),
            "limits": limits(),
            "reconcile": policies(),
            "recovery": st.dictionaries(
                st.sampled_from(["*", "pay-*", "orders"]),
                st.fixed_dictionaries(
                    {"strategy": st.sampled_from(["none", "balanced", "aggressive"])},
                    optional={"wait": st.sampled_from(["0s", "5m", "1h"])},
                ),
                max_size=2,
            ),
            "acknowledged": st.lists(
                acknowledgement(), max_size=3, unique_by=lambda entry: str(entry["topic"])
            ),
            "throttles": st.fixed_dictionaries(
                {
                    "moves": st.fixed_dictionaries(
                        {"rate": RATES},
                        optional={
                            "brokers": st.dictionaries(
                                BROKERS.map(str),
                                RATES | st.fixed_dictionaries({"leader": RATES, "follower": RATES}),
                                max_size=2,
                            )
                        },
                    )
                }
            ),
        },
    )


def _broker(entry: Document) -> int:
    return int(entry["broker"])


def whole_placements() -> st.SearchStrategy[Document]:
    """Any placement that the schema knows, rules too."""
    rules = st.sampled_from(
        [
            {"metrics-*": {"replicationFactor": 2, "spread": "rack"}},
            {"metrics-*": {"spread": "none", "except": ["metrics-old", "metrics-eu-*"]}},
            {"clicks": {"replicationFactor": 3, "partitionCount": 24, "brokers": [1, "10-14"]}},
            {"clicks": {"brokers": {"racks": ["eu-1a"], "ids": ["1-9"]}}},
            {"clicks": {"replicasPerRack": {"dc1": 2, "dc2": 1}, "brokers": ["1-9"]}},
            {"clicks": {"inRack": "eu-1a", "brokers": {"ids": [3]}}},
            {},
        ]
    )
    return st.builds(
        lambda placement, by_rule: placement | {"assignments": placement["assignments"] | by_rule},
        placements(),
        rules,
    )


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 2**40)
    | st.text(max_size=6)
    | st.sampled_from([0.5, -2.25])
    | st.sampled_from(["50", "50MB/s", "*", "..", "orders", "2026-12-01", "0:1"])
)
KEYS = st.sampled_from(
    [
        *("version", "cluster", "name", "id", "assignments", "orders", "partitions"),
        *("belowMinIsr", "0", "1", "-1"),
        *("preferredLeaders", "blacklists", "leaders", "broker", "topics", "reviewBy"),
        *("acknowledged", "topic", "expires", "throttles", "moves", "rate", "brokers", "standing"),
        *("pay-*", "racks", "limits", ""),
    ]
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def broken_placements() -> st.SearchStrategy[Document]:
    """Placements with something else in one or more of their sections."""
    return st.builds(
        lambda placement, wrong: placement | wrong,
        placements(),
        st.dictionaries(KEYS, ANYTHING, max_size=3),
    )


YAML_BITS = st.sampled_from(
    [
        *("version: 1\n", "assignments:\n", "  orders:\n", "    partitions:\n", "      - [1, 2]\n"),
        *("- ", "? ", ": ", "{", "}", "[", "]", ",", "&a ", "*a", "!t "),
        *("|\n", ">-\n", "---\n", "...\n", "%YAML 1.1\n", "#"),
        *("'", '"', "\t", "\n", "\r\n", " ", "  ", "0", "01", "NO", "<<", "é", "\ufeff"),
        *("throttles: {moves: {rate: 50}}\n", "blacklists: {leaders: ["),
        *("\\", "\u2028", "\x85", "@", "`"),
    ]
)
YAML_TEXTS = st.lists(YAML_BITS, max_size=25).map("".join) | st.text(max_size=60)
