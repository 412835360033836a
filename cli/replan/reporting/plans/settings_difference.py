"""Settings of two plans, or of two placements, that differ: compared key by key, and written."""

from collections.abc import Mapping

from replan.reporting.markdown import code, table_row

ChangedSettings = Mapping[str, tuple[str | None, str | None]]
"""Before and after; None on the side where there is no such setting."""


def changed_settings(old: Mapping[str, str], new: Mapping[str, str]) -> ChangedSettings:
    """Those that are not the same on both sides, by their key."""
    from deepdiff import DeepDiff

    differing = DeepDiff(old, new, view="tree", threshold_to_diff_deeper=0)
    keys = {change.path(output_format="list")[0] for of in differing.values() for change in of}
    return {key: (old.get(key), new.get(key)) for key in sorted(keys)}


def settings_lines(settings: ChangedSettings) -> list[str]:
    """As text, a line each."""
    return [f"{key}: {old or 'none'} -> {new or 'none'}" for key, (old, new) in settings.items()]


def settings_rows(settings: ChangedSettings) -> list[str]:
    """As rows of a table in Markdown."""
    return [
        table_row((code(key), code(old or "none"), code(new or "none")))
        for key, (old, new) in settings.items()
    ]


def settings_fields(settings: ChangedSettings) -> list[dict[str, str | None]]:
    """As JSON has them."""
    return [{"key": key, "before": old, "after": new} for key, (old, new) in settings.items()]
