"""How the golden vectors are read, and how a driver runs one.

Here belong the parser of the table, the driver's protocol, and `tell`, which performs a vector and compares. A driver
is the simulator or a real controller; neither knows about vectors.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

Ids = tuple[int, ...]
BROKERS = range(9)
TWO_DISKS = frozenset({6, 7, 8})
_CONDITION = re.compile(r"(<|>=)(\d\.\d+)(?::\s*|$)")
_STORED = re.compile(r"([a-z][a-z.]+)(=.*|-)")
_CHECKS = re.compile(r"(r|i|a|d|elr|known)\[([\d,]*)\]")


class Observed(Struct, frozen=True):
    """One partition as the controller has it; ISR and ELR in ascending order, since theirs has no meaning."""

    replicas: Ids
    isr: Ids
    adding: Ids
    removing: Ids
    leader: int | None
    leader_epoch: int
    partition_epoch: int
    recovering: bool
    elr: Ids
    last_known_elr: Ids
    directories: tuple[str, ...]
    """Of each replica, `-` where none has been reported."""


class Driver(Protocol):
    """A controller with scripted brokers; each request gives Kafka's error code."""

    said: Sequence[str | None]
    """The controller's words about each part of a client's last request; None where it has none."""

    def create_topic(self, assignments: Sequence[Ids], configs: Mapping[str, str]) -> None: ...
    def create_partitions(self, count: int, assignments: Sequence[Ids]) -> int: ...
    def register(self, broker: int) -> int: ...
    def fence(self, broker: int) -> int: ...
    def unfence(self, broker: int) -> int: ...
    def shut_down(self, broker: int) -> int: ...
    def restart(self, broker: int, *, cleanly: bool) -> int: ...
    def cordon(self, broker: int) -> int: ...
    def assign_directory(self, broker: int, partition: int, directory: str) -> int: ...
    def lose_directory(self, broker: int, directory: str) -> int: ...
    def add_directory(self, broker: int, directory: str) -> int: ...
    def unregister(self, broker: int) -> int: ...
    def alter_isr(self, isr: Ids) -> int: ...
    def reassign(self, targets: Sequence[Ids | None], *, guarded: bool = False) -> int: ...
    def elect(self, *, unclean: bool) -> int: ...
    def configure(self, operation: str, key: str, value: str) -> int: ...
    def configure_brokers(
        self, broker: int | None, operation: str, key: str, value: str
    ) -> int: ...
    def partitions(self) -> Collection[int]: ...
    def observe(self, partition: int) -> Observed: ...
    def configs(self) -> Mapping[str, str]: ...
    def broker_configs(self, broker: int | None) -> Mapping[str, str]: ...


class Versions(Struct, frozen=True):
    """Which versions a line holds for."""

    least: str = "0.0"
    below: str = "99.0"

    def hold(self, version: str) -> bool:
        """Whether it holds for this one."""
        return _ordered(self.least) <= _ordered(version) < _ordered(self.below)


class Check(Struct, frozen=True):
    """What is to be seen after a step."""

    versions: Versions
    partition: int
    text: str


class Step(Struct, frozen=True):
    """One request or happening."""

    versions: Versions
    words: tuple[str, ...]
    checks: tuple[Check, ...] = ()


class Vector(Struct, frozen=True):
    """One story."""

    title: str
    versions: Versions
    elr: bool
    steps: tuple[Step, ...]

    def differs(self, one: str, other: str) -> bool:
        """Whether it says something else of one version than of the other."""
        checks = (check.versions for step in self.steps for check in step.checks)
        of_lines = (self.versions, *(step.versions for step in self.steps), *checks)
        return any(versions.hold(one) != versions.hold(other) for versions in of_lines)


def directories(broker: int) -> tuple[str, ...]:
    """The log directories of a broker that registers for the first time."""
    return ("a", "b") if broker in TWO_DISKS else ("a",)


def read(text: str) -> tuple[Vector, ...]:
    """The vectors of a table."""
    return tuple(_vector(block.splitlines()) for block in text.strip().split("\n\n"))


def for_version(vectors: Sequence[Vector], version: str, *, elr: bool) -> list[Vector]:
    """The vectors that a version of this kind can run."""
    return [v for v in vectors if v.elr == elr and v.versions.hold(version)]


def tell(vector: Vector, version: str, driver: Driver) -> None:
    """Perform a vector and compare; raises AssertionError with the step and what differs."""
    for step in vector.steps:
        if not step.versions.hold(version):
            continue
        code = perform(step.words, driver)
        checks = [c for c in step.checks if c.versions.hold(version)]
        if not any("code" in c.text for c in checks):
            assert code == 0, f"{' '.join(step.words)}: code {code}"
        for check in checks:
            expected, found = check.text, _seen(check, code, driver)
            assert found == expected, f"{' '.join(step.words)}: expected {expected}, found {found}"


def perform(words: Sequence[str], driver: Driver) -> int:
    """Perform one step; Kafka's error code, 0 where all went well."""
    verb, *rest = words
    match verb:
        case "topic":
            lists = [_ids(word) for word in rest if word.startswith("[")]
            driver.create_topic(lists, dict(w.split("=") for w in rest if "=" in w))
            return 0
        case "isr" | "reassign" | "guarded" | "cancel" | "elect" | "grow":
            return _request(verb, rest, driver)
        case "set" | "delete" | "append" | "subtract":
            key, _, value = rest[0].partition("=")
            return driver.configure(verb.upper(), key, value)
        case "brokers" | "broker":
            broker = int(rest.pop(0)) if verb == "broker" else None
            key, _, value = rest[1].partition("=")
            return driver.configure_brokers(broker, rest[0].upper(), key, value)
        case _:
            return _happen(verb, rest, driver)


def _request(verb: str, rest: Sequence[str], driver: Driver) -> int:
    match verb:
        case "isr":
            return driver.alter_isr(_wanted(rest[0], driver.observe(0)))
        case "reassign" | "guarded":
            return driver.reassign(
                [None if word == "cancel" else _ids(word) for word in rest],
                guarded=verb == "guarded",
            )
        case "cancel":
            return driver.reassign([None])
        case "elect":
            return driver.elect(unclean=rest[0] == "unclean")
        case _:
            present = len(driver.partitions()) if rest[0].startswith("+") else 0
            like = driver.observe(0).replicas
            lists = [like if word == "same" else _ids(word) for word in rest[1:]]
            return driver.create_partitions(present + int(rest[0]), lists)


def _wanted(word: str, now: Observed) -> Ids:
    """The ISR that a leader asks for: `all` its replicas, one more (`+4`), one less (`-4`), or a list."""
    if word == "all":
        return now.replicas
    if word.startswith(("+", "-")):
        kept = tuple(b for b in now.isr if b != int(word[1:]))
        return (*kept, int(word)) if word.startswith("+") else kept
    return _ids(word)


def _happen(verb: str, rest: Sequence[str], driver: Driver) -> int:
    broker = int(rest[0])
    match verb:
        case "restart":
            return driver.restart(broker, cleanly=rest[1] == "clean")
        case "dir" | "lose" | "disk":
            return _happen_to_disk(verb, broker, rest[1:], driver)
        case "fence":
            happen = driver.fence
        case "unfence":
            happen = driver.unfence
        case "shutdown":
            happen = driver.shut_down
        case "cordon":
            happen = driver.cordon
        case "register":
            happen = driver.register
        case "unregister":
            happen = driver.unregister
        case _:
            raise ValueError(f"no such step: {verb}")
    return happen(broker)


def _happen_to_disk(verb: str, broker: int, rest: Sequence[str], driver: Driver) -> int:
    directory, *partition = rest
    match verb:
        case "lose":
            return driver.lose_directory(broker, directory)
        case "disk":
            return driver.add_directory(broker, directory)
        case _:
            return driver.assign_directory(broker, int(*partition), directory)


def _seen(check: Check, code: int, driver: Driver) -> str:
    """The named things as they are, in the words of the check."""
    stored = driver.configs()
    state = driver.observe(check.partition)
    lists = {
        "r": state.replicas,
        "i": state.isr,
        "a": state.adding,
        "d": state.removing,
        "elr": state.elr,
        "known": state.last_known_elr,
    }
    words: list[str] = []
    previous = ""
    for word in check.text.split():
        if (found := _CHECKS.fullmatch(word)) is not None:
            words.append(f"{found[1]}[{','.join(map(str, lists[found[1]]))}]")
        elif word.startswith("dirs["):
            words.append(f"dirs[{','.join(state.directories)}]")
        elif (named := _STORED.fullmatch(word)) is not None:
            words.append(f"{named[1]}={stored[named[1]]}" if named[1] in stored else f"{named[1]}-")
        elif previous == "code":
            words.append(str(code))
        elif previous == "count":
            words.append(str(len(driver.partitions())))
        else:
            words.append(_word(word, state))
        previous = word
    return " ".join(words)


def _word(word: str, state: Observed) -> str:
    match word[:2]:
        case "le":
            return f"le{state.leader_epoch}"
        case "pe":
            return f"pe{state.partition_epoch}"
        case "RE" | "re":
            return "RECOVERING" if state.recovering else "recovered"
        case "co":
            return word
        case _:
            return f"L{'-' if state.leader is None else state.leader}"


def _vector(lines: Sequence[str]) -> Vector:
    title, *rest = lines
    versions, elr, steps = Versions(), False, list[Step]()
    for line in rest:
        condition, text = _condition(line.strip())
        if not text:
            versions = condition
        elif text == "elr":
            elr, versions = True, replace(versions, least="4.0")
        elif line.startswith(" "):
            steps[-1] = replace(steps[-1], checks=(*steps[-1].checks, *_checks(condition, text)))
        else:
            steps.append(Step(condition, tuple(text.split())))
    return Vector(title, versions, elr, tuple(steps))


def _checks(versions: Versions, text: str) -> Iterator[Check]:
    partition = 0
    if (named := re.match(r"p(\d+): ", text)) is not None:
        partition, text = int(named[1]), text[named.end() :]
    words = [_sorted(word) for word in text.split()]
    if any(word.startswith("r[") for word in words):
        words += [f"{kind}[]" for kind in "ad" if not any(w.startswith(f"{kind}[") for w in words)]
    yield Check(versions, partition, " ".join(words))


def _sorted(word: str) -> str:
    """The ISR and the ELR are sets."""
    found = _CHECKS.fullmatch(word)
    if found is None or found[1] not in {"i", "elr"}:
        return word
    return f"{found[1]}[{','.join(map(str, sorted(_ids(word.removeprefix(found[1])))))}]"


def _condition(text: str) -> tuple[Versions, str]:
    found = _CONDITION.match(text)
    if found is None:
        return Versions(), text
    versions = Versions(below=found[2]) if found[1] == "<" else Versions(least=found[2])
    return versions, text[found.end() :]


def _ids(word: str) -> Ids:
    return tuple(int(part) for part in word.strip("[]").split(",") if part)


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))[:2]
