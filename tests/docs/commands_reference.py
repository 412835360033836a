"""docs/commands*.md, made from the commands themselves: what `--help` says, as pages."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import click
from tests.commandline import built
from tests.commands.json_documents import KINDS

from replan.main import EPILOG, Replan
from replan.reporting.api import code, escape, table_head, table_row

MADE = "<!-- Made from the commands by tests/docs/test_commands_reference.py; REPLAN_REWRITE=1 makes it again. -->"
HEADING = f"""# The commands

{MADE}

Results go to stdout, everything else to stderr. `--help` of a command says the same as these pages, and so
do the man pages that come with it: `man replan-plan`.
"""

DOCUMENTS = """\
## JSON documents

`--format json` prints one document. Its `kind` says what it is. Its `formatVersion` is 1; it rises where a key is taken
away or means something else, so let a script check it. Keys are added without that. Files that replan saves have
both, too; `report.json` of `fleet report` is `replan.fleetReport`.
"""
PAGES = {
    "Look at a cluster": "look",
    "Change it": "change",
    "Steer what is applied": "steer",
    "Elections and recovery": "elect",
    "Many clusters": "fleet",
    "Files": "files",
    "Help": "help",
}
"""The page of each heading of `replan --help`: `commands-look.md`."""
SHARED = 9
"""What so many commands have alike stands once."""
COMMON = "options-that-many-commands-have"
"""The place of what stands once."""


def reference() -> Mapping[str, str]:
    """The pages by their names: an overview, and the commands of each heading."""
    commands = {words: built(words) for words in Replan.table}
    shared = Counter(part for c in commands.values() for part in (*_rows(c).values(), *_parts(c)))
    once = {part for part, number in shared.items() if number >= SHARED}
    groups: dict[str, list[str]] = {}
    heading = ""
    for words in commands:
        heading = Replan.headings.get(words.split()[0], heading)
        groups.setdefault(heading, []).append(words)
    pages = {
        f"commands-{PAGES[heading]}.md": "\n".join(
            [
                f"# Commands: {heading.lower()}\n\n{MADE}",
                *(_section(words, commands[words], once) for words in of),
            ]
        )
        for heading, of in groups.items()
    }
    return {"commands.md": _overview(groups, commands, once), **pages}


def _overview(
    groups: Mapping[str, Sequence[str]], commands: Mapping[str, click.Command], once: set[str]
) -> str:
    lines = [HEADING]
    for heading, of in groups.items():
        page = f"commands-{PAGES[heading]}.md"
        lines += [f"## {heading}", ""]
        lines += [
            f"* [`replan {words}`]({page}#replan-{words.replace(' ', '-').lower()}): {first_sentence(commands[words])}"
            for words in of
        ]
        lines.append("")
    codes, _ = epilog_parts(EPILOG)
    lines += ["## Exit codes of all commands", "", *_entries(codes), "", DOCUMENTS, *_documents()]
    lines += ["", "## Options that many commands have", ""]
    found = {
        part: None
        for c in commands.values()
        for part in (*_parts(c), *_rows(c).values())
        if part in once
    }
    lines += [f"{part}\n" for part in found if not part.startswith("|")]
    lines += [table_head("option", "meaning", "default"), *(row for row in found if row[0] == "|")]
    return "\n".join(lines) + "\n"


def _documents() -> Iterator[str]:
    """One row for each kind of JSON document."""
    yield table_head("kind", "printed by")
    for kind in sorted({kind for kinds in KINDS.values() for kind in kinds}):
        yield table_row(
            [code(kind), ", ".join(code(words) for words, of in KINDS.items() if kind in of)]
        )


def first_sentence(command: click.Command) -> str:
    """What the command does, as the lists of commands say it."""
    return (command.help or "").partition("\n\n")[0].replace("\n", " ")


def _section(words: str, command: click.Command, once: set[str]) -> str:
    context = command.make_context(f"replan {words}", [], resilient_parsing=True)
    codes, examples = epilog_parts(command.epilog)
    usage = " ".join([f"replan {words}", *command.collect_usage_pieces(context)])
    lines = ["", f"## replan {words}", ""]
    lines += [f"{part}\n" for part in _parts(command) if part not in once]
    lines += ["```", usage, "", *examples, "```", ""]
    rows = _rows(command)
    own = [row for row in rows.values() if row not in once]
    lines += [table_head("option", "meaning", "default"), *own, ""] if own else []
    if also := [code(name) for name, row in rows.items() if row in once]:
        lines += [f"Also, [as elsewhere](commands.md#{COMMON}): {', '.join(also)}.", ""]
    return "\n".join([*lines, "Exit codes:", "", *_entries(codes)]) + "\n"


def _rows(command: click.Command) -> Mapping[str, str]:
    """Each argument and option, with its row of the table."""
    context = command.make_context("replan", [], resilient_parsing=True)
    return {
        parameter.opts[0] if len(parameter.opts) == 1 else max(parameter.opts, key=len): _option(
            parameter, context
        )
        for parameter in command.params
    }


def _parts(command: click.Command) -> list[str]:
    """The paragraphs of the help, a line each."""
    return [" ".join(paragraph.split()) for paragraph in (command.help or "").split("\n\n")]


def epilog_parts(epilog: str | None) -> tuple[Sequence[tuple[str, str]], Sequence[str]]:
    """What stands below the options: each exit code with its meaning, and the examples, a line each."""
    codes, _, examples = (epilog or "").replace("\b\n", "").partition("Examples:\n")
    entries: list[tuple[str, str]] = []
    for line in textwrap.dedent(codes.partition("Exit codes:\n")[2]).splitlines():
        if line.startswith(" "):  # it goes on with the meaning of the code before
            code, meaning = entries.pop()
            entries.append((code, f"{meaning} {line.strip()}"))
        elif line.strip():
            code, _, meaning = line.partition(" ")
            entries.append((code, meaning.strip()))
    return entries, [line.strip() for line in examples.splitlines() if line.strip()]


def _entries(codes: Sequence[tuple[str, str]]) -> list[str]:
    return [f"* `{code}`: {meaning}" for code, meaning in codes]


def _option(parameter: click.Parameter, context: click.Context) -> str:
    names = parameter.make_metavar(context)
    if isinstance(parameter, click.Option):
        value = "" if parameter.is_flag else f" {names}"
        names = ", ".join(parameter.opts) + value
    worded = parameter.show_default if isinstance(parameter, click.Option) else None
    given = worded if isinstance(worded, str) else parameter.get_default(context)
    default = "required" if parameter.required else _shown(given)
    return table_row((code(names), escape(parameter.help or "").replace("\\_", "_"), default))


def _shown(default: object) -> str:
    if default is None or isinstance(default, bool):
        return ""
    values = default if isinstance(default, list | tuple) else [default]
    return ", ".join(f"`{value}`" for value in values)
