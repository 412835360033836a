"""The command `drift`."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import replace

from replan.commands.frame.output import Color, note, result, result_lines
from replan.commands.shared.options import (
    AS,
    COLOR,
    BalanceRates,
    Everything,
    ExitZero,
    MaxSize,
    PlacementPaths,
    limit_of,
    placement_files,
)
from replan.commands.shared.target import JournaledTarget
from replan.errors import Exit

if TYPE_CHECKING:
    from replan.planning.findings.drift import Drift
    from replan.planning.findings.spells import DriftKey, Spell

DriftForm = Literal["text", "markdown", "html", "json", "prometheus"]


def drift(
    *,
    files: PlacementPaths = None,
    form: Annotated[DriftForm, AS] = "text",
    unmanaged: Annotated[
        bool,
        typer.Option("--unmanaged", help="List the topics that no entry names; they are no drift."),
    ] = False,
    max_size: MaxSize = None,
    everything: Everything = False,
    color: Annotated[Color, COLOR] = "auto",
    exit_zero: ExitZero = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="LAKE",
            help="Say since when each difference is there, by the history in a lake (`replan docs fleet`).",
        ),
    ] = None,
    rates: BalanceRates = None,
    cluster: JournaledTarget,
) -> Exit:
    """Show where the cluster differs from the placement.

    Nothing is changed and nothing is planned: replicas, orders, leaders and throttles are compared. What a running
    `replan apply` is moving to the declared list is no drift. What brokers that are down or other tools do is listed
    apart from what a person changed; `replan docs fleet` has the rules. `markdown` is the body of an issue, `html` one
    page that needs no network, `prometheus` is for a textfile collector.

    A placement that contradicts the cluster is reported with all that differs, and ends with 1.

    Exit codes:
      0  no drift
      1  an error; or the placement has mistakes, and nothing can be planned before they are corrected
      2  drift, partitions without a leader among it (0 with --exit-zero)

    Examples:
      replan drift --bootstrap-server kafka-1:9092
      replan drift --cluster payments-eu --since lake/
    """
    from replan.commands.shared.observed import observed
    from replan.commands.shared.plans import planning
    from replan.commands.shared.rates import chosen_rates
    from replan.commands.shared.unread import check_shown
    from replan.model.declared.where import MistakenPlacement
    from replan.placement_file.load import load_placement
    from replan.planning.findings.drift_report import drift_report

    limit = limit_of(max_size, form)
    written = chosen_rates(rates, None, None, cluster)
    observation = observed(cluster)
    placement = load_placement(placement_files(files, cluster))
    check_shown(placement, observation.snapshot)
    with planning(placement, observation.snapshot, "comparing"):
        report = drift_report(
            placement,
            observation.snapshot,
            journal_unread=observation.journal_unread,
            rates=written,
        )
    if since is not None:
        report = replace(report, spells=_spells(since, report.drift))
    match form:
        case "text":
            from replan.reporting.drift.drift_text import drift_lines

            lines = drift_lines(report, everything=everything, unmanaged=unmanaged)
            result_lines(lines, color)
        case "markdown":
            from replan.reporting.drift.drift_text import drift_blocks
            from replan.reporting.markdown import markdown_document

            result(markdown_document(drift_blocks(report, unmanaged=unmanaged), limit=limit))
        case "html":
            from replan.reporting.drift.drift_text import drift_blocks
            from replan.reporting.page import html_document

            result(html_document(drift_blocks(report, unmanaged=unmanaged)))
        case "json":
            from replan.reporting.drift.drift_text import render_drift_json

            result(render_drift_json(report, unmanaged=unmanaged))
        case "prometheus":
            from replan.reporting.prometheus import render_drift_prometheus

            result(render_drift_prometheus(report, _seconds))
    if report.drift.mistakes:
        raise MistakenPlacement(report.drift.mistakes)
    return Exit.OK if report.drift.none or exit_zero else Exit.CHANGES


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _spells(address: str, drift: "Drift") -> "Mapping[DriftKey, Spell]":
    """What a lake knows of the cluster; raises BadFile."""
    from replan.fleet.lake.delta import Lake
    from replan.fleet.lake.rates_and_spells import kept_spells

    kept = kept_spells(Lake(address), drift.cluster_id, drift.observed_at)
    note(f"history: {address}, compared last {kept.compared_at}")
    return kept.spells
