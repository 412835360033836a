"""The commands that change nothing, on the embedded cluster: forms, patterns, existing files, what to type next."""

import json
import shutil
from datetime import datetime, timedelta
from itertools import islice, pairwise

import pytest
from tests.commandline import start
from tests.commands.shell import EXAMPLE, Shell

from replan.applying.api import FileJournal, SavedRate, Settings, apply_plan
from replan.model.api import BrokerId
from replan.planning.api import digest, loads
from replan.simulator.api import open_simulated

pytestmark = pytest.mark.slow

JOURNAL = "cluster.json.journal"


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """With the placement of the demo beside its cluster."""
    shutil.copy(EXAMPLE / "placement.yaml", shell.placement)
    return shell


def test_a_topic_that_nobody_has_is_an_error(shell: Shell) -> None:
    _, said = shell.on_cluster("status", "--topic", "typo", wanted=1)
    assert said == (
        "replan: cluster MkU3OEVBNTcwNTJENDM2Qg has no topic typo; check the name, or use a pattern such as 'pay*'\n"
    )


def test_validate_says_where_a_number_of_partitions_is_declared_that_must_stay(
    shell: Shell,
) -> None:
    shell.placement.write_text(
        "version: 1\nassignments:\n"
        "  '__*': {replicationFactor: 3, partitionCount: 60}\n"
        "  __transaction_state: {spread: rack}\n"
        "  __share_group_state: {partitions: [[1, 2]]}\n",
        encoding="utf-8",
    )
    _, said = shell.run("validate", "-f", shell.placement)
    where = f"warning: {shell.placement}:3:33: __*: the number of partitions of "
    named = [line.removeprefix(where).split()[0] for line in said.splitlines() if where in line]
    assert named == ["__consumer_offsets", "__remote_log_metadata", "__replan_journal"]
    assert "valid: lists of 1 partition of 1 topic, 2 entries by rule" in said


def test_validate_says_where_a_standing_rate_slows_nothing_down_as_far_as_the_file_says(
    shell: Shell,
) -> None:
    shell.placement.write_text(
        "version: 1\nthrottles:\n  standing:\n    topics: {orders: {leader: {0: [5]}}}\n"
        "    brokers: {5: {leader: 30MB/s, follower: 30MB/s}}\n",
        encoding="utf-8",
    )
    _, said = shell.run("validate", "-f", shell.placement)
    warned = [line.partition(";")[0] for line in said.splitlines() if "warning" in line]
    where = f"warning: {shell.placement}:5:18: no entry of `throttles.standing.topics` throttles"
    assert warned == [f"{where} a replica of broker 5 on the follower side"]


def test_the_status_of_some_topics_is_asked_for_by_pattern(shell: Shell) -> None:
    every, _ = shell.on_cluster("status", "--format", "json")
    some, _ = shell.on_cluster("status", "--format", "json", "--topic", "ord*")
    assert json.loads(some)["partitions"] == 3 < json.loads(every)["partitions"]


def test_status_is_written_as_markdown(shell: Shell) -> None:
    text, _ = shell.on_cluster("status", "--format", "markdown")
    assert text.startswith("## replan status\n\n")
    assert "No reassignment is running." in text


def cluster_id(shell: Shell) -> str:
    return str(json.loads(shell.cluster.read_text())["clusterId"])


def left_open(shell: Shell) -> None:
    """Begin the demo's plan, and leave it while its copies run."""
    plan = shell.folder / "plan.json"
    shell.on_cluster("plan", "-f", shell.placement, "-o", plan, wanted=2)
    made, journal = loads(plan.read_text(), "plan.json"), shell.cluster.with_name(JOURNAL)
    plane = open_simulated(shell.cluster)
    with FileJournal(journal, cluster_id(shell)) as held:
        apply_plan(
            made,
            plane,
            plane,
            held,
            plane.clock,
            plan_digest=digest(made),
            settings=Settings(owner="ann@ops-1", moment=lambda: f"second {plane.clock.now():g}"),
            report=lambda _: None,
            stop=lambda: plane.clock.now() >= 3,
        )
    plane.close()


def test_status_names_what_each_unfinished_partition_waits_for_and_the_command_that_goes_on(
    shell: Shell,
) -> None:
    left_open(shell)
    text, _ = shell.on_cluster("status", "--format", "json", wanted=2)
    found = json.loads(text)["application"]
    assert (found["process"], found["owner"]) == (None, "ann@ops-1")
    assert found["resume"] == f"replan resume --simulated {shell.cluster}"
    holds = {f"{u['topic']}-{u['partition']}": u["hold"]["kind"] for u in found["unfinished"]}
    assert set(holds.values()) == {"awaiting-sync", "confirming"}
    assert (found["ended"], len(holds)) == (1, 3)
    assert {u["lastStepAt"] for u in found["unfinished"]} <= {"second 0", "second 1", "second 2"}
    for form in ("text", "markdown"):
        text, _ = shell.on_cluster("status", "--format", form, wanted=2)
        assert all(name in text for name in holds)
        assert "(last step second " in text
        assert "catches up under the copies' throttle" in text
    shell.on_cluster("status", "--exit-zero")
    with FileJournal(shell.cluster.with_name(JOURNAL), cluster_id(shell)):
        text, _ = shell.on_cluster("status", "--format", "json", wanted=2)
    assert json.loads(text)["application"]["process"].startswith("pid ")


def test_what_a_dead_broker_may_hold_is_not_said_to_be_missing(shell: Shell) -> None:
    plan = shell.folder / "plan.json"
    shell.on_cluster("plan", "-f", shell.placement, "-o", plan, wanted=2)
    shell.on_cluster("apply", plan, "--fault", "kill 4 at 3s", wanted=4)
    text, _ = shell.on_cluster("status", wanted=2)
    assert "  at least " in text
    shell.on_cluster("apply", plan, "--fault", "start 4 at 1s")
    assert "at least" not in shell.on_cluster("status")[0]


def test_what_our_own_running_application_moves_is_no_drift_and_is_called_ours(
    shell: Shell,
) -> None:
    left_open(shell)
    shown, said = shell.on_cluster("drift", "-f", shell.placement, "--format", "json", wanted=2)
    assert json.loads(shown)["classes"]["operator"] == len(json.loads(shown)["differences"])
    assert "is interrupted; `replan resume" in said
    with FileJournal(shell.cluster.with_name(JOURNAL), cluster_id(shell)):
        shown, said = shell.on_cluster("drift", "-f", shell.placement, "--format", "json")
        assert json.loads(shown)["drift"] is False
        assert [d["class"] for d in json.loads(shown)["differences"]] == ["in-flight"] * 3
        shown, said = shell.on_cluster("plan", "-f", shell.placement, wanted=4)
    assert "Being moved by replan's own application" in shown
    assert "Held by another party" not in shown


def test_a_snapshot_knows_what_the_open_application_moves_and_is_planned_from_like_the_cluster(
    shell: Shell,
) -> None:
    """A drain that is planned from one would else take the longer list of a copy for the partition's own."""
    left_open(shell)
    taken = shell.cluster.with_name("taken.json")
    shell.on_cluster("snapshot", "-o", taken)
    own = json.loads(taken.read_text(encoding="utf-8"))["application"]
    expanded = {(t["topic"], t["partition"]): len(t["replicas"]) for t in own["targets"]}
    assert own["owner"] == "ann@ops-1"
    assert len(expanded) == 3
    assert {r["bytesPerSecond"] for r in own["rates"]} == {20_000_000, 50_000_000}

    drains = shell.cluster.with_name("drain.yaml")
    drains.write_text(
        "version: 1\nblacklists: {replicas: [{broker: 1}, {broker: 4}]}\n", encoding="utf-8"
    )
    live, kept = ("--simulated", shell.cluster), ("--snapshot", taken)
    for file in (shell.placement, drains):
        made = []
        for source in (live, kept):
            out = shell.cluster.with_name(f"{file.stem}{source[0]}.json")
            shell.ended("plan", "-f", file, "-o", out, *source)
            made.append(loads(out.read_text(encoding="utf-8"), str(out)))
        assert made[0] == made[1]
        for move in made[1].moves:
            name = (move.partition.topic, move.partition.partition)
            assert len(move.target) == expanded.get(name, len(move.original))
    for words in (["drift"], ["explain", "orders-0"]):
        code, text, _ = shell.ended(*words, "-f", shell.placement, *live)
        again, same, _ = shell.ended(*words, "-f", shell.placement, *kept)
        assert (again, same.partition(", as of")[0]) == (code, text.partition(", as of")[0])

    named = f"replan's application {own['id']} of ann@ops-1 was open (interrupted)"
    _, _, said = shell.ended("plan", "-f", shell.placement, *kept)
    assert named in said
    _, comment, _ = shell.ended("plan", "-f", shell.placement, "--format", "markdown", *kept)
    assert "was open (interrupted) when the snapshot was taken" in comment
    code, text, _ = shell.ended("status", *kept)
    assert (code, named in text) == (2, True)


def test_without_its_journal_the_throttles_in_the_cluster_are_named_and_nobody_knows_whose(
    shell: Shell,
) -> None:
    left_open(shell)
    shell.cluster.with_name(JOURNAL).unlink()
    shown, _ = shell.on_cluster("throttle", "clear", wanted=4)
    assert "whose is not known" in shown
    assert "leader.replication.throttled.rate=" in shown
    assert "restored" not in shown
    text, _ = shell.on_cluster("status", "--format", "json", wanted=2)
    unknown = json.loads(text)["unknownThrottles"]
    assert {(u["scope"], u["key"].partition(".")[0]) for u in unknown} == {
        *(("broker", "leader"), ("broker", "follower")),
        *(("topic", "leader"), ("topic", "follower")),
    }
    _, said = shell.on_cluster("plan", "-f", shell.placement, wanted=4)
    assert "no journal that knows whose" in said


def test_a_snapshot_has_the_orders_that_the_journal_remembers(shell: Shell) -> None:
    plan, snapshot = shell.folder / "plan.json", shell.folder / "snapshot.json"
    shell.on_cluster("plan", "-f", shell.placement, "-o", plan, wanted=2)
    shell.on_cluster("apply", plan)
    text = shell.placement.read_text()
    text = text[: text.index("blacklists:")] + text[text.index("throttles:") :]
    shell.placement.write_text(text)
    shell.on_cluster("snapshot", "-o", snapshot)
    live, _ = shell.on_cluster("plan", "-f", shell.placement, "--format", "json", wanted=2)
    shell.run("plan", "-f", shell.placement, "--snapshot", snapshot, "-o", plan, wanted=2)
    assert plan.read_text() == live


def test_status_says_how_throttles_are_restored_when_no_application_is_open(shell: Shell) -> None:
    with FileJournal(shell.cluster.with_name(JOURNAL), cluster_id(shell)) as held:
        held.append([SavedRate(BrokerId(4), "leader.replication.throttled.rate", None, ("5",))])
    text, _ = shell.on_cluster(
        "status", wanted=2
    )  # a job that waits for 0 goes on until it is restored
    assert "1 throttle setting of replan in the cluster; `replan throttle clear " in text


def test_a_file_that_is_there_is_overwritten_only_by_force(shell: Shell) -> None:
    before = shell.placement.read_text()
    _, said = shell.on_cluster("export", "-o", shell.placement, wanted=1)
    assert said.endswith("exists already; pass --force to overwrite it, or choose another name\n")
    assert shell.placement.read_text() == before
    shell.on_cluster("export", "-o", shell.placement, "--force")
    assert shell.placement.read_text() != before


def test_what_a_command_reads_is_not_overwritten_by_its_result(shell: Shell) -> None:
    plan = shell.folder / "plan.json"
    shell.on_cluster("plan", "-f", shell.placement, "-o", plan, wanted=2)
    before = {file: file.read_bytes() for file in (shell.cluster, shell.placement, plan)}
    for arguments in (
        ("plan", "-f", shell.placement, "-o", shell.cluster),
        ("plan", "-f", shell.placement, "-o", shell.placement),
        ("snapshot", "-o", shell.cluster),
        ("export", "-o", shell.cluster, "--force"),
        ("rehearse", plan, "-o", plan),
    ):
        _, said = shell.on_cluster(*arguments, wanted=1)
        assert said.endswith("would overwrite what is read; choose another name\n")
    assert {file: file.read_bytes() for file in before} == before


def test_no_file_of_a_folder_that_a_command_reads_is_overwritten(shell: Shell) -> None:
    folder = shell.folder / "placements"
    folder.mkdir()
    read, plan = folder / "placement.yaml", folder / "plan.json"
    read.write_bytes(shell.placement.read_bytes())
    for _ in range(2):  # what is beside them is not read
        shell.on_cluster("plan", "-f", folder, "-o", plan, wanted=2)
    for arguments in (
        ("plan", "-f", folder),
        ("elect", "preferred", "--all", "-f", folder),
        ("rehearse", "--reconcile", "--for", "1h", "-f", folder),
    ):
        _, said = shell.on_cluster(*arguments, "-o", read, wanted=1)
        assert said.endswith("would overwrite what is read; choose another name\n")
    assert read.read_bytes() == shell.placement.read_bytes()


def test_a_saved_plan_says_what_to_type_to_apply_it(shell: Shell) -> None:
    plan = shell.folder / "the plan.json"
    _, said = shell.on_cluster("plan", "-f", shell.placement, "-o", plan, wanted=2)
    assert said == f"saved; apply it with: replan apply '{plan}' --simulated {shell.cluster}\n"


def test_changes_exit_0_on_demand(shell: Shell) -> None:
    shell.on_cluster("plan", "-f", shell.placement, "--exit-zero")
    shell.on_cluster("drift", "-f", shell.placement, "--exit-zero")


def test_a_reason_cannot_clear_the_screen(shell: Shell) -> None:
    text = shell.placement.read_text()
    shell.placement.write_text(text.replace("disk at 92 %", '"disk \\e[2J"'))
    shown, _ = shell.on_cluster("plan", "-f", shell.placement, wanted=2)
    assert "\x1b" not in shown
    assert "disk \\u001b[2J" in shown


def test_the_name_of_the_cluster_is_shown_with_the_plan(shell: Shell) -> None:
    text = shell.placement.read_text()
    shell.placement.write_text(text.replace("cluster: {", "cluster: {name: payments-eu, "))
    shown, _ = shell.on_cluster("plan", "-f", shell.placement, wanted=2)
    assert shown.startswith("Cluster payments-eu, MkU3OEVBNTcwNTJENDM2Qg\n")
    assert ", for cluster payments-eu, MkU3OEVBNTcwNTJENDM2Qg.\n" in shown


def test_a_schema_is_printed(shell: Shell) -> None:
    assert json.loads(shell.run("schema", "placement")[0])["$id"] == "placement.v1.json"


def test_quiet_and_verbose_contradict_each_other(shell: Shell) -> None:
    _, said = shell.on_cluster("resume", "-q", "-v", wanted=1)
    assert said == "replan: --quiet and --verbose contradict each other; pass one of them\n"


@pytest.mark.parametrize(
    ("never", "why"),
    [
        *((never, "write how many seconds, e.g. 15") for never in ("nan", "inf", "1e400")),
        ("1e308", "1e+308 s is too long; write at most 86400, a day"),
    ],
)
def test_nobody_waits_for_seconds_that_never_end(shell: Shell, never: str, why: str) -> None:
    _, said = shell.on_cluster("resume", "--settle", never, wanted=1)
    assert said == f"replan: --settle: {why}\n"


def test_a_plan_that_only_creates_partitions_is_saved_applied_and_then_empty(shell: Shell) -> None:
    saved = shell.folder / "plan.json"
    shell.placement.write_text(
        "version: 1\nassignments: {clicks: {partitionCount: 9}}\n", encoding="utf-8"
    )
    _, said = shell.on_cluster("plan", "-f", shell.placement, "-o", saved, wanted=2)
    assert "replan apply" in said
    shell.on_cluster("apply", saved)
    shell.on_cluster("plan", "-f", shell.placement)


def test_a_plan_is_made_from_a_snapshot_that_is_not_too_old(shell: Shell) -> None:
    offline = ("plan", "-f", shell.placement, "--snapshot", shell.cluster, "--max-snapshot-age")
    _, said = shell.run(*offline, "100000h", wanted=2)
    assert "planned from a snapshot of 2026-11-21T03:00:00Z, " in said
    assert "the snapshot is " in shell.run(*offline, "1s", wanted=3)[1]
    shell.on_cluster("plan", "-f", shell.placement, "--max-snapshot-age", "1s", wanted=1)


def test_markdown_never_exceeds_the_size_that_is_asked_for(shell: Shell) -> None:
    text, _ = shell.on_cluster(
        *("plan", "-f", shell.placement, "--format", "markdown", "--max-size", "8kB"), wanted=2
    )
    assert len(text.encode()) <= 8_000
    _, said = shell.on_cluster(
        *("plan", "-f", shell.placement, "--format", "markdown", "--max-size", "1kB"), wanted=1
    )
    assert "write 8,000 or more" in said


def test_a_review_sees_refusals_and_mistakes_at_their_lines(shell: Shell) -> None:
    reports = [f"{kind}:{shell.folder / kind}" for kind in ("gitlab", "sarif", "junit")]
    forms = [word for form in ("github", *reports) for word in ("--annotations", form)]
    shell.placement.write_text("version: 1\nassignments:\n  orders:\n    partitions: {0: [1, 9]}\n")
    _, said = shell.on_cluster("plan", "-f", shell.placement, *forms, wanted=1)
    assert f"::error file={shell.placement},line=4,col=21,title=replan%3A placement::" in said
    (row,) = json.loads((shell.folder / "gitlab").read_text())
    assert row["location"] == {"path": str(shell.placement), "lines": {"begin": 4}}
    shell.placement.write_text("version: 1\nassignments:\n  orders:\n    partitions: {0: [1]}\n")
    _, said = shell.on_cluster("plan", "-f", shell.placement, *forms, wanted=3)
    assert ",line=4,col=21,title=replan%3A target-below-min-isr::orders-0: target " in said
    assert "target-below-min-isr" in (shell.folder / "sarif").read_text()
    assert "<failure" in (shell.folder / "junit").read_text()


@pytest.mark.parametrize("form", ["gitlab", "pdf:x", "sarif:"])
def test_a_report_needs_a_known_form_and_a_file(shell: Shell, form: str) -> None:
    _, said = shell.on_cluster("plan", "-f", shell.placement, "--annotations", form, wanted=1)
    assert "--annotations" in said


def test_a_throttle_at_which_copies_never_end_is_refused(shell: Shell) -> None:
    rates = shell.folder / "rates.json"
    plan = ("plan", "-f", shell.placement)
    shell.on_cluster(*plan, "--measure", "1s", "--save-rates", rates, wanted=2)
    out, _ = shell.on_cluster(*plan, "--rates", rates, wanted=2)
    assert "convergence not judged" not in out
    document = json.loads(rates.read_text())
    for numbers in document["topics"].values():
        numbers.update(dict.fromkeys(numbers, 10**9))
    rates.write_text(json.dumps(document))
    _, refused = shell.on_cluster(*plan, "--rates", rates, wanted=3)
    assert "the smallest rate that ends" in refused
    shell.on_cluster(*plan, "--rates", rates, "--measure", "1s", wanted=1)
    before = shell.cluster.read_text()
    _, refused = shell.on_cluster(
        "apply", "-f", shell.placement, "--auto-approve", "--rates", rates, wanted=3
    )
    assert "the smallest rate that ends" in refused
    assert shell.cluster.read_text() == before
    shell.on_cluster("apply", "plan.json", "--rates", rates, wanted=1)


def test_new_partitions_and_throttles_that_stay_are_shown_filtered_and_compared(
    shell: Shell,
) -> None:
    shell.placement.write_text(
        "version: 1\nassignments: {orders: {partitionCount: 9}}\n"
        "throttles: {standing: {topics: {orders: all}, brokers: {1: {leader: 5MB/s}}}}\n"
    )
    first, second = shell.folder / "first.json", shell.folder / "second.json"
    shell.on_cluster("plan", "-f", shell.placement, "-o", first, wanted=2)
    shell.placement.write_text("version: 1\nassignments: {orders: {partitionCount: 8}}\n")
    shell.on_cluster("plan", "-f", shell.placement, "-o", second, wanted=2)
    shown = {
        words: shell.run("show", first, *words)[0]
        for words in (("--topic", "orders"), ("--topic", "no*"), ("--broker", "1"))
    }
    assert "-> 9 partitions" in shown["--topic", "orders"]
    assert "replicas of topic orders" in shown["--topic", "orders"]
    assert "rate of broker 1" in shown["--broker", "1"]
    assert "orders" not in shown["--topic", "no*"]
    differs = shell.run("show", second, "--against", first)[0]
    assert "partitions.orders" in differs
    assert "leader.replication.throttled.rate of broker 1" in differs


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ("assignments: {'pay*': {replicationFactor: 3}}", "payouts, which the placement names"),
        ("preferredLeaders: {'pay*': {balanced: true}}", "payouts, which the placement names"),
        ("preferredLeaders: {payouts: {0: 1}}", "payouts, which the placement names"),
        ("apart: [[orders, 'pay*']]", "payouts, which the placement names"),
        ("require: {payouts: {racks: 2}}", "payouts, which the placement names"),
        (
            "blacklists: {replicas: [{broker: 6}]}",
            "payouts, so nobody can say whether a broker is empty that the placement drains (6)",
        ),
    ],
)
def test_drift_does_not_say_that_all_is_well_with_a_topic_that_this_user_may_not_see(
    shell: Shell, declared: str, why: str
) -> None:
    taken = shell.folder / "seen.json"
    shell.on_cluster("snapshot", "-o", taken)
    seen = json.loads(taken.read_text())
    taken.write_text(json.dumps({**seen, "hidden": ["payouts"]}))
    shell.placement.write_text(f"version: 1\n{declared}\n")

    code, out, said = shell.ended("drift", "-f", shell.placement, "--snapshot", taken)

    assert (code, out) == (1, "")
    assert f"Describe is not allowed on {why}" in said


def test_what_a_snapshot_may_not_show_is_said_of_every_plan_from_it(shell: Shell) -> None:
    taken = shell.folder / "seen.json"
    shell.on_cluster("snapshot", "-o", taken)
    taken.write_text(json.dumps({**json.loads(taken.read_text()), "hidden": ["payouts"]}))

    code, _, said = shell.ended("plan", "-f", shell.placement, "--snapshot", taken)

    assert code == 2
    assert "warning: Describe is not allowed on payouts" in said


def test_status_calls_nothing_well_that_it_may_not_see(shell: Shell) -> None:
    taken = shell.folder / "seen.json"
    shell.on_cluster("snapshot", "-o", taken)
    seen = ("--snapshot", taken)
    assert shell.ended("status", *seen)[0] == 0
    taken.write_text(json.dumps({**json.loads(taken.read_text()), "hidden": ["payouts"]}))

    code, out, _ = shell.ended("status", *seen)
    assert (code, "all in sync; not seen: 1 topic." in out) == (2, True)
    assert shell.ended("status", "--topic", "orders", *seen)[0] == 0
    assert shell.ended("status", "--topic", "orders", "--topic", "pay*", *seen)[0] == 1


def test_status_watched_in_a_pipe_is_a_log_of_lines_and_ends_with_its_reader(shell: Shell) -> None:
    left_open(shell)
    words = ["status", "--watch", "--simulated", str(shell.cluster)]
    with start(words, folder=shell.folder) as process:
        assert process.stdout is not None
        read = list(islice(process.stdout, 30))
        process.stdout.close()
        assert process.wait(timeout=60) == 2
    report = next(place for place, text in enumerate(read) if text.startswith("As of "))
    lines = read[report + 1 :]
    assert {text[20:] for text in lines[1:]} == {
        ": 5 partitions: all in sync. interrupted, 1 of 4 steps done, 3 running; 300 MB of 300 MB.\n"
    }
    moments = [datetime.fromisoformat(text[:20]) for text in lines]
    assert {b - a for a, b in pairwise(moments)} == {timedelta(minutes=1)}


def test_status_watched_as_json_is_a_document_a_line_and_ends_with_its_reader(shell: Shell) -> None:
    left_open(shell)
    words = ["status", "--watch", "--format", "json", "--simulated", str(shell.cluster)]
    with start(words, folder=shell.folder) as process:
        assert process.stdout is not None
        looks = [json.loads(line) for line in islice(process.stdout, 3)]
        process.stdout.close()
        assert process.wait(timeout=60) == 2
    assert {look["kind"] for look in looks} == {"replan.status"}
    assert [len(look["running"]) for look in looks] == [3, 3, 3]
    moments = [datetime.fromisoformat(look["observedAt"]) for look in looks]
    assert sorted(set(moments)) == moments
