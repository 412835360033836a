"""Drift as one self-contained page: who must act, by class, then every difference, filtered by class, topic and broker.

Two pages of the same state are the same bytes. The differences are data, which the script (`drift.js`) lists: for each
class its topics, for each topic its rows `[PARTITION, KIND, DECLARED, HAS]` with an index of `kinds`, and `SINCE` where
that was asked for; what is no topic's stands under its own name with null for the partition.
"""

from collections.abc import Iterator, Sequence
from html import escape

from replan.planning.findings.drift_report import DriftReport
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.drift.drift_words import (
    CLASSES,
    MEANINGS,
    acknowledged,
    by_class,
    compared,
    differences,
    electable,
    since,
    subject,
    summary,
    warnings,
)
from replan.reporting.page import listing, listing_script, page
from replan.reporting.plans.plan_words import throttle_value
from replan.wording import capped, count

LISTED = 1_000
"""Settings, directories and topics that are listed; the rest is counted."""
HEADS = {"what": "left", "declared": "left", "has": "left", "how": "left", "why": "prose"}


def render_drift_page(report: DriftReport, *, unmanaged: bool = False) -> str:
    """The page; ends with a newline."""
    drift = report.drift
    name = report.cluster_name or drift.cluster_id
    tally = by_class(report)
    tone = "good" if report.none else "bad"
    body = [
        f"<h1>replan drift: {escape(name)}</h1>",
        f'<p class="verdict {tone}">{escape(summary(report))}</p>',
        *([f"<p>By cause: {tally}.</p>"] if "," in tally else []),
        *(f"<p>{escape(line)}</p>" for line in [*electable(report), *acknowledged(report)]),
        *(f'<p class="bad">Warning: {escape(line)}</p>' for line in warnings(report)),
        *(f"<p>{escape(balance_text(reason.facts))}.</p>" for reason in drift.unbalanced),
        *_classes(report),
        *_list(
            "Throttles that are not as declared",
            [
                f"{s.setting}: has {throttle_value(s, s.before)}, declared {throttle_value(s, s.after)}"
                for s in drift.standing
            ],
        ),
        *_differences(report),
    ]
    if unmanaged:
        topics = [f"{topic}: {count(n, 'partition')}" for topic, n in report.unmanaged.items()]
        body += _list("Topics that no entry names", topics)
    body.append(f'<p class="soft">Cluster {escape(drift.cluster_id)}.</p>')
    return page(f"replan drift {name}", body, script=listing_script("drift.js"))


def _list(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    items = "".join(f"<li>{escape(line)}</li>" for line in capped(lines, limit=LISTED))
    return [f"<h2>{title} ({len(lines):,})</h2><ul>{items}</ul>"]


def _classes(report: DriftReport) -> Iterator[str]:
    """One row a class that there is, with what to do; its button filters the differences."""
    rows = "".join(
        f'<tr><td class="left"><button type="button" class="pick" data-kind="{found}">{found}</button></td>'
        f'<td>{len(report.of(found)):,}</td><td class="prose"><b>{escape(title)}</b><br>{escape(way_out)}</td></tr>'
        for found, (title, way_out) in CLASSES.items()
        if report.of(found)
    )
    if not rows:
        return
    yield "<h2>Who must act</h2>"
    yield (
        '<div class="wide"><table id="classes"><thead><tr><th class="left">class</th><th>number</th>'
        f'<th class="prose">what to do</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _differences(report: DriftReport) -> Iterator[str]:
    ages = {} if report.spells is None else {"since": "left"}
    kinds: dict[str, int] = {}
    classes: list[object] = []
    for drift_class, (title, _) in CLASSES.items():
        topics: dict[str, list[object]] = {}
        for found in differences(report, drift_class):
            kind = kinds.setdefault(MEANINGS[found.kind], len(kinds))
            rows = topics.setdefault(found.topic or subject(found), [])
            rows.append(
                [found.partition, kind, *compared(found), *(since(report, found) for _ in ages)]
            )
        if topics:
            classes.append([drift_class, title, list(topics.items())])
    if not classes:
        return
    data = {"classes": classes, "kinds": list(kinds)}
    otherwise = "The differences are listed by a script; `replan drift` lists them as text."
    yield from listing("Differences", "differences", HEADS | ages, data, otherwise)
