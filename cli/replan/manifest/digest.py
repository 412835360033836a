"""What a manifest means, as one sha256: the same for every layout, comment and order of files.

Places are left out; everything else of a placement counts, reasons and owners too, since plans show them.
"""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from replan.model.columns import as_list_array
from replan.model.placement import LeaderBlacklist, Placement

FORMAT = "replan.placement.1"


def with_digest(placement: Placement) -> Placement:
    """The same placement with its digest."""
    return replace(placement, digest=digest_of(placement))


def digest_of(placement: Placement) -> str:
    """sha256 over the canonical form, in hexadecimal."""
    digest = hashlib.sha256()
    head = json.dumps(_head(placement), sort_keys=True, separators=(",", ":"))
    digest.update(f"{len(head)}:{head}".encode())
    for column in _columns(placement.explicit):
        digest.update(np.ascontiguousarray(column, dtype="<i4").tobytes())
    return digest.hexdigest()


def _head(placement: Placement) -> dict[str, object]:
    throttle = placement.move_throttle
    return {
        "format": FORMAT,
        "clusterName": placement.cluster_name,
        "clusterId": placement.cluster_id,
        "rows": placement.explicit.num_rows,
        "topics": [
            [name, entry.partition_count, entry.below_min_isr]
            for name, entry in sorted(placement.topics.items())
        ],
        "preferredLeaders": [
            [name.topic, name.partition, preferred.broker]
            for name, preferred in sorted(placement.preferred_leaders.items())
        ],
        "leaderBlacklist": [_entry(entry) for entry in placement.leader_blacklist],
        "moveThrottle": None
        if throttle is None
        else [throttle.rate, sorted((b, r) for b, r in throttle.brokers.items())],
    }


def _entry(entry: LeaderBlacklist) -> list[object]:
    topics = None if entry.topics is None else list(entry.topics)
    return [entry.broker, entry.reason, entry.owner, entry.expires, topics]


def _columns(explicit: pa.Table) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    if explicit.num_rows == 0:
        return []
    codes = explicit.column("topic").combine_chunks().indices
    lists = as_list_array(explicit.column("replicas"))
    offsets = np.asarray(lists.offsets)
    return [
        np.asarray(codes),
        explicit.column("partition").to_numpy(),
        np.diff(offsets),
        np.asarray(lists.values)[offsets[0] : offsets[-1]],
    ]
