"""Words taken one by one: of a fault or of a scenario's command; an error names the place.

Here belong the small forms that all share: brokers, lists, partitions, times, sizes, rates.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from replan.documents.json_text import INT64_MAX
from replan.errors import BadScenario, ReplanError
from replan.model.names import BrokerId, Replicas, TopicPartition, parse_topic_partition, replicas
from replan.placement_file.units import LONGEST_DAYS, parse_rate, parse_seconds, parse_size
from replan.wording import DAY_SECONDS

_T = TypeVar("_T")

_WORD = re.compile(r"\[[^\]]*\](?:\*\d+)?|\S+")
_LIST = re.compile(r"\[\s*(\d+(?:\s*,\s*\d+)*)\s*\](?:\*(\d+))?")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST_BROKERS, _MOST_LISTS = 100_000, 999_999
"""Of one range, and of one list that is repeated: more is a slip of the key, and would fill the memory."""


class _TooMany(ValueError):
    """What is well formed and stands for too much; says how much it may be."""


class TokenReader:
    """What is left of a line."""

    def __init__(
        self,
        text: str,
        where: str,
        *,
        error: type[ReplanError] = BadScenario,
        positions: bool = False,
    ) -> None:
        """`where`: file:line, or what the text is; with `positions` errors count characters in it."""
        self.where = where
        self.form: str | None = None
        """How what is read is written, as soon as that is known; errors show it."""
        self._error = error
        self._positions = positions
        self._words = [(match[0], match.start() + 1) for match in _WORD.finditer(text)]
        self._last: tuple[str, int] | None = None
        self._position: int | None = None
        """Of the word taken last; None at the end."""

    def __bool__(self) -> bool:
        return bool(self._words)

    def wrong(self, problem: str) -> ReplanError:
        """An error at the word taken last."""
        form = "" if self.form is None else f"; the form is: {self.form}"
        at = (
            "" if self._position is None or not self._positions else f", character {self._position}"
        )
        return self._error(f"{self.where}{at}: {problem}{form}")

    def one(self, what: str) -> str:
        """The next word, which must be there; `what` it is, with its article."""
        if not self._words:
            self._position = None
            raise self.wrong(f"{what} is missing")
        self._last = self._words.pop(0)
        word, self._position = self._last
        return word

    def back(self) -> None:
        """Put the word taken last back."""
        if self._last is not None:
            self._words.insert(0, self._last)
            self._last = None

    def rest(self) -> str:
        """Everything that is left, as it was written but for its spaces."""
        return " ".join(word for word, _ in self._words)

    def phrase(self, *wanted: str) -> bool:
        """Take these words if they come next."""
        if tuple(word for word, _ in self._words[: len(wanted)]) != wanted:
            return False
        self._position = self._words[len(wanted) - 1][1]
        del self._words[: len(wanted)]
        return True

    def expect(self, *wanted: str) -> None:
        """Take these words, which must come next."""
        if not self.phrase(*wanted):
            self._position = self._words[0][1] if self._words else None
            given = " ".join(word for word, _ in self._words[: len(wanted)]) or "nothing"
            raise self.wrong(f"`{' '.join(wanted)}` is expected, found {given}")

    def seconds_after(self, word: str) -> float | None:
        """Take the last such word and the time behind it, wherever they stand; None where it is not said."""
        said = [at for at, (given, _) in enumerate(self._words) if given == word]
        if not said:
            return None
        behind = self._words[said[-1] + 1 :]
        ahead, self._words = self._words[: said[-1]], behind
        seconds = self.seconds()
        self._words = ahead + self._words
        return seconds

    def comes_number(self) -> bool:
        """Whether the next word is a whole number."""
        return bool(self._words) and self._words[0][0].isdecimal()

    def comes(self, word: str) -> bool:
        """Whether this is the next word."""
        return bool(self._words) and self._words[0][0] == word

    def choose(self, what: str, among: Mapping[str, _T]) -> _T:
        """The next word as one of these."""
        word = self.one(what)
        if word not in among:
            raise self.wrong(f"{word} is not {what}; known: {', '.join(sorted(among))}")
        return among[word]

    def end(self) -> None:
        """Nothing may be left."""
        if self._words:
            self._position = self._words[0][1]
            raise self.wrong(f"unexpected `{self.rest()}`")

    def number(self, what: str) -> int:
        """A whole number."""
        return self._as(what, "a whole number, e.g. 3", int)

    def broker(self) -> BrokerId:
        """A broker's id."""
        return BrokerId(self.number("a broker"))

    def brokers(self) -> list[BrokerId]:
        """Brokers, as `1-5` or `1-3,7`."""
        return self._as("brokers", "brokers, e.g. 1-5 or 1,2,7", _brokers)

    def partition(self) -> TopicPartition:
        """A partition, as `orders-0`."""
        return self._as("a partition", "a partition, e.g. orders-0", parse_topic_partition)

    def replicas(self) -> Replicas:
        """One list, as `[1,2,3]`."""
        lists = self.lists()
        if len(lists) != 1:
            raise self.wrong(f"one replica list is expected, found {len(lists)}")
        return lists[0]

    def lists(self) -> list[Replicas]:
        """Lists as far as they come; `[1,2,3]*4` is four of them."""
        lists: list[Replicas] = []
        while self._words and self._words[0][0].startswith("["):
            lists += self._as("a list", "a replica list, e.g. [1,2,3]", _lists)
        if not lists:
            raise self.wrong("a replica list is missing, e.g. [1,2,3]")
        return lists

    def seconds(self) -> float:
        """A time, as `30s`, `2m`, `1h`."""
        seconds = self._as("a time", "a time, e.g. 30s, 2m or 1h", parse_seconds)
        if seconds > LONGEST_DAYS * DAY_SECONDS:
            raise self.wrong(f"the time is too long; write at most {LONGEST_DAYS}d")
        return seconds

    def bytes(self) -> int:
        """A size, as `60MB`."""
        size = self._as("a size", "a size, e.g. 60MB", parse_size)
        if size > INT64_MAX:
            raise self.wrong(f"{size} bytes are more than any log has; write {INT64_MAX}B or less")
        return size

    def rate(self) -> float:
        """Bytes per second, as `1MB/s`; `0` is none."""
        return self._as("a rate", "a rate, e.g. 1MB/s, or 0", _rate)

    def _as(self, what: str, form: str, read: Callable[[str], _T]) -> _T:
        word = self.one(what)
        try:
            return read(word)
        except _TooMany as problem:
            raise self.wrong(f"{word} is too many; {problem}") from problem
        except (ValueError, AttributeError, TypeError) as problem:
            raise self.wrong(f"{word} is not {form}") from problem


def _matched(form: re.Pattern[str], word: str) -> re.Match[str]:
    match = form.fullmatch(word)
    if match is None:
        raise ValueError(word)
    return match


def _brokers(word: str) -> list[BrokerId]:
    brokers: list[BrokerId] = []
    for part in word.split(","):
        first, last = _matched(_RANGE, part).groups()
        if last and int(last) - int(first) >= _MOST_BROKERS:
            raise _TooMany(f"write ranges of at most {_MOST_BROKERS:,} brokers")
        brokers += [BrokerId(b) for b in range(int(first), int(last or first) + 1)]
    return brokers


def _lists(word: str) -> list[Replicas]:
    ids, times = _matched(_LIST, word).groups()
    if times and int(times) > _MOST_LISTS:
        raise _TooMany(f"repeat a list at most {_MOST_LISTS:,} times")
    return [replicas(*(int(i) for i in ids.split(",")))] * int(times or 1)


def _rate(word: str) -> float:
    if word == "0":
        return 0.0
    rate = parse_rate(word)
    if rate is None:
        raise ValueError(word)
    return float(rate)
