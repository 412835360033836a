"""Reading: what befalls, from its words; and a whole `--fault`, which also says when.

Here belongs the table of all forms. An error says what is wrong, where, and how the form goes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from replan.errors import BadUsage
from replan.faults import brokers, external_actors, partitions, requests
from replan.faults.kinds import Kind, Surroundings
from replan.faults.token_reader import Words
from replan.simulator.cluster.faults import At, Schedule

FORMS: Sequence[Kind] = (
    *brokers.KINDS,
    *partitions.KINDS,
    *requests.KINDS,
    *external_actors.KINDS,
)
FIRST_WORDS = frozenset(kind.begins[0] for kind in FORMS)
_BY_WORDS: Mapping[tuple[str, ...], Kind] = MappingProxyType({kind.begins: kind for kind in FORMS})
_LONGEST_FIRST = sorted(_BY_WORDS, key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: as it was asked for, and what happens when; seconds count from the beginning."""

    text: str
    schedule: Schedule

    @property
    def at_seconds(self) -> float:
        """When it begins."""
        return self.schedule[0].seconds


def read_fault(text: str, around: Surroundings) -> Fault:
    """Read `WHAT at TIME [for TIME]`; raises BadUsage."""
    words = Words(text, f'--fault "{text}"', error=BadUsage, positions=True)
    begins = words.seconds_after("at")
    if begins is None:
        asked = text.strip() or "kill 3"
        raise words.wrong(f'it does not say when; write e.g. "{asked} at 10m"')
    happens = read_schedule(words, around)
    return Fault(
        " ".join(text.split()), tuple(At(begins + h.seconds, h.happening) for h in happens)
    )


def read_schedule(words: Words, around: Surroundings) -> Schedule:
    """Read WHAT, to the end of the words; seconds count from its beginning. Raises the error of the words."""
    begins = next((b for b in _LONGEST_FIRST if words.phrase(*b)), None)
    if begins is None:
        raise words.wrong(_unknown(words))
    kind = _BY_WORDS[begins]
    words.form = kind.form
    try:
        found = kind.read(words, around)
    except ValueError as problem:
        raise words.wrong(str(problem)) from problem
    words.end()
    return found


def _unknown(words: Words) -> str:
    first = words.one("what befalls the cluster")
    near = [k for k in FORMS if k.begins[0] == first] or FORMS
    forms = "\n".join(f"  {kind.form}" for kind in near)
    rest = words.rest()
    said = f"{first} {rest}" if rest else first
    return f"nothing is known of `{said}`; what can befall a cluster:\n{forms}"
