"""Patterns over topics, and which of several entries counts for a topic.

A pattern is a name with `*`, `?` or `[...]`; those three occur in no legal name. An exact name wins over a pattern, a
longer literal prefix over a shorter one, and the winner counts whole: nothing is inherited from the others. An entry
does not mean what it excepts (`except`), so that the next one counts there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from replan.model.names import is_internal

Patterns = Mapping[str, Sequence[str]]
"""Names and patterns of entries, each with the names and patterns that its entry excepts."""

_WILD = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Whether this is meant for many topics."""
    return _WILD.search(text) is not None


def literal_prefix(pattern: str) -> str:
    """What comes before the first wild character; the whole of a plain name."""
    return _WILD.split(pattern, maxsplit=1)[0]


def matches(pattern: str, topic: str) -> bool:
    """Whether a pattern means a topic; an internal topic only where the literal prefix says so."""
    if is_internal(topic) and not is_internal(literal_prefix(pattern)):
        return False
    return fnmatchcase(topic, pattern)


class PatternEntry(Protocol):
    """An entry for a name or a pattern, which may leave topics out."""

    @property
    def excepted(self) -> Sequence[str]:
        """Names and patterns of topics that the entry does not mean."""


def patterns_of(entries: Mapping[str, PatternEntry], others: Iterable[str] = ()) -> Patterns:
    """What entries by name or pattern mean; `others`: names and patterns that except nothing."""
    plain: dict[str, Sequence[str]] = dict.fromkeys(others, ())
    return {name: entry.excepted for name, entry in entries.items()} | plain


def means(pattern: str, excepted: Iterable[str], topic: str) -> bool:
    """Whether an entry means a topic: its name or pattern matches it, and nothing that it excepts does."""
    return matches(pattern, topic) and not any(matches(one, topic) for one in excepted)


def winners(patterns: Patterns, topics: Iterable[str]) -> Mapping[str, str]:
    """Which name or pattern counts for each topic; a topic that none matches, or two equally well, is left out."""
    return {
        topic: best_patterns[0]
        for topic, best_patterns in most_specific_patterns(patterns, topics)
        if len(best_patterns) == 1
    }


def ties(patterns: Patterns, topics: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Topics that several patterns match equally well, with those patterns."""
    return {
        topic: best_patterns
        for topic, best_patterns in most_specific_patterns(patterns, topics)
        if len(best_patterns) > 1
    }


def by_particularity(names: Iterable[str], topic: str) -> Sequence[str]:
    """The names and patterns that mean a topic, the one that counts first, up to where two are equal."""
    unranked, ordered = dict.fromkeys(names), list[str]()
    while name := winners(patterns_of({}, unranked), [topic]).get(topic):
        ordered.append(name)
        del unranked[name]
    return ordered


def most_specific_patterns(
    patterns: Patterns, topics: Iterable[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """The patterns with the longest literal prefix among those that match a topic; an exact name alone."""
    by_length: dict[int, list[str]] = {}
    for pattern in sorted(filter(is_pattern, patterns)):
        by_length.setdefault(len(literal_prefix(pattern)), []).append(pattern)
    longest_first = [by_length[length] for length in sorted(by_length, reverse=True)]
    for topic in topics:
        if topic in patterns:
            yield topic, [topic]
            continue
        for equal in longest_first:
            meaning = [pattern for pattern in equal if means(pattern, patterns[pattern], topic)]
            if meaning:
                yield topic, meaning
                break
