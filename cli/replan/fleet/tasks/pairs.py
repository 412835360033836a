"""Which snapshot is compared with which placement: a pure function of what the sources say of themselves.

A placement that names a cluster id belongs to that cluster. One that does not belongs to the snapshots of its
own name: `payments-eu.yaml` to `payments-eu/` or `payments-eu.json`, or those named as its `cluster.name`.
Of several snapshots of one cluster the newest counts; the others are history. A cluster without a placement is
not ours and no error; a placement without a snapshot is one, and so are two placements for one cluster.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from replan.fleet.tasks.sources import Role


@dataclass(frozen=True, slots=True)
class Head:
    """One source and of which cluster it is; with a message, it could not be read."""

    role: str
    name: str
    path: str
    cluster_id: str | None = None
    cluster_name: str | None = None
    observed_at: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A snapshot and the placement to compare it with."""

    cluster_id: str
    cluster_name: str
    observed_at: str
    snapshot: str
    placement: str


@dataclass(frozen=True, slots=True)
class FleetError:
    """Why a source could not be compared."""

    cluster: str
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class Pairing:
    """What is compared, and what is not and why."""

    pairs: tuple[Pair, ...]
    errors: tuple[FleetError, ...]
    undeclared: tuple[str, ...]
    """Names of clusters that no placement is about."""
    older: int
    """Snapshots that are not looked at, because there is a newer one of their cluster."""


def pair_up(heads: Iterable[Head]) -> Pairing:
    """Find the snapshot of each placement."""
    ordered = sorted(heads, key=lambda h: h.path)
    readable = [h for h in ordered if h.message is None]
    snapshots = [h for h in readable if h.role == Role.SNAPSHOT]
    newest = _newest(snapshots)
    errors = [FleetError(h.name, h.path, h.message) for h in ordered if h.message is not None]
    claims: dict[str, list[Head]] = {}
    for placement in readable:
        if placement.role == Role.PLACEMENT:
            found = _cluster_of(placement, newest)
            if isinstance(found, FleetError):
                errors.append(found)
            else:
                claims.setdefault(found, []).append(placement)
    for cluster, claimants in claims.items():
        if len(claimants) > 1:
            errors += [_claimed_twice(cluster, c, claimants) for c in claimants]
    broken = {h.name for h in ordered if h.message is not None}
    return Pairing(
        tuple(_pair(newest[c], ps[0]) for c, ps in sorted(claims.items()) if len(ps) == 1),
        tuple(sorted(errors, key=lambda e: (e.cluster, e.file))),
        tuple(
            sorted(h.name for c, h in newest.items() if c not in claims and h.name not in broken)
        ),
        len(snapshots) - len(newest),
    )


def _newest(snapshots: Iterable[Head]) -> dict[str, Head]:
    """The newest snapshot of each cluster; of two that are equally old the last by path."""
    newest: dict[str, Head] = {}
    for head in snapshots:
        known = newest.get(str(head.cluster_id))
        if known is None or _moment(head) >= _moment(known):
            newest[str(head.cluster_id)] = head
    return newest


def _moment(head: Head) -> datetime:
    return datetime.fromisoformat(str(head.observed_at))


def _cluster_of(placement: Head, newest: Mapping[str, Head]) -> str | FleetError:
    if placement.cluster_id is not None:
        if placement.cluster_id in newest:
            return placement.cluster_id
        return _error(placement, f"no readable snapshot of cluster {placement.cluster_id}")
    names = {placement.name, placement.cluster_name}
    clusters = [cluster for cluster, head in newest.items() if head.name in names]
    if len(clusters) == 1:
        return clusters[0]
    if clusters:
        return _error(
            placement,
            f"snapshots of {len(clusters)} clusters are named {placement.name} "
            f"({', '.join(sorted(clusters))}); say which one is meant with `cluster.id`",
        )
    return _error(
        placement,
        f"no readable snapshot is named {placement.name}; name it so, or say `cluster.id`",
    )


def _claimed_twice(cluster: str, placement: Head, claimants: list[Head]) -> FleetError:
    others = ", ".join(c.path for c in claimants if c is not placement)
    return _error(placement, f"cluster {cluster} has another placement, {others}; keep one")


def _error(placement: Head, message: str) -> FleetError:
    return FleetError(placement.cluster_name or placement.name, placement.path, message)


def _pair(snapshot: Head, placement: Head) -> Pair:
    return Pair(
        str(snapshot.cluster_id),
        placement.cluster_name or placement.name,
        str(snapshot.observed_at),
        snapshot.path,
        placement.path,
    )
