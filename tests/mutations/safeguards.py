"""What keeps the applier from known harm, each as the patch that takes it away, and the tests that notice.

Here belong values only. `test_safeguards` holds that every patch still fits, and by night applies each to a copy of the
sources and runs its tests, one of which has to fail. Add a row for every safeguard of the applier.
"""

from dataclasses import dataclass

SMALL_WORLD = "tests/smallworld/test_small_world.py::test_one_thing_may_go_wrong"
STORIES = "tests/scenarios/test_scenarios.py"
STORY = f"{STORIES}::test_the_output_of_a_scenario_is_as_written"
UNIT = "tests/unit/applying"
HOSTILE = "tests/properties/test_hostile.py"
JOURNAL = (
    "tests/properties/test_journal_faults.py::"
    "test_one_writes_all_of_it_is_kept_one_application_is_open_and_nothing_else_is_touched"
)
ONE_OPEN = (
    "tests/properties/test_journal_faults.py::"
    "test_an_application_that_is_open_in_one_journal_forbids_one_in_another"
)


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
        "applying/tick/decide.py",
        "        elif not set(ask.replicas) <= set(state.replicas):\n",
        "        elif isinstance(self._phase(name), InFlight):\n            self._to_ask[name] = ask\n"
        "        elif not set(ask.replicas) <= set(state.replicas):\n",
        (f"{SMALL_WORLD}[unclean election, 4.3]", STORIES),
    ),
    Safeguard(
        "no replica is added while an empty one could be elected",
        "applying/admission.py",
        "        or _unclean_election(move, state, look)\n",
        "",
        (f"{SMALL_WORLD}[unclean election, 4.3]", STORIES),
    ),
    Safeguard(
        "the target is in sync for the settle time before a replica is dropped",
        "applying/tick/decide.py",
        "state.history.settled(name, tick.settings.settle_seconds)",
        "state.history.settled(name, 0.0)",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", HOSTILE, STORIES),
    ),
    Safeguard(
        "a process that takes over asks nothing different for the quarantine",
        "applying/tick/run_state.py",
        "        moves=RequestMemory(unknown_since=dict.fromkeys(unconfirmed, since)),\n",
        "",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", STORIES),
    ),
    Safeguard(
        "a copy begins under its throttle",
        "applying/tick/decide.py",
        "            if self._throttled(name):\n",
        "            if self._throttled(name) or True:\n",
        (f"{SMALL_WORLD}[throttled, 4.3]", STORIES),
    ),
    Safeguard(
        "a rate that was changed stays written down while the request for the one before may arrive",
        "applying/throttles.py",
        "() if may_arrive and wanted in prior.ours else _recorded(prior, wanted)",
        "_recorded(prior, wanted)",
        (f"{UNIT}/throttles/test_throttles.py",),
    ),
    Safeguard(
        "a rate is restored only while it has a value that replan set",
        "applying/throttles.py",
        "    if value not in prior.ours:\n        return RateStep(\n",
        "    if not prior.ours:\n        return RateStep(\n",
        ("tests/unit/applying/throttles", STORIES),
    ),
    Safeguard(
        "the late effect of an earlier request of replan is its echo",
        "applying/partitions.py",
        "    if own.began(running):\n        return unless_quarantined(given, own, CANCEL)\n",
        "    if running is not None and not own.past:\n        return unless_quarantined(given, own, CANCEL)\n",
        (f"{SMALL_WORLD}[requests and brokers fail, 4.3]", STORIES),
    ),
    Safeguard(
        "two looks agree before anything is concluded",
        "applying/partitions.py",
        "        return suspected.get((subject, self.conclusion), tick.ended) <= tick.now - needed\n",
        "        return suspected.get((subject, self.conclusion), tick.ended) <= tick.now\n",
        (f"{SMALL_WORLD}[brokers lag behind a new order, 4.3]", HOSTILE, STORIES),
    ),
    Safeguard(
        "what brokers show ends a partition only after it was shown for longer than metadata lag",
        "applying/partitions.py",
        "        needed = tick.settings.agreeing_seconds if listed else tick.settings.ending_seconds\n",
        "        needed = tick.settings.agreeing_seconds if listed else tick.settings.agreeing_seconds\n",
        (
            f"{SMALL_WORLD}[brokers lag behind a new order, 4.3]",
            "tests/unit/applying/test_decide.py",
            f"{HOSTILE}::test_a_run_keeps_the_laws_where_brokers_show_what_is_old",
        ),
    ),
    Safeguard(
        "a partition is done only when no earlier list of it may arrive any more",
        "applying/partitions.py",
        "    if own.asked is None or not own.list_pending or given.quarantine_seconds is None:\n",
        "    if own.asked is None or own.list_pending or not own.list_pending:\n",
        (f"{SMALL_WORLD}[two plans, 4.3]", STORIES),
    ),
    Safeguard(
        "an entry that replan takes out itself was not removed by another tool",
        "applying/throttles.py",
        "        in_place=ours & present & wanted,\n",
        "        in_place=ours & present,\n",
        (
            f"{SMALL_WORLD}[throttled, 4.3]",
            f"{STORY}[an-in-sync-flap-of-one-look-is-no-other-tools-doing]",
            HOSTILE,
        ),
    ),
    Safeguard(
        "a leaving replica that catches up is not throttled by the copies",
        "applying/throttles.py",
        "    return not out.isdisjoint(stays) or any(look.live(b) for b in out)\n",
        "    return not out.isdisjoint(stays)\n",
        (HOSTILE, STORIES),
    ),
    Safeguard(
        "looks that take long delay the drop of a replica and never prevent it",
        "applying/observation.py",
        "        vouched = self.vouched + min(self.gap(began), share)\n",
        "        vouched = self.vouched + (self.gap(began) if self.gap(began) <= share else 0.0)\n",
        (
            f"{UNIT}/observation",
            f"{STORY}[looks-that-take-long-delay-the-end-and-never-prevent-it]",
        ),
    ),
    Safeguard(
        "the settle time counts from the end of the look that first shows all in sync",
        "applying/observation.py",
        "        looked_at = vouched + min(ended - began, share)\n",
        "        looked_at = vouched\n",
        (
            f"{UNIT}/observation",
            HOSTILE,
        ),
    ),
    Safeguard(
        "a look that fails vouches for nothing",
        "applying/observation.py",
        "        return replace(self, target_in_sync={}, new_in_sync={})\n",
        "        return self\n",
        (
            f"{UNIT}/observation",
            HOSTILE,
        ),
    ),
    Safeguard(
        "damage of a journal is an error, but for the end of its last append",
        "applying/journal/lines.py",
        '        if first_append or b"\\0" not in text or follows:\n',
        "        if first_append:\n",
        (f"{UNIT}/journal",),
    ),
    Safeguard(
        "a journal is compared with the cluster before anything else",
        "applying/journal/file.py",
        "    for other in sorted((whose | {content.head.cluster_id}) - {cluster_id}):\n",
        "    for other in sorted(whose - whose):\n",
        (f"{UNIT}/journal",),
    ),
    Safeguard(
        "a process whose journal was removed or replaced finds out at its next append",
        "applying/journal/file.py",
        "        if not is_at(self._file, self._path):\n",
        "        if self._file < 0:\n",
        (f"{UNIT}/journal",),
    ),
    Safeguard(
        "a copy waits while the rate of a live broker cannot be read",
        "applying/throttles.py",
        "        if rate[0] in view.brokers or rate[0] in view.live\n",
        "        if rate[0] in view.brokers\n",
        (
            f"{STORY}[a-copy-waits-while-a-live-brokers-rate-cannot-be-read]",
            HOSTILE,
        ),
    ),
    Safeguard(
        "an application stays while one of its lists may still arrive",
        "applying/run/application_run.py",
        "        if self._works() or lingering(tick, state) or may_arrive(state):\n",
        "        if self._works() or lingering(tick, state):\n",
        (f"{UNIT}/test_stories.py", HOSTILE),
    ),
    Safeguard(
        "an application stays while a copy runs on that it has begun",
        "applying/run/application_run.py",
        "        if self._works() or lingering(tick, state) or may_arrive(state):\n",
        "        if self._works() or may_arrive(state):\n",
        (
            f"{STORY}[a-copy-that-another-tool-carries-on-keeps-its-throttle]",
            HOSTILE,
        ),
    ),
    Safeguard(
        "fenced is not gone: before 4.1 brokers are asked for by name",
        "applying/tick/looking.py",
        "        registered=job.plan.racks.keys() | own,\n",
        "        registered=own,\n",
        (
            f"{STORY}[before-4.1-a-broker-that-restarts-makes-no-move-stale]",
            HOSTILE,
        ),
    ),
    Safeguard(
        "what is refused once, as by a broker that has just restarted, is asked for again",
        "applying/request_memory.py",
        "    if refused is None or refused.last_at - refused.since < agreeing_seconds:\n",
        "    if refused is None:\n",
        (
            f"{UNIT}/test_refused.py",
            f"{UNIT}/test_decide.py",
            STORIES,
        ),
    ),
    Safeguard(
        "what nothing moves any more is given up",
        "applying/run/application_run.py",
        "        return min(ends, default=inf)\n",
        "        return 2 * min(ends, default=inf)\n",
        (
            f"{STORY}[an-application-that-nothing-can-move-ends-with-what-holds-it]",
            STORIES,
        ),
    ),
    Safeguard(
        "a reassignment of another tool that hangs on dead brokers takes no slots",
        "applying/admission.py",
        "    if not any(map(live, running.adding)):\n",
        "    if not running.adding:\n",
        (
            f"{STORY}[reassignments-that-hang-on-a-dead-broker-take-no-slots]",
            f"{UNIT}/admission",
        ),
    ),
    Safeguard(
        "replan's own copies are no other tool's reassignments",
        "applying/admission.py",
        "        if not runs_own(look, owned.get(name)):\n",
        "        if name:\n",
        (
            f"{STORY}[before-4.1-a-reorder-does-not-wait-for-replans-own-copy]",
            f"{UNIT}/admission",
        ),
    ),
    Safeguard(
        "a request without an answer is repeated after growing pauses",
        "applying/partitions.py",
        "    if given.repeat_seconds:\n",
        "    if given.repeat_seconds and given.own is None:\n",
        (f"{STORY}[a-request-without-an-answer-is-repeated-with-longer-and-longer-pauses]",),
    ),
    Safeguard(
        "nothing is sent that rests on too old a look, however long the process stood still",
        "applying/run/application_run.py",
        "Sender(self._ports.writer, self._ports.clock, tick.now + limit)",
        "Sender(self._ports.writer, self._ports.clock, appended + limit)",
        (
            f"{UNIT}/test_stories.py",
            STORIES,
            HOSTILE,
        ),
    ),
    Safeguard(
        "a partition does not end while its own copy waits for a broker that is gone for good",
        "applying/partitions.py",
        "(_worse_with_it(given, state) if copies else None) or endless",
        "_worse_with_it(given, state) if copies else None",
        (f"{STORY}[a-copy-to-a-broker-that-is-gone-for-good-leaves-nothing-running]", HOSTILE),
    ),
    Safeguard(
        "a list of replan's own that runs after its partition's end is taken up again",
        "applying/tick/decide.py",
        "    builder.take_up()\n",
        "",
        (
            f"{STORY}[a-request-that-arrives-when-its-partition-is-done-is-taken-back]",
            f"{STORY}[a-copy-that-goes-on-after-its-end-is-taken-back-once-its-broker-is-gone]",
        ),
    ),
    Safeguard(
        "a topic whose records are found by its number of partitions gets no more",
        "planning/growth.py",
        "        if has_fixed_count(topic)\n",
        "        if has_fixed_count(topic) and count < 0\n",
        ("tests/unit/planning/test_creates.py",),
    ),
    Safeguard(
        "what is not as planned any more ends a partition also while it copies",
        "applying/partitions.py",
        "            broken = _broken(given) or _unavailable(given)\n",
        "            broken = _unavailable(given)\n",
        (
            f"{STORY}[a-min-isr-that-is-raised-during-the-copy-is-acted-on-at-once]",
            f"{UNIT}/partitions",
        ),
    ),
    Safeguard(
        "a leaving broker that Kafka refuses in a list is left out of it",
        "applying/partitions.py",
        "    refused = isinstance(given.answer, Rejected) and given.answer.code == unnameable\n",
        "    refused = False\n",
        (
            f"{STORY}[a-leaving-broker-that-is-cordoned-after-the-plan-is-left-out-of-the-list]",
            f"{UNIT}/partitions",
        ),
    ),
    Safeguard(
        "the plan alone says of nobody that no list may name him",
        "applying/partitions.py",
        "    gone |= cordoned if refused else cordoned & move.unnameable\n",
        "    gone |= cordoned if refused else move.unnameable\n",
        (
            f"{UNIT}/partitions",
            HOSTILE,
        ),
    ),
    Safeguard(
        "a move that was passed over reserves slots for a while, not for ever",
        "applying/admission.py",
        "    return passed_over // TIMES_PASSED_OVER % 2 == 1\n",
        "    return passed_over >= TIMES_PASSED_OVER\n",
        (
            f"{UNIT}/admission",
            f"{UNIT}/test_decide.py",
        ),
    ),
    Safeguard(
        "a process that wrote after the last look at its lock was not silent",
        "kafka/journal/owner.py",
        " and reader.lock_before == watch.lock",
        "",
        ("tests/properties/test_journal_faults.py",),
    ),
    Safeguard(
        "a broker begins to lead no more partitions of internal topics than it soon reads",
        "applying/admission.py",
        "        if begins - self.now >= QUEUE_SECONDS:\n",
        "        if False:\n",
        (
            f"{UNIT}/admission/test_coordinators.py",
            f"{STORY}[leaders-of-internal-topics-move-one-by-one-to-each-broker]",
        ),
    ),
    Safeguard(
        "no copy is begun while partitions of others fall under min ISR on its brokers",
        "applying/tick/decide.py",
        "        self._admission = self._admission or others_suffer(self._tick, self._state)\n",
        "",
        (f"{STORY}[no-more-copies-begin-while-others-fall-under-min-isr-on-their-brokers]",),
    ),
    Safeguard(
        "a plan that was edited is judged again, whatever its digest says",
        "planning/safety/plan_laws.py",
        "    if broken:\n        raise UnsafePlan(",
        "    if broken and not plan.moves:\n        raise UnsafePlan(",
        ("tests/unit/planning/safety",),
    ),
    Safeguard(
        "a copy is taken back when an unclean election could choose it",
        "applying/partitions.py",
        "return _stops_writes(given, state, settings) or _could_lead(given, state, settings)",
        "return _stops_writes(given, state, settings)",
        (
            f"{STORY}[a-copy-is-taken-back-before-an-unclean-election-could-choose-it]",
            f"{STORY}[unclean-election-that-is-switched-on-takes-the-copies-of-its-topic-back]",
            f"{STORY}[a-copy-is-taken-back-although-kafka-drops-a-replica-after-it]",
        ),
    ),
    Safeguard(
        "a copy is taken back when a raised minimum would stop writes because of it",
        "applying/partitions.py",
        "return _stops_writes(given, state, settings) or _could_lead(given, state, settings)",
        "return _could_lead(given, state, settings)",
        (f"{STORY}[a-min-isr-that-is-raised-over-the-replicas-takes-the-copy-back]",),
    ),
    Safeguard(
        "a copy that was taken back begins again under its throttle",
        "applying/tick/decide.py",
        "        admitted.update(self._to_start)  # one that was taken back is in flight, and begins again\n",
        "",
        (f"{STORY}[a-copy-that-was-taken-back-begins-again-under-its-throttle]",),
    ),
    Safeguard(
        "a rate gives way to a replica that an entry of another tool would hold at it",
        "applying/throttles.py",
        "        if where in wanted and gives_way:\n",
        "        if where in wanted and gives_way and not wanted:\n",
        (
            "tests/unit/applying/throttles",
            f"{STORY}[a-replica-that-comes-back-is-not-held-by-an-entry-that-another-tool-left]",
        ),
    ),
    Safeguard(
        "an application that is given up waits for what may still arrive",
        "applying/journal/ledger.py",
        "        return lists or any(step.status is Status.OPEN for step in self.steps)\n",
        "        return lists\n",
        (
            f"{STORY}[abandon-waits-for-an-election-that-may-still-arrive]",
            "tests/properties/test_giving_up.py",
            f"{UNIT}/test_log_moves.py",
        ),
    ),
    Safeguard(
        "a cancelled application waits for what its steps have begun",
        "applying/run/application_run.py",
        "            return any(step.record is not None for step in steps)\n",
        "            return False\n",
        (f"{STORY}[cancel-waits-for-a-standing-throttle-that-may-still-arrive]",),
    ),
    Safeguard(
        "the copies of partitions that have ended are cancelled with the others",
        "applying/abandoning.py",
        "n: own for n, own in ledger.owned.items() if runs_own",
        "n: own for n, own in ledger.open.items() if runs_own",
        (f"{STORY}[abandon-cancels-the-copy-of-a-partition-that-has-ended]",),
    ),
    Safeguard(
        "the rate of a broker that is unregistered keeps no application open",
        "applying/throttles.py",
        "        if where[0] in unregistered and where not in wanted\n",
        "        if where[0] in unregistered and where in wanted\n",
        (f"{STORY}[the-rate-of-a-broker-that-is-unregistered-keeps-no-application-open]",),
    ),
    Safeguard(
        "throttles go with their topic when an application is given up",
        "applying/abandoning.py",
        "        gone=frozenset(subject for subject in gone if isinstance(subject, str)),\n",
        "",
        (f"{STORY}[clear-and-abandon-end-although-a-throttled-topic-is-deleted]",),
    ),
    Safeguard(
        "a rate that the command line refuses is not obeyed",
        "applying/steering.py",
        "        if command.wrong_rates:\n            continue\n",
        "",
        (f"{UNIT}/test_steering.py",),
    ),
    Safeguard(
        "throttle changes without an answer are repeated with growing pauses",
        "applying/tick/decision.py",
        "        if not early:\n",
        "        if True:\n",
        (
            f"{STORY}[throttle-changes-without-an-answer-are-repeated-with-longer-and-longer-pauses]",
            f"{UNIT}/test_log_moves.py",
        ),
    ),
    Safeguard(
        "no step begins once the application is cancelled",
        "applying/steps/step.py",
        "            case Ask() as ask if closed is not None and not ask.takes_back:\n",
        "            case Ask() as ask if closed is not None and False:\n",
        (f"{STORY}[a-recovery-that-waits-never-begins-once-cancelled]",),
    ),
    Safeguard(
        "a step that has begun is judged as a cancelled one",
        "applying/steps/step.py",
        "        cancelled = begun and isinstance(closed, Cancelling)\n",
        "        cancelled = begun and closed is step\n",
        (f"{STORY}[a-cancelled-recovery-asks-for-no-election]",),
    ),
    Safeguard(
        "no step ends short of being done while a request of it may arrive",
        "applying/steps/step.py",
        "    seconds = given.arrives_within(step.subject)\n",
        "    seconds = None\n",
        (
            f"{STORY}[while-an-unclean-election-may-arrive-its-broker-is-to-be-stopped]",
            f"{STORY}[partitions-whose-request-arrives-after-the-cancel-are-named]",
        ),
    ),
    Safeguard(
        "the list of a cancelled recovery is asked for once no election may arrive",
        "applying/steps/recovering.py",
        "        if seconds is not None:\n            return Hold(self._arrival(given, seconds))\n        refusal",
        "        refusal",
        (f"{STORY}[an-unclean-election-that-arrives-after-the-cancel-is-named]",),
    ),
    Safeguard(
        "no partition is created once the application is cancelled",
        "applying/steps/creating.py",
        "        return self._shown(given) or suspected(Status.CANCELLED, NotCreated())\n",
        "        return self.judge(given)\n",
        (f"{STORY}[cancelled-partitions-are-not-created]",),
    ),
    Safeguard(
        "a replica that changes its directory is known by its topic's id",
        "applying/steps/log_moves.py",
        "    if state is None or state.topic_id != move.topic_id:\n",
        "    if state is None:\n",
        (f"{STORY}[a-recreated-topic-stays-in-its-log-directories]",),
    ),
    Safeguard(
        "a cluster has one lock, whatever its journal is called",
        "kafka/journal/topic.py",
        "self.reader if topic == JOURNAL_TOPIC else TopicReader(reads, JOURNAL_TOPIC)",
        "self.reader",
        (JOURNAL,),
    ),
    Safeguard(
        "an application that is open in another topic keeps one from being opened",
        "kafka/journal/owner.py",
        "    if elsewhere is not None:\n        raise Held(elsewhere_text(*elsewhere))\n",
        "    del elsewhere\n",
        (ONE_OPEN,),
    ),
    Safeguard(
        "a journal topic that was made again gets everything again",
        "kafka/journal/owner.py",
        "[r for r in self._topic.readers if not r.stands(APPEND_SECONDS)]",
        "[r for r in self._topic.readers if not r.stands(APPEND_SECONDS) and False]",
        (JOURNAL,),
    ),
    Safeguard(
        "a topic is read before it is written, and one of another program is not",
        "kafka/journal/owner.py",
        "    weak = [text for reader in exist for text in topic.check(reader)]\n",
        "    weak = [str(reader) for reader in exist if False]\n",
        (JOURNAL,),
    ),
    Safeguard(
        "a topic that would lose the journal is not written",
        "kafka/journal/topic.py",
        "        losing = [flaw.text for flaw in flaws if flaw.loses]\n",
        "        losing = [flaw.text for flaw in flaws if False]\n",
        (JOURNAL,),
    ),
)
