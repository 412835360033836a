"""Why a look says nothing of a partition: what is not shown is not gone. Pure."""

from replan.applying.reasons.requests import MetadataBehind, NotPermitted
from replan.model.control_plane import Look
from replan.model.names import TopicPartition


def unshown(seen: Look, name: TopicPartition) -> MetadataBehind | NotPermitted | None:
    """Why nothing can be concluded of a partition now; None where what a look shows of it is all there is."""
    missing = seen.forbidden.get(name.topic)
    if missing is not None:
        return NotPermitted(name.topic, missing)
    return MetadataBehind() if name in seen.unclear else None
