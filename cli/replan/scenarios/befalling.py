"""How something befalls the cluster: now, or at a later moment (`at 10s kill 3`)."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from replan.scenarios.brokers import (
    cordon,
    fence,
    kill,
    restart,
    shutdown,
    start,
    uncordon,
    unfence,
    unregister,
)
from replan.scenarios.faults import fault, lag, produce, slow
from replan.scenarios.foreigners import foreign
from replan.scenarios.story import Story
from replan.scenarios.words import Words
from replan.simulator.faults import At, Schedule

HAPPENINGS: Mapping[str, Callable[[Story, Words], Schedule]] = MappingProxyType(
    {
        "cordon": cordon,
        "fault": fault,
        "fence": fence,
        "foreign": foreign,
        "kill": kill,
        "lag": lag,
        "produce": produce,
        "restart": restart,
        "shutdown": shutdown,
        "slow": slow,
        "start": start,
        "uncordon": uncordon,
        "unfence": unfence,
        "unregister": unregister,
    }
)


def at(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`at 10s kill 3`: so long from now, whatever goes on then."""
    seconds = words.seconds()
    happenings = words.choose("something that can happen", HAPPENINGS)(story, words)
    words.end()
    _note(story, seconds, happenings)
    return ""


def befalls(name: str, story: Story, words: Words, _body: Sequence[str]) -> str:
    """Let it happen now, or begin now."""
    happenings = HAPPENINGS[name](story, words)
    words.end()
    for now in (h for h in happenings if h.seconds == 0):
        story.befall(now.happening)
    _note(story, 0.0, [h for h in happenings if h.seconds > 0])
    return ""


def _note(story: Story, seconds: float, happenings: Sequence[At]) -> None:
    begins = story.clock.now() + seconds
    story.agenda += [At(begins + h.seconds, h.happening) for h in happenings]
