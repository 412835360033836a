"""Who waited for what, and how long: put together from what the application reports while it runs.

What belongs to every copy (waiting until it is in sync, and stays so) is left out.
"""

import re
from collections import defaultdict
from collections.abc import Mapping

from replan.applying.progress import Progress
from replan.model.names import TopicPartition
from replan.planning.safety.run_invariants import Trajectory
from replan.rehearsal.result import Waited

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_USUAL = re.compile(
    r"in sync; waiting whether it stays so|waiting until [^;]* (?:is|are) in sync$|its throttle is set|stopping$|"
    r".* was accepted and is not seen yet|the controller is ahead|waiting for the next batch"
)


class Waits:
    """Takes in the reports of an application."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._mentions: dict[TopicPartition, list[tuple[float, str, str]]] = defaultdict(list)

    def __call__(self, progress: Progress) -> None:
        """Take in one report."""
        at = self._began + progress.at_seconds
        for name, reason in (progress.holds or {}).items():
            self._note(name, at, reason)
        if progress.admission is not None and progress.holds is not None:
            for name in progress.holds:
                self._note(name, at, progress.admission)

    def _note(self, name: TopicPartition, at: float, reason: str) -> None:
        kind = _NUMBER.sub("#", reason)
        mentions = self._mentions[name]
        if not mentions or mentions[-1][1] != kind:
            mentions.append((at, kind, reason))

    def found(self, histories: Mapping[TopicPartition, Trajectory], ended: float) -> list[Waited]:
        """All reasons, the longest wait first; a wait ends with another reason, or when the list changes."""
        longest: dict[str, dict[TopicPartition, float]] = defaultdict(lambda: defaultdict(float))
        told: dict[tuple[str, TopicPartition], str] = {}
        for name, mentions in sorted(self._mentions.items()):
            ends = [*(at for at, _, _ in mentions[1:]), ended]
            for (at, kind, reason), end in zip(mentions, ends, strict=True):
                if _USUAL.match(reason) is None:
                    over = min(end, _changed_after(histories.get(name), at, ended))
                    longest[kind][name] += over - at
                    told.setdefault((kind, name), reason)
        waited = []
        for kind, of in longest.items():
            name = min(of, key=lambda n: (-of[n], n))
            waited.append(Waited(told[kind, name], len(of), name, of[name]))
        return sorted(waited, key=lambda w: (-w.longest_seconds, w.reason))


def _changed_after(history: Trajectory | None, at: float, ended: float) -> float:
    """When the list of a partition next changes."""
    if history is None:
        return ended
    standing = history.at(at).replicas
    return next((s.at for s in history.samples if s.at > at and s.replicas != standing), ended)
