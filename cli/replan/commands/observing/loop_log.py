"""The log of a loop: a line where its state changes, where something begins or ceases to differ, and for each round."""

from collections.abc import Sequence

import msgspec

from replan.commands.frame.output import event
from replan.reconciling.status import LoopReason, LoopStatus, Round, utc
from replan.reporting.loop.loop_words import (
    DEVIATION_WORDS,
    LOOP_STATE_WORDS,
    ROUND_RESULT_WORDS,
    state_text,
)
from replan.wording import count, duration, listed, size


class LoopLog:
    """Compares each status with the one before."""

    def __init__(self) -> None:
        self._before: LoopStatus | None = None

    def changed(self, status: LoopStatus, ended: Sequence[Round]) -> None:
        """Say what is new, these rounds among it."""
        before, self._before = self._before, status
        for done in ended:
            self._round(done, status)
        if before is None or _tallies(before) != _tallies(status):
            self._differs(status)
        if before is None or _situation(before) != _situation(status):
            self._state(before, status)

    def proposed(self, status: LoopStatus, moves: int, lists: int) -> None:
        """Say what is proposed to people."""
        what = f"{count(moves, 'move')} and {count(lists, 'changed list')}"
        _say("proposed", status, f"proposes {what}", {"moves": moves, "lists": lists})

    def _round(self, ended: Round, status: LoopStatus) -> None:
        took = duration(max(0.0, ended.ended_at - ended.began_at))
        kinds = listed(DEVIATION_WORDS[kind] for kind in ended.kinds)
        text = (
            f"round {ended.number:,} {ROUND_RESULT_WORDS[ended.result]} after {took}: {kinds}; "
            f"{count(ended.moves, 'move')}, {size(ended.bytes)}"
        ) + (f"; {ended.text}" if ended.text else "")
        _say("round", status, text, {"round": msgspec.to_builtins(ended)})

    def _differs(self, status: LoopStatus) -> None:
        if status.looked_at is None:
            return
        kinds = [f"{tally.count:,} × {DEVIATION_WORDS[tally.kind]}" for tally in status.differs]
        text = f"differs: {listed(kinds)}" if kinds else "nothing differs"
        _say("differs", status, text, {"differs": msgspec.to_builtins(status.differs)})

    def _state(self, before: LoopStatus | None, status: LoopStatus) -> None:
        sentences = " ".join((state_text(status), *map(str, status.reasons)))
        fields = {
            "before": None if before is None else before.state.value,
            "reasons": msgspec.to_builtins(status.reasons),
        }
        _say("state", status, f"{LOOP_STATE_WORDS[status.state][0]}. {sentences}", fields)


def _say(name: str, status: LoopStatus, text: str, fields: dict[str, object]) -> None:
    common = {"at": status.at, "clusterId": status.cluster_id, "state": status.state.value}
    event(name, f"{utc(status.at)}: {text}", {**common, **fields})


def _tallies(status: LoopStatus) -> object:
    return {tally.kind: tally.count for tally in status.differs}


def _situation(status: LoopStatus) -> tuple[str, frozenset[type[LoopReason]]]:
    """What is worth a line where it changes: measures within a reason change all the time."""
    return status.state.value, frozenset(map(type, status.reasons))
