"""Prometheus' text format, for a textfile collector or a push gateway ("Exposition formats", text-based, 0.0.4)."""

from collections.abc import Iterable, Mapping

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})

Family = tuple[str, str, Iterable[tuple[Mapping[str, str], float]]]
"""Name and help of a gauge, and its samples: labels and value."""


def exposition(families: Iterable[Family], common: Mapping[str, str]) -> str:
    """All samples, each with the common labels; ends with a newline."""
    return "".join(
        f"# HELP {name} {text}\n# TYPE {name} gauge\n"
        + "".join(_sample(name, {**common, **labels}, value) for labels, value in samples)
        for name, text, samples in families
    )


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    named = ",".join(f'{key}="{text.translate(_ESCAPED)}"' for key, text in labels.items())
    return f"{name}{{{named}}} {value:.15g}\n"
