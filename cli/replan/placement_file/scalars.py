"""What an unquoted word of YAML means, where that is beyond doubt; a refusal where it is not.

YAML 1.1 (Ansible, PyYAML, Ruby) and YAML 1.2 (Go, editors) read the same word differently: `NO` is false or
text, `010` is eight or ten. Only what both read alike, and no person misreads, is taken. Quoted is text.
"""

import json
import re
from typing import NamedTuple

Scalar = None | bool | int | float | str

_CONSTANTS: dict[str, bool | None] = {
    "": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{0,16}[1-9]")


class _Doubt(NamedTuple):
    pattern: re.Pattern[str]
    why: str
    instead: str
    instead_of_key: str = "quote it"


_DOUBTS = (
    _Doubt(
        re.compile(r"y|n|yes|no|on|off", re.IGNORECASE),
        "is true or false to YAML 1.1 and text to YAML 1.2",
        "quote it",
    ),
    _Doubt(re.compile(r"~"), "means null in YAML", "leave the key out, or quote it"),
    _Doubt(
        re.compile(r"<<|="),
        "has a meaning of its own in YAML 1.1, which is not supported here",
        "write everything out",
        "write everything out",
    ),
    _Doubt(
        re.compile(r"[-+]?0[0-7_]+"),
        "is octal to YAML 1.1 and decimal to YAML 1.2",
        "quote it if it is text, or drop the leading zero",
        "drop the leading zero, or quote it",
    ),
    _Doubt(
        re.compile(r"[-+]?0[xXoObB][0-9a-fA-F_]+"),
        "is a number in another base to some YAML readers and text to others",
        "quote it if it is text, or write it in decimal",
        "write it in decimal, or quote it",
    ),
    _Doubt(
        re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?"),
        "is a number in base 60 to YAML 1.1 and text to YAML 1.2",
        "quote it",
    ),
    _Doubt(
        re.compile(r"[-+]?\.(?:inf|nan)", re.IGNORECASE),
        "is no finite number",
        "quote it if it is text, or write a number",
    ),
    _Doubt(
        re.compile(r"[-+]?[0-9]{19,}"),
        "is too long for a number that Kafka knows",
        "quote it if it is text, or write a smaller one",
    ),
    _Doubt(
        re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+"),
        "is a fraction to some readers and a whole number to others",
        "quote it if it is text, or drop the trailing zeros",
    ),
    _Doubt(
        re.compile(r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]*)?"),
        "is a number to some YAML readers and text to others",
        "quote it if it is text, or write plain decimal digits such as 1000 or 0.5",
    ),
)


def read_plain(text: str) -> Scalar:
    """The value of an unquoted word; raises ValueError, saying what to write, where readers of YAML differ."""
    value, doubt = _read(text)
    if doubt is not None:
        raise ValueError(f"{text} {doubt.why}; {doubt.instead}")
    return value


def read_plain_key(text: str) -> str:
    """An unquoted key, as text; raises ValueError where it is not clearly a name or a whole number."""
    if text == "":
        raise ValueError("a key is missing before the colon; write one")
    value, doubt = _read(text)
    if doubt is not None:
        raise ValueError(f"{text} {doubt.why}; {doubt.instead_of_key}")
    clear = isinstance(value, int | str) and not isinstance(value, bool)
    if not clear:
        raise ValueError(f"{text} as a key is not clearly a name; quote it")
    return text


def means_itself(text: str) -> bool:
    """Whether a word, unquoted, is text to every reader of YAML."""
    value, doubt = _read(text)
    return doubt is None and isinstance(value, str)


_SIMPLE = re.compile(r"[A-Za-z](?:[A-Za-z0-9 ._/%*-]*[A-Za-z0-9._%*-])?")


def yaml_word(text: str) -> str:
    """A text as YAML, on one line; quoted where some reader would not take it for text."""
    if _SIMPLE.fullmatch(text) and means_itself(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def _read(text: str) -> tuple[Scalar, _Doubt | None]:
    if text in _CONSTANTS:
        return _CONSTANTS[text], None
    if _WHOLE.fullmatch(text):
        return int(text), None
    if _FRACTION.fullmatch(text):
        return float(text), None
    return text, next((d for d in _DOUBTS if d.pattern.fullmatch(text)), None)
