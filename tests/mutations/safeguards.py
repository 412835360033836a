"""What keeps the applier from known harm, each as the patch that takes it away, and the tests that notice.

Here belong values only. `test_safeguards` holds that every patch still fits, and by night applies each to a copy of the
sources and runs its tests, one of which has to fail. Add a row for every safeguard of the applier.
"""

from dataclasses import dataclass

SMALL_WORLD = "tests/smallworld/test_small_world.py::test_one_thing_may_go_wrong"
STORIES = "tests/scenarios/test_scenarios.py"
HOSTILE = "tests/properties/test_hostile.py"
GATES = "tests/properties/test_applying.py::test_no_replica_is_added_past_a_gate_whatever_was_asked_before"


@dataclass(frozen=True)
class Safeguard:
    """A safeguard, and what finds out that it is gone."""

    name: str
    path: str
    """Below cli/replan."""
    text: str
    """Stands once in the file."""
    without: str
    """What stands there instead when the safeguard is taken away."""
    caught_by: tuple[str, ...]
    """Tests of which at least one fails then."""


SAFEGUARDS = (
    Safeguard(
        "a list that adds replicas passes the gates also when it is asked for again",
        "applying/decide.py",
        "        elif not set(ask.replicas) <= set(found.replicas):\n",
        "        elif isinstance(self._phase(name), InFlight):\n            self._to_ask[name] = ask\n"
        "        elif not set(ask.replicas) <= set(found.replicas):\n",
        (f"{SMALL_WORLD}[unclean election, 4.3]", GATES, STORIES),
    ),
    Safeguard(
        "no replica is added while an empty one could be elected",
        "applying/admission/gates.py",
        "        or _unclean_election(move, state, seen)\n",
        "",
        (f"{SMALL_WORLD}[unclean election, 4.3]", GATES, STORIES),
    ),
    Safeguard(
        "the target is in sync for the settle time before a replica is dropped",
        "applying/verdicts.py",
        "state.history.settled(name, tick.settings.settle_seconds)",
        "state.history.settled(name, 0.0)",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", HOSTILE, STORIES),
    ),
    Safeguard(
        "a process that takes over asks nothing different for the quarantine",
        "applying/run_state.py",
        "        unknown_since=dict.fromkeys(unconfirmed, now),\n",
        "",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", STORIES),
    ),
    Safeguard(
        "a copy begins under its throttle",
        "applying/decide.py",
        "            if self._throttled(name):\n",
        "            if self._throttled(name) or True:\n",
        (f"{SMALL_WORLD}[throttled, 4.3]", STORIES),
    ),
    Safeguard(
        "a rate is restored only while it has a value that replan set",
        "applying/throttles/broker_rates.py",
        "    if found not in prior.ours:\n        return RateStep(\n",
        "    if not prior.ours:\n        return RateStep(\n",
        ("tests/unit/applying/throttles", STORIES),
    ),
    Safeguard(
        "the late effect of an earlier request of replan is its echo",
        "applying/partitions/judge.py",
        "    if found.running is not None and found.running.target in own.past:\n",
        "    if found.running is not None and not own.past:\n",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", STORIES),
    ),
    Safeguard(
        "two looks agree before anything is concluded",
        "applying/tick_input.py",
        "        return suspected.get(suspicion, self.ended) <= self.now - needed\n",
        "        return suspected.get(suspicion, self.ended) <= self.now\n",
        (f"{SMALL_WORLD}[brokers lag, 4.3]", HOSTILE, STORIES),
    ),
    Safeguard(
        "what brokers show ends a partition only after it was shown for longer than metadata lag",
        "applying/tick_input.py",
        "        needed = self.settings.agreeing_seconds if listed else self.settings.ending_seconds\n",
        "        needed = self.settings.agreeing_seconds if listed else self.settings.agreeing_seconds\n",
        (
            "tests/unit/applying/test_decide.py",
            f"{HOSTILE}::test_a_run_keeps_the_laws_where_brokers_show_what_is_old",
        ),
    ),
    Safeguard(
        "a partition is done only when no earlier list of it may arrive any more",
        "applying/partitions/judge.py",
        "    if own.asked is None or not own.list_pending or sight.quarantine_seconds is None:\n",
        "    if own.asked is None or own.list_pending or not own.list_pending:\n",
        (f"{SMALL_WORLD}[two plans, 4.3]", STORIES),
    ),
    Safeguard(
        "an entry that replan takes out itself was not removed by another tool",
        "applying/throttles/tick.py",
        "            entries[where] = frozenset(prior.ours) & frozenset(present) & wanted\n",
        "            entries[where] = frozenset(prior.ours) & frozenset(present)\n",
        (HOSTILE, STORIES),
    ),
    Safeguard(
        "a leaving replica that catches up is not throttled by the copies",
        "applying/copies.py",
        "    catching_up = out & move.kept or any(tick.seen.live(b) for b in out)\n",
        "    catching_up = out & move.kept\n",
        (HOSTILE, STORIES),
    ),
)
