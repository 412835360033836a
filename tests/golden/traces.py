"""Random stories in the language of the golden vectors: any steps, sensible or not, in any order.

Here belongs the strategy that makes them. They have no checks of their own: what must hold of them is a law
(tests/unit/simulator), or that two drivers agree (`test_traces_controller`).
"""

from collections.abc import Iterable

from hypothesis import strategies as st

Words = tuple[str, ...]
BROKERS = range(1, 7)


def _lists(least: int, most: int) -> st.SearchStrategy[str]:
    """Lists of brokers without repetition, as the language writes them."""
    ids = st.lists(st.sampled_from(BROKERS), min_size=least, max_size=most, unique=True)
    return ids.map(lambda chosen: f"[{','.join(map(str, chosen))}]")


def _of_brokers(*verbs: str) -> st.SearchStrategy[Words]:
    return st.tuples(st.sampled_from(verbs), st.sampled_from(BROKERS).map(str))


STEPS: st.SearchStrategy[Words] = st.one_of(
    _of_brokers("fence"),
    _of_brokers("unfence"),
    st.tuples(st.just("isr"), _lists(1, 6)),
    st.tuples(st.just("isr"), _lists(1, 6)),
    st.tuples(st.just("reassign"), _lists(1, 5)),
    st.tuples(st.just("reassign"), _lists(1, 5)),
    st.tuples(st.just("reassign"), _lists(0, 4), _lists(1, 4)),
    st.just(("cancel",)),
    st.tuples(st.just("elect"), st.sampled_from(("preferred", "unclean"))),
    st.tuples(
        st.just("config"),
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
    _of_brokers("shutdown", "unregister", "cordon"),
)
RESTARTS: st.SearchStrategy[Words] = st.tuples(
    st.just("restart"), st.sampled_from(BROKERS).map(str), st.sampled_from(("clean", "unclean"))
)


def traces(
    steps: st.SearchStrategy[Words], *, shortest: int, longest: int
) -> st.SearchStrategy[list[Words]]:
    """A topic of two partitions, then steps; brokers that left are left alone, unless they start again."""
    topic = st.tuples(
        st.just("topic"),
        _lists(3, 3),
        _lists(3, 3),
        st.sampled_from(
            ("min.insync.replicas=2", "min.insync.replicas=1", "min.insync.replicas=3")
        ),
    )
    return st.tuples(topic, st.lists(steps, min_size=shortest, max_size=longest)).map(
        lambda told: [told[0], *_without_gone(told[1])]
    )


def _without_gone(steps: Iterable[Words]) -> Iterable[Words]:
    stopped: set[str] = set()
    unregistered: set[str] = set()
    for words in steps:
        verb, *rest = words
        if verb in {"fence", "unfence", "shutdown", "unregister", "cordon", "restart"}:
            broker = rest[0]
            if broker in unregistered or (broker in stopped and verb != "restart"):
                continue
            stopped.discard(broker)
            if verb == "shutdown":
                stopped.add(broker)
            elif verb == "unregister":
                unregistered.add(broker)
        yield words
