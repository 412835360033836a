"""Who waited for what, and how long: put together from what the application reports while it runs.

What belongs to every copy (waiting until it is in sync, and stays so) is left out.
"""

from collections import defaultdict
from collections.abc import Mapping

from replan.applying.reasons.kinds import kind_of
from replan.applying.reasons.waits import HoldReason, is_routine
from replan.applying.views.progress import Progress
from replan.model.names import TopicPartition
from replan.planning.safety.trajectory import Trajectory
from replan.rehearsal.result import Waited


class Waits:
    """Takes in the reports of an application."""

    def __init__(self) -> None:
        self._mentions: dict[TopicPartition, list[tuple[float, HoldReason]]] = defaultdict(list)

    def __call__(self, progress: Progress) -> None:
        """Take in one report."""
        at = progress.now  # a second run of the command counts its own seconds from its beginning
        for name, reason in (progress.holds or {}).items():
            known = self._mentions.get(name)
            if known is None or known[-1][1] is not reason:
                self._note(name, at, reason)
        if progress.admission is not None and progress.holds is not None:
            for name in progress.holds:
                self._note(name, at, progress.admission)

    def _note(self, name: TopicPartition, at: float, reason: HoldReason) -> None:
        mentions = self._mentions[name]
        if not mentions or mentions[-1][1] != reason:
            mentions.append((at, reason))

    def found(self, histories: Mapping[TopicPartition, Trajectory], ended: float) -> list[Waited]:
        """All kinds of reasons, the longest wait first; a wait ends with another reason, or when the list changes."""
        longest: dict[type[HoldReason], dict[TopicPartition, float]] = defaultdict(
            lambda: defaultdict(float)
        )
        first: dict[tuple[type[HoldReason], TopicPartition], HoldReason] = {}
        for name, mentions in sorted(self._mentions.items()):
            ends = [*(at for at, _ in mentions[1:]), ended]
            for (at, reason), end in zip(mentions, ends, strict=True):
                if is_routine(reason):
                    continue
                over = min(end, _changed_after(histories.get(name), at, ended))
                longest[type(reason)][name] += over - at
                first.setdefault((type(reason), name), reason)
        waited = []
        for kind, of in longest.items():
            name = min(of, key=lambda n: (-of[n], n))
            waited.append(Waited(first[kind, name], len(of), name, of[name]))
        return sorted(waited, key=lambda w: (-w.longest_seconds, kind_of(w.reason)))


def _changed_after(history: Trajectory | None, at: float, ended: float) -> float:
    """When the list of a partition next changes."""
    if history is None:
        return ended
    standing = history.at(at).replicas
    return next((s.at for s in history.samples if s.at > at and s.replicas != standing), ended)
