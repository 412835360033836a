"""docs/commands.md, made from the commands themselves: what `--help` says, as a page."""

import textwrap
from collections.abc import Iterator

import click
from tests.commandline import built
from tests.commands.json_documents import KINDS

from replan.main import EPILOG, Replan
from replan.reporting.markdown import code, escape, head, row

HEADING = """# The commands

<!-- Made from the commands by tests/docs/test_commands_reference.py; REPLAN_REWRITE=1 makes it again. -->

Results go to stdout, everything else to stderr. `--help` of a command says the same as this page.
"""

DOCUMENTS = """\
`--format json` prints one document. Its `kind` says what it is. Its `formatVersion` is 1; it rises where a key is taken
away or means something else, so let a script check it. Keys are added without that. Files that replan saves have
both, too; `report.json` of `fleet report` is `replan.fleetReport`.
"""


def reference() -> str:
    """The whole page."""
    overview = [
        f"* [`replan {words}`](#replan-{words.replace(' ', '-').lower()}): {_first(built(words))}"
        for words in Replan.table
    ]
    pages = [_section(words, built(words)) for words in Replan.table]
    codes = EPILOG.partition("Exit codes:\n")[2].partition("\n\n")[0]
    return "\n".join(
        [
            *(HEADING, *overview, "", "Exit codes of all commands:", "", *_codes(codes)),
            *("", DOCUMENTS, *_documents(), *pages),
        ]
    )


def _documents() -> Iterator[str]:
    """One row for each kind of JSON document."""
    yield head("kind", "printed by")
    for kind in sorted({kind for kinds in KINDS.values() for kind in kinds}):
        yield row([code(kind), ", ".join(code(words) for words, of in KINDS.items() if kind in of)])


def _first(command: click.Command) -> str:
    return (command.help or "").partition("\n\n")[0].replace("\n", " ")


def _section(words: str, command: click.Command) -> str:
    context = command.make_context(f"replan {words}", [], resilient_parsing=True)
    epilog = (command.epilog or "").replace("\b\n", "")
    codes, _, examples = epilog.partition("Examples:\n")
    usage = " ".join([f"replan {words}", *command.collect_usage_pieces(context)])
    lines = [
        "",
        f"## replan {words}",
        "",
        *_flat(command.help or ""),
        "```",
        usage,
        "",
        *_plain(examples),
        "```",
        "",
    ]
    rows = [_option(parameter, context) for parameter in command.params]
    lines += [head("option", "meaning", "default"), *rows, ""]
    return "\n".join([*lines, "Exit codes:", "", *_codes(codes.partition("\n")[2])])


def _flat(text: str) -> Iterator[str]:
    """One line a paragraph, each followed by an empty one."""
    for paragraph in text.split("\n\n"):
        yield " ".join(paragraph.split())
        yield ""


def _plain(lines: str) -> list[str]:
    return [line.strip() for line in lines.splitlines() if line.strip()]


def _codes(lines: str) -> list[str]:
    """One entry a code; a line that is further in goes on with the meaning of the one before."""
    entries: list[str] = []
    for line in textwrap.dedent(lines).splitlines():
        if line.startswith(" "):
            entries[-1] += f" {line.strip()}"
        elif line.strip():
            code, _, meaning = line.partition(" ")
            entries.append(f"* `{code}`: {meaning.strip()}")
    return entries


def _option(parameter: click.Parameter, context: click.Context) -> str:
    names = parameter.make_metavar(context)
    if isinstance(parameter, click.Option):
        value = "" if parameter.is_flag else f" {names}"
        names = ", ".join(parameter.opts) + value
    worded = parameter.show_default if isinstance(parameter, click.Option) else None
    given = worded if isinstance(worded, str) else parameter.get_default(context)
    default = "required" if parameter.required else _shown(given)
    return row((code(names), escape(parameter.help or "").replace("\\_", "_"), default))


def _shown(default: object) -> str:
    if default is None or isinstance(default, bool):
        return ""
    values = default if isinstance(default, list | tuple) else [default]
    return ", ".join(f"`{value}`" for value in values)
