"""How something befalls the cluster of a story: now, or later (`at 10s kill 3`). The words are in `faults`."""

from collections.abc import Sequence

from replan.faults.read import read_schedule
from replan.faults.token_reader import Words
from replan.scenarios.session import Story
from replan.simulator.cluster.faults import At


def at(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`at 10s kill 3`: so long from now, whatever goes on then."""
    seconds = words.seconds()
    _note(story, seconds, read_schedule(words, story.surroundings()))
    return ""


def befalls(story: Story, words: Words, _body: Sequence[str]) -> str:
    """`kill 3`: let it happen now, or begin now; the command is the first of its words."""
    words.back()
    happenings = read_schedule(words, story.surroundings())
    for now in (h for h in happenings if h.seconds == 0):
        story.befall(now.happening)
    _note(story, 0.0, [h for h in happenings if h.seconds > 0])
    return ""


def _note(story: Story, seconds: float, happenings: Sequence[At]) -> None:
    begins = story.clock.now() + seconds
    story.agenda += [At(begins + h.seconds, h.happening) for h in happenings]
