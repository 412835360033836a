"""Plans as the commands handle them: read from a file, written in a form, turned into an exit code."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from replan.commands.frame.output import Color, note, result, result_lines, said_while_long, save
from replan.commands.shared.options import PageForm, ReportForm
from replan.commands.shared.target import Observed, Target
from replan.documents.files import read_text
from replan.errors import BadPlacement, BadUsage, Exit, UnsafePlan, WrongCluster
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.placement_file.units import parse_size
from replan.planning.comparison.alignment import partition_counts
from replan.planning.plans import plan_file
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Facts, left_out_text
from replan.planning.safety.plan_laws import require_lawful
from replan.reporting.plans.plan_context import NOTHING_BESIDE, Pending, PlanContext, own_text
from replan.wording import count, duration, first_line


class PlanView(Struct, frozen=True):
    """How much of a plan is shown as text, and in colours or not."""

    everything: bool = False
    steps: bool = False
    color: Color = "auto"


AS_USUAL = PlanView()


def planning(
    placement: Placement, snapshot: Snapshot, doing: str = "planning"
) -> AbstractContextManager[None]:
    """Say what is planned, or compared, while it takes long."""
    intents = Intents.of(placement, snapshot.topics.column("name").to_pylist())
    existing = count(snapshot.partitions.num_rows, "partition")
    new = sum(
        max(c.declared - c.observed, 0) for c in partition_counts(placement, intents, snapshot)
    )
    and_new = f" and {count(new, 'new one')}" if new else ""
    on = count(len(snapshot.brokers), "broker")
    return said_while_long(f"{doing} for {existing}{and_new} on {on}")


def read_plan(path: Path) -> Plan:
    """A saved plan; raises BadFile, and UnsafePlan where it breaks a law that every plan keeps."""
    return require_lawful(plan_file.loads(read_text(path), str(path)), str(path))


def allowed_of(options: Sequence[str]) -> dict[Measure, int]:
    """What `--allow` raises, each limit with its value; raises BadUsage saying what to write."""
    allowed: dict[Measure, int] = {}
    for option in options:
        name, _, value = option.partition("=")
        if name not in set(Measure) or Measure(name) in allowed:
            measures = ", ".join(Measure)
            raise BadUsage(f"--allow {option}: write each limit once, as one of {measures}")
        in_bytes = name.startswith("bytes") and not value.isdecimal()
        try:
            allowed[Measure(name)] = parse_size(value) if in_bytes else int(value)
        except ValueError as problem:
            example = "bytes=3TB" if in_bytes else f"{name}=500"
            raise BadUsage(f"--allow {option}: write a number, e.g. --allow {example}") from problem
    return allowed


def apply_command(made: Plan, saved: Path, cluster: Target) -> str:
    """What to type to apply a plan to the cluster that it was made for."""
    words = cluster.words() if cluster.snapshot is None else ["--bootstrap-server", "HOST:PORT"]
    unclean = ["--unclean"] if made.unclean else []
    return shlex.join(["replan", "apply", str(saved), *words, *unclean])


def save_plan(made: Plan, output: Path, cluster: Target) -> None:
    """Save a plan, and say how it is applied."""
    save(plan_file.dumps(made), output)
    if made.changes:
        note(f"saved; apply it with: {apply_command(made, output, cluster)}")
        if made.refusals:
            note(
                f"it leaves out what is refused ({left_out_text(made.refusals)}) and ends with {made.left_out:d}"
            )


def next_command(made: Plan, saved: Path | None, cluster: Target) -> str:
    """What to do with a plan that has been made; `saved`: where -o puts it, and a note says what to type."""
    if not made.changes or saved is not None:
        return ""
    return (
        f"To apply it: add -o plan.json, then `{apply_command(made, Path('plan.json'), cluster)}`."
    )


def verdict(made: Plan, *, exit_zero: bool) -> Exit:
    """The exit code of a plan: a refusal outweighs a hold, a hold outweighs changes."""
    if made.refusals:
        return made.left_out
    return Exit.CHANGES if made.changes and not exit_zero else Exit.OK


def context_of(
    made: Plan,
    observation: Observed,
    cluster: Target,
    form: PageForm,
    rates: Rates | None = None,
    *,
    saved: Path | None = None,
    pending: Pending | None = None,
) -> PlanContext:
    """What is known beside a plan that was made now; the plan file does not depend on it."""
    if form == "json":
        return NOTHING_BESIDE
    rehearsed, timeline, network = _rehearsed(
        made, observation.snapshot, rates, drawn=form == "html"
    )
    return PlanContext(
        snapshot=observation.snapshot,
        age_seconds=None if cluster.snapshot is None else age_seconds(observation.snapshot),
        rehearsed=rehearsed,
        timeline=timeline,
        network=network,
        prices=cluster.prices,
        pending=pending,
        next_command=next_command(made, saved, cluster),
    )


def pending_since(named: str, files: Sequence[Path], make: Callable[[Placement], Plan]) -> Pending:
    """What the placement of a file, a folder or a git revision plans, without its limits; `make` is the planner."""
    from replan.commands.shared.revisions import placement_at

    try:
        made = make(replace(placement_at(named, files), limits={}))
    except (BadPlacement, WrongCluster, UnsafePlan) as problem:
        return Pending(named, problem=first_line(problem))
    return Pending(named, {move.partition: move.target for move in made.moves})


def _rehearsed(
    made: Plan, snapshot: Snapshot, rates: Rates | None, *, drawn: bool
) -> tuple[Sequence[str], str, float | None]:
    """What a quick rehearsal says of the plan, its picture, and the network that it assumed."""
    if not made.moves:
        return (), "", None
    from replan.rehearsal.options import Options
    from replan.rehearsal.summary import quick_rehearsal

    network = Options().speeds().network_bytes_per_second
    lines, rehearsal = quick_rehearsal(
        made, snapshot, {} if rates is None else rates.bytes_per_second
    )
    if rehearsal is None or not rehearsal.copies or not drawn:
        return lines, "", network
    from replan.rehearsal.report.pictures import gantt

    return lines, gantt(rehearsal), network


def age_seconds(snapshot: Snapshot) -> float:
    """How long ago a snapshot was taken; 0 where its clock is ahead of this one."""
    taken = datetime.fromisoformat(snapshot.observed_at)
    return max(0.0, (datetime.now(UTC) - taken).total_seconds())


def check_age(cluster: Target, snapshot: Snapshot, most: float | None) -> None:
    """Raise UnsafePlan where the snapshot that is planned from is older than allowed."""
    if cluster.snapshot is None:
        if most is not None:
            raise BadUsage("--max-snapshot-age goes with --snapshot; a cluster is asked as it is")
        return
    age = age_seconds(snapshot)
    if most is not None and age > most:
        raise UnsafePlan(
            f"{cluster.snapshot}: the snapshot is {duration(age)} old (of {snapshot.observed_at}), and "
            f"--max-snapshot-age allows {duration(most)}; take a new one with `replan snapshot`"
        )


def note_age(cluster: Target, snapshot: Snapshot) -> None:
    """Say how old the snapshot is that was planned from; a cluster is asked as it is."""
    if cluster.snapshot is not None:
        age = duration(age_seconds(snapshot))
        note(f"planned from a snapshot of {snapshot.observed_at}, {age} old")
        if snapshot.application is not None:
            note(f"note: {own_text(snapshot.application)}")


def check_reviewed(made: Plan, digest: str | None, files: Sequence[Path]) -> None:
    """Raise UnsafePlan unless this is the plan of that digest, and made from what the placement files say now."""
    actual = plan_file.digest(made)
    if digest is not None and not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise BadUsage(
            "--digest: write all 64 characters, as `replan plan --format markdown` shows"
        )
    if digest is not None and digest.lower() != actual:
        raise UnsafePlan(
            f"this is not the plan that was reviewed: --digest {digest}, the plan has {actual}; nothing was changed. "
            "Apply the file of the review, or review this one"
        )
    if files:
        from replan.placement_file.load import load_placement

        placement = load_placement(files)
        if placement.digest != made.placement_digest:
            named = ", ".join(map(str, files))
            raise UnsafePlan(
                f"the plan was made from another placement than {named} says now: placement digest "
                f"{made.placement_digest} in the plan, {placement.digest} there; nothing was changed. Plan again, and "
                "review that"
            )


def present(
    made: Plan,
    form: PageForm,
    context: PlanContext = NOTHING_BESIDE,
    *,
    shown: PlanView = AS_USUAL,
    limit: int | None = None,
) -> None:
    """Print a plan in one of its forms; json is the plan file itself. `limit`: bytes of markdown."""
    match form:
        case "text":
            from replan.reporting.plans.plan_report import plan_lines

            lines = plan_lines(made, context, everything=shown.everything, steps=shown.steps)
            result_lines(lines, shown.color)
        case "markdown":
            from replan.reporting.markdown import markdown_document
            from replan.reporting.plans.plan_report import plan_report

            result(markdown_document(plan_report(made, context), limit=limit))
        case "html":
            from replan.reporting.page import html_document
            from replan.reporting.plans.plan_report import plan_report

            result(html_document(plan_report(made, context)))
        case "json":
            result(plan_file.dumps(made))


def present_part(made: Plan, part: Plan, shown: PlanView) -> None:
    """Print a part of a plan as text."""
    from replan.reporting.plans.plan_report import part_lines

    lines = part_lines(made, part, everything=shown.everything, steps=shown.steps)
    result_lines(lines, shown.color)


def plan_about(made: Plan, topics: Sequence[str], brokers: Sequence[int]) -> Plan:
    """What of a plan concerns these topics and brokers."""
    from replan.model.declared.topic_patterns import matches

    def concerns(topic: str | None, concerned: Iterable[int]) -> bool:
        by_topic = not topics or (topic is not None and any(matches(p, topic) for p in topics))
        return by_topic and (not brokers or not set(brokers).isdisjoint(concerned))

    refusals = [r for r in made.refusals if concerns(r.partition.topic, _brokers_of(r.facts))]
    names = {r.partition for r in refusals}
    part = made.only(lambda change: concerns(change.topic, change.brokers))
    conflicts = tuple(c for c in made.conflicts if c.may_concern(names))
    return replace(part, refusals=tuple(refusals), conflicts=conflicts)


def _brokers_of(facts: Facts) -> Iterator[int]:
    for name, value in facts.items():
        if isinstance(value, tuple):
            yield from (broker for broker in value if isinstance(broker, int))
        elif name == "broker" and isinstance(value, int):
            yield value


def plan_difference_in(before: Plan, after: Plan, form: ReportForm, *, everything: bool) -> str:
    """What differs between two plans, in one of the forms."""
    from replan.reporting.plans import plan_difference as difference

    differing = difference.compare_plans(before, after)
    match form:
        case "text":
            return difference.render_difference(differing, everything=everything)
        case "markdown":
            return difference.render_difference_markdown(differing)
        case "json":
            return difference.render_difference_json(differing)
