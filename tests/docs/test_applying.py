"""docs/applying.md shows the phases and transitions that the code allows."""

import inspect

from tests.docs.pages import check_section

from replan.applying.api import TRANSITIONS

SECTION = """\
`applying/partitions.py` has the reason of each transition.

```mermaid
stateDiagram-v2
{arrows}
```

| phase | a partition in this phase |
| --- | --- |
{rows}

InFlight and Ended are in the journal and outlive the process. The others belong to this process; another one begins
with Waiting. A move that copies nothing goes from Waiting to InFlight directly.
"""


def test_the_phases_are_those_of_the_code() -> None:
    arrows = ["    [*] --> Waiting"]
    for phase, following in TRANSITIONS.items():
        arrows += [
            f"    {phase.__name__} --> {after.__name__}"
            for after in following
            if after is not phase
        ]
    arrows.append("    Ended --> [*]")
    rows = [f"| {phase.__name__} | {inspect.getdoc(phase)} |" for phase in TRANSITIONS]
    text = SECTION.format(arrows="\n".join(arrows), rows="\n".join(rows))
    check_section("applying.md", "## Phases of a partition", text)
