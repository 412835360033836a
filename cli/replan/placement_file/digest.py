"""What a placement file means, as one sha256: the same for every layout, comment and order of files.

Places are left out, and so is `reconcile`, which says when something is done and not what; everything else of a
placement counts, reasons and owners too, since plans show them. What has its default counts as not said: so a placement
keeps its digest when a later release knows more keys.
"""

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import as_list_array
from replan.model.declared.placement import Placement, defaults
from replan.model.declared.where import Where

DIGEST_FORMAT = "replan.placement.1"


def placement_with_digest(placement: Placement) -> Placement:
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
    said = _said(placement, "explicit", "digest", "throttle_places", "reconcile")
    return said | {"format": DIGEST_FORMAT, "explicit": placement.explicit.num_rows}


def _said(value: Struct, *but: str) -> dict[str, object]:
    """The fields of a value that have another value than their default."""
    usual = defaults(type(value))
    fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in but}
    return {
        name: _plain(of) for name, of in fields.items() if name not in usual or of != usual[name]
    }


def _plain(value: Any) -> object:
    """A value of the placement as JSON has it, without its places."""
    match value:
        case Mapping():
            return sorted([_plain(key), _plain(item)] for key, item in value.items())
        case frozenset():
            return [_plain(item) for item in sorted(value)]
        case tuple():
            return [_plain(item) for item in value]
        case Fraction():
            return str(value)
        case Struct():
            names = value.__struct_fields__
            wheres = [name for name in names if isinstance(getattr(value, name), Where)]
            return _said(value, "places", *wheres)
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
