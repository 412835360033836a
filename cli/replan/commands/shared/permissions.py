"""Whether the user of a command may do what a plan needs: `plan` warns, and what performs a plan is refused before it
changes anything.

A simulated cluster has no users. Where a real one does not say what is allowed, nobody is refused: the request itself
finds out.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from replan.commands.frame.output import note
from replan.commands.shared.target import Connection, Target
from replan.errors import ClusterRefused, ClusterUnreachable

if TYPE_CHECKING:
    from replan.planning.findings.checkup import Missing
    from replan.planning.plans.plan import Plan


def check_allowed(
    plan: "Plan", cluster: Target, connection: Connection, throttled: Collection[str] = ()
) -> None:
    """Raise ClusterRefused where the user lacks something, with each operation, its resource and the principal.

    `throttled`: topics whose copies another tool began, and that are to be throttled.
    """
    from replan.reporting.cluster.checkup_text import missing_text

    principal, missing = _missing(plan, cluster, connection, throttled)
    if missing:
        lines = "".join(f"\n  {missing_text(m)}" for m in missing)
        raise ClusterRefused(
            f"{principal} may not apply this; nothing was changed. These ACLs are missing:{lines}\n"
            "Ask for them, or use another user; `replan doctor` checks what all commands need."
        )


def note_missing(plan: "Plan", cluster: Target) -> None:
    """Say what this user would lack to apply the plan; another one may apply it."""
    if not plan.changes or not cluster.is_real:
        return
    from replan.reporting.cluster.checkup_text import missing_text

    with suppress(ClusterRefused, ClusterUnreachable), cluster.connect() as connection:
        principal, missing = _missing(plan, cluster, connection)
        if missing:
            named = "; ".join(map(missing_text, missing))
            note(f"warning: {principal} may not apply this plan; these ACLs are missing: {named}")


def _missing(
    plan: "Plan", cluster: Target, connection: Connection, throttled: Collection[str] = ()
) -> "tuple[str, tuple[Missing, ...]]":
    from replan.planning.findings.checkup import missing_to_apply

    if connection.access is None:
        return "", ()
    journals = cluster.journal_place.topics
    access = connection.access(journals, plan.topics | set(throttled))
    return access.principal, missing_to_apply(plan, access, journals, throttled)
