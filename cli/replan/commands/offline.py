"""`validate`, `export`, `snapshot`, `show`: files and reading; nothing is changed anywhere."""

from collections.abc import Sequence
from pathlib import Path

from replan.commands.cluster import observe
from replan.commands.output import Format, note, result, save
from replan.commands.plan import read_plan, render
from replan.commands.target import Target
from replan.errors import Exit
from replan.wording import count


def validate(files: Sequence[Path]) -> Exit:
    """Check placement files alone."""
    from replan.manifest.load import load_placement

    placement = load_placement(files)
    topics = len(placement.topics)
    note(
        f"valid: {count(placement.explicit.num_rows, 'partition')} of {count(topics, 'topic')} declared"
    )
    return Exit.OK


def export(chosen: Target, topics: Sequence[str], output: Path | None) -> Exit:
    """Write the placement file that describes the cluster as it is."""
    from replan.manifest.export import export_placement

    text = export_placement(observe(chosen), topics)
    if output is None:
        result(text)
    else:
        save(text, output)
        note(f"wrote {output}")
    return Exit.OK


def take_snapshot(chosen: Target, output: Path) -> Exit:
    """Write the observed state."""
    from replan.snapshots.files import write_snapshot

    seen = observe(chosen)
    write_snapshot(seen, output)
    note(
        f"wrote {output}: {count(seen.partitions.num_rows, 'partition')}, {count(len(seen.brokers), 'broker')}"
    )
    if seen.silent:
        note(
            f"no log directories from broker {', '.join(map(str, seen.silent))}: sizes there are not known"
        )
    return Exit.OK


def show(plan_file: Path, against: Path | None, how: Format, *, everything: bool) -> Exit:
    """Render a saved plan, or what differs from another one."""
    plan = read_plan(plan_file)
    if against is not None:
        from replan.reporting.plan_difference import render_difference

        result(render_difference(read_plan(against), plan))
        return Exit.OK
    result(render(plan, how, everything=everything))
    return Exit.OK
