"""The conditions of workflow files: as much of the two languages as the examples use, and an error for the rest.

GitHub writes `needs.plan.outputs.changes == 'true'`, GitLab `$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH`.
"""

import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(\|\||&&|==|!=|'[^']*'|\"[^\"]*\"|\$?[A-Za-z_][\w.-]*(?:\(\))?)")
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)

Names = Mapping[str, Any]


def evaluate(text: str, names: Names) -> Any:
    """The value of an expression; raises ValueError for what it does not know."""
    tokens, at = list[str](), 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"not understood: {text[at:]!r}")
        tokens.append(found[1])
        at = found.end()
    value, rest = _either(tokens, names)
    if rest:
        raise ValueError(f"not understood: {rest}")
    return value


def filled(text: str, names: Names) -> str:
    """Text with the values of its `${{ … }}`."""
    return _EXPRESSION.sub(lambda found: _shown(evaluate(found[1], names)), text)


def condition(text: str, names: Names, *, failed: bool) -> bool:
    """Whether a step or job runs; without a status function only where nothing failed before."""
    inner = _EXPRESSION.fullmatch(text.strip())
    expression = text if inner is None else inner[1]
    if "always()" in expression:
        return bool(evaluate(expression, {**names, "always()": True}))
    return not failed and bool(evaluate(expression, names))


def _either(tokens: list[str], names: Names) -> tuple[Any, list[str]]:
    value, rest = _both(tokens, names)
    while rest[:1] == ["||"]:
        other, rest = _both(rest[1:], names)
        value = value or other
    return value, rest


def _both(tokens: list[str], names: Names) -> tuple[Any, list[str]]:
    value, rest = _compared(tokens, names)
    while rest[:1] == ["&&"]:
        other, rest = _compared(rest[1:], names)
        value = value and other
    return value, rest


def _compared(tokens: list[str], names: Names) -> tuple[Any, list[str]]:
    value, rest = _value(tokens[0], names), tokens[1:]
    if rest[:1] in (["=="], ["!="]):
        other = _value(rest[1], names)
        return (value == other) is (rest[0] == "=="), rest[2:]
    return value, rest


def _value(token: str, names: Names) -> Any:
    if token[0] in "'\"":
        return token[1:-1]
    if token in names:
        return names[token]
    if token.startswith("$"):
        return names.get(token[1:], "")
    value: Any = names
    for part in token.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return value


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
