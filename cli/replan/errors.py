"""The whole tree of errors, by whose move it is next.

    ReplanError                       exit 1
    ├── BadPlacement                  the author of the placement file: file:line:column, key, what would be right
    ├── BadFile                       a plan, snapshot, journal or properties file that cannot be read or written
    ├── BadScenario                   the author of a scenario: file:line, what is not known, what is
    ├── BadUsage                      a flag or a combination of flags that means nothing
    ├── WrongCluster                  the placement or plan names another cluster than the one that answered
    ├── ClusterUnreachable            nobody answers, or not within the patience
    ├── ClusterRefused                the cluster answered no to the whole request (authorisation, version)
    ├── UnsafePlan                    exit 3: a safety rule or a limit says no; each refusal is named
    └── Held                          exit 4: another party has it: open application, lock, foreign reassignment

An error's text is complete: what is wrong, where, and what to do. The first line stands alone.
Errors of single partitions are not exceptions but values (`planning.safety.refusals`, `applying.ledger`):
one partition's refusal never ends the others.
"""

from enum import IntEnum


class Exit(IntEnum):
    """What the process reports to its caller."""

    OK = 0
    ERROR = 1
    CHANGES = 2
    REFUSED = 3
    HELD = 4
    INTERRUPTED = 130


class ReplanError(Exception):
    """Any failure that replan explains."""

    exit_code: Exit = Exit.ERROR


class BadPlacement(ReplanError):
    """The placement file cannot be used as it is written."""


class BadFile(ReplanError):
    """A file of replan's own, or a properties file, cannot be read or written."""


class BadScenario(ReplanError):
    """A scenario asks for something that has no meaning."""


class BadUsage(ReplanError):
    """The command line asks for something that has no meaning."""


class WrongCluster(ReplanError):
    """The cluster that answered is not the one that was meant."""


class ClusterUnreachable(ReplanError):
    """The cluster does not answer within the patience."""

    def __init__(self, message: str, *, waits_for: str | None = None) -> None:
        super().__init__(message)
        self.waits_for = waits_for
        """Who does not answer, where a broker answers and waits for another: the active controller."""


class ClusterRefused(ReplanError):
    """The cluster answered no to a whole request."""


class UnsafePlan(ReplanError):
    """A safety rule or a limit refuses the plan."""

    exit_code = Exit.REFUSED


class Held(ReplanError):
    """Another party holds what the command needs."""

    exit_code = Exit.HELD


def unexpected(problem: Exception) -> str:
    """What is said of a mistake of this program, where the work for others goes on."""
    return f"unexpected {type(problem).__name__}: {problem}; please report it"
