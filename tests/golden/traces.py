"""Random stories in the language of the golden vectors: any steps, sensible or not, in any order.

Here belongs the strategy that makes them. They have no checks of their own: what must hold of them is a law
(tests/unit/simulator), or that two drivers agree (`test_traces_controller`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hypothesis import strategies as st
from tests.golden.language import directories

Words = tuple[str, ...]
BROKERS = range(1, 7)
NEWCOMER = 9
"""A broker that is not registered in the beginning."""
LEADER, FOLLOWER = (
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
ELEMENTS = ("0:1", "0:2", "1:2", "*", "", " 0:1", "0:1 ", "0:x", "-1:2", "0", "all", "10:20")
"""Of throttle lists: entries that mean something, and what people mistype."""


def _lists(
    least: int, most: int, *, among: Sequence[int] = BROKERS, unique: bool = True
) -> st.SearchStrategy[str]:
    """Lists of brokers as the language writes them."""
    ids = st.lists(st.sampled_from(among), min_size=least, max_size=most, unique=unique)
    return ids.map(lambda chosen: f"[{','.join(map(str, chosen))}]")


OF_BROKERS = frozenset(
    [
        "fence",
        "unfence",
        "shutdown",
        "unregister",
        "cordon",
        "restart",
        "register",
        "dir",
        "lose",
        "disk",
    ]
)
_ON_DISKS = st.sampled_from((*BROKERS, 6, 6, 6, 6)).map(str)
"""Mostly the only one that has two disks. A second one would fell controllers: they do not survive a request that names
a partition twice with lists of different lengths and the same directories, as unassigned ones are."""


def _of_brokers(*verbs: str, among: Sequence[int] = BROKERS) -> st.SearchStrategy[Words]:
    return st.tuples(st.sampled_from(verbs), st.sampled_from(among).map(str))


def _grown() -> st.SearchStrategy[Words]:
    """More partitions: mostly one or two more on three brokers, also too few, too many and impossible lists."""
    likely = st.lists(st.one_of(st.just("same"), _lists(1, 4)), min_size=1, max_size=2)
    odd = st.lists(_lists(0, 4, among=(*BROKERS, 7, NEWCOMER), unique=False), max_size=3)
    counts = st.sampled_from(("1", "2", "3", "4", "+0", "+1", "+2"))
    return st.one_of(
        likely.map(lambda lists: ("grow", f"+{len(lists)}", *lists)),
        st.builds(lambda count, lists: ("grow", count, *lists), counts, odd),
    )


def _throttled() -> st.SearchStrategy[Words]:
    """Operations on the topic's throttle lists."""
    few = st.lists(st.sampled_from(ELEMENTS[:4]), min_size=1, max_size=3)
    any_ = st.lists(st.sampled_from(ELEMENTS), min_size=0, max_size=3)
    values = st.one_of(few, few, any_).map(",".join)
    verbs = st.sampled_from(("set", "append", "append", "subtract", "subtract", "delete"))
    return st.builds(
        lambda verb, key, value: (verb, key if verb == "delete" else f"{key}={value}"),
        verbs,
        st.sampled_from((LEADER, LEADER, FOLLOWER)),
        values,
    )


def _of_all_brokers() -> st.SearchStrategy[Words]:
    """Defaults of all brokers, mostly those that decide who is in sync and who leads, and a broker's own values."""
    decisive = (
        "min.insync.replicas=1",
        "min.insync.replicas=2",
        "min.insync.replicas=3",
        "unclean.leader.election.enable=true",
        "unclean.leader.election.enable=false",
    )
    rates = tuple(
        f"{side}.replication.throttled.rate={rate}"
        for side in ("leader", "follower")
        for rate in (0, 1000)
    )
    named = st.sampled_from((*decisive, *rates))
    change = st.one_of(
        st.tuples(st.sampled_from(("set", "set", "append")), named),
        named.map(lambda value: ("delete", value.partition("=")[0])),
    )
    whose = st.one_of(
        st.just(("brokers",)),
        st.sampled_from((*BROKERS, NEWCOMER)).map(lambda b: ("broker", str(b))),
    )
    return st.tuples(whose, change).map(lambda both: (*both[0], *both[1]))


STEPS: st.SearchStrategy[Words] = st.one_of(
    _of_brokers("fence"),
    _of_brokers("unfence"),
    st.tuples(st.just("isr"), _lists(1, 6)),
    st.one_of(st.just(("isr", "all")), st.sampled_from(BROKERS).map(lambda b: ("isr", f"+{b}"))),
    st.one_of(st.just(("isr", "all")), st.sampled_from(BROKERS).map(lambda b: ("isr", f"-{b}"))),
    st.tuples(st.just("reassign"), _lists(1, 5)),
    st.tuples(st.just("reassign"), _lists(1, 5)),
    st.tuples(st.just("reassign"), _lists(0, 4), _lists(1, 4)),
    st.just(("cancel",)),
    st.tuples(st.just("elect"), st.sampled_from(("preferred", "unclean"))),
    st.tuples(
        st.just("set"),
        st.sampled_from(
            (
                "min.insync.replicas=1",
                "min.insync.replicas=2",
                "min.insync.replicas=3",
                "unclean.leader.election.enable=true",
                "unclean.leader.election.enable=false",
            )
        ),
    ),
    st.sampled_from(
        (
            ("delete", "min.insync.replicas"),
            ("delete", "unclean.leader.election.enable"),
            ("append", "min.insync.replicas=2"),
            ("set", "min.insync.replicas=0"),
            ("set", "min.insync.replicas=two"),
            ("set", "unclean.leader.election.enable=maybe"),
        )
    ),
    _throttled(),
    _of_all_brokers(),
    _grown(),
    _of_brokers("shutdown", "unregister", "cordon"),
    st.tuples(st.just("dir"), _ON_DISKS, st.sampled_from("abc"), st.sampled_from(("0", "0", "1"))),
    st.tuples(st.sampled_from(("lose", "lose", "disk")), _ON_DISKS, st.sampled_from("abc")),
    _of_brokers("register", "fence", "unfence", among=(NEWCOMER, NEWCOMER, *BROKERS)),
    st.tuples(st.just("reassign"), _lists(1, 4, among=(*BROKERS, NEWCOMER))),
    st.tuples(st.just("guarded"), _lists(2, 4)),
)
RESTARTS: st.SearchStrategy[Words] = st.tuples(
    st.just("restart"), st.sampled_from(BROKERS).map(str), st.sampled_from(("clean", "unclean"))
)


def traces(
    steps: st.SearchStrategy[Words], *, shortest: int, longest: int
) -> st.SearchStrategy[list[Words]]:
    """A topic of two partitions, then steps; brokers that left are left alone, unless they come back."""
    topic = st.tuples(
        st.just("topic"),
        _lists(3, 3),
        _lists(3, 3),
        st.sampled_from(
            ("min.insync.replicas=2", "min.insync.replicas=1", "min.insync.replicas=3")
        ),
    )
    return st.tuples(topic, st.lists(steps, min_size=shortest, max_size=longest)).map(
        lambda told: [told[0], *_possible(told[1])]
    )


def _possible(steps: Iterable[Words]) -> Iterable[Words]:
    """The steps that scripted brokers can do: only who is not registered can register, and who keeps a disk lives."""
    lost: defaultdict[str, set[str]] = defaultdict(set)
    stopped: set[str] = set()
    unregistered = {str(NEWCOMER)}
    for words in steps:
        verb, *rest = words
        if verb in OF_BROKERS:
            broker = rest[0]
            if (broker in unregistered) != (verb == "register"):
                continue
            if broker in stopped and verb != "restart":
                continue
            if verb == "lose" and not _left(lost, broker, rest[1]):
                continue
            if verb == "disk":
                lost[broker].discard(rest[1])
            stopped.discard(broker)
            unregistered.discard(broker)
            if verb == "shutdown":
                stopped.add(broker)
            elif verb == "unregister":
                unregistered.add(broker)
        yield words


def _left(lost: Mapping[str, set[str]], broker: str, directory: str) -> bool:
    """Lose a directory, unless it is the last one."""
    if lost[broker] | {directory} >= set(directories(int(broker))):
        return False
    lost[broker].add(directory)
    return True
