"""How something befalls the cluster: now, or at a later moment (`at 10s kill 3`)."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from replan.model.control_plane import Accepted, Answer
from replan.scenarios.boundary import answer_in_words
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
from replan.scenarios.faults import fault, lag, produce
from replan.scenarios.foreigners import foreign
from replan.scenarios.story import Story
from replan.scenarios.words import Words
from replan.simulator.decide import perform
from replan.simulator.faults import Ask, At, Happening, Schedule

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
    _schedule(story, seconds, happenings)
    return ""


def befalls(story: Story, name: str, words: Words) -> str:
    """Let it happen now; tells what the controller refuses."""
    happenings = HAPPENINGS[name](story, words)
    words.end()
    now = [h for h in happenings if h.seconds == 0]
    refusals = [text for h in now for text in _befall(story, h.happening)]
    _schedule(story, 0.0, [h for h in happenings if h.seconds > 0])
    return "\n".join(refusals)


def _befall(story: Story, happening: Happening) -> list[str]:
    refusals: list[str] = []
    if isinstance(happening, Ask):
        _, decision = perform(story.plane.simulation.cluster, happening.command)
        answers: list[Answer] = [decision.whole, *(answer for _, answer in decision.each)]
        refusals = [
            f"refused: {answer_in_words(a)}" for a in answers if not isinstance(a, Accepted)
        ]
    story.plane.befall(happening)
    return refusals


def _schedule(story: Story, seconds: float, happenings: Sequence[At]) -> None:
    begins = story.clock.now() + seconds
    story.plane.schedule(tuple(At(begins + h.seconds, h.happening) for h in happenings))
