"""What a placement file means, as one sha256: the same for every layout, comment and order of files.

Places are left out; everything else of a placement counts, reasons and owners too, since plans show them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from replan.model.columns import as_list_array
from replan.model.declared.placement import Placement
from replan.model.declared.where import Where

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
    parts = {f.name: _plain(getattr(placement, f.name)) for f in fields(placement)}
    rows = placement.explicit.num_rows
    return parts | {"format": FORMAT, "explicit": rows, "digest": "", "throttle_places": []}


def _plain(value: Any) -> object:
    """A value of the placement as JSON has it, without its places."""
    match value:
        case Mapping():
            return sorted([_plain(key), _plain(found)] for key, found in value.items())
        case frozenset():
            return [_plain(found) for found in sorted(value)]
        case tuple():
            return [_plain(found) for found in value]
        case Fraction():
            return str(value)
        case _ if is_dataclass(value):
            found = {f.name: getattr(value, f.name) for f in fields(value) if f.name != "places"}
            return {k: _plain(v) for k, v in found.items() if not isinstance(v, Where)}
        case _:
            return value


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
