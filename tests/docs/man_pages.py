"""man/*.1, made from the commands themselves: what `--help` says, as man pages, which the wheel installs.

docutils writes them, from a document that is built here. (click-man sees no command that is built when it is asked
for, and leaves out arguments, exit codes and examples.)
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import click
import typer
from docutils import nodes
from docutils.core import publish_from_doctree
from docutils.utils import new_document
from tests.commandline import built
from tests.docs.commands_reference import epilog_parts, first_sentence

from replan.main import EPILOG, Replan, app

MADE = "Made from the commands by tests/docs/test_man_pages.py; REPLAN_REWRITE=1 makes it again."
WHOLE = typer.main.get_command(app)
_BOLD = re.compile(r"`([^`]+)`")


def man_pages() -> Mapping[str, str]:
    """The pages by their file names: the program, each group of commands, each command."""
    groups = {f"replan {words}": built(words) for words in Replan.group_help}
    commands = {f"replan {words}": built(words) for words in Replan.table}
    pages = {"replan": WHOLE} | groups | commands
    return {f"{_name(words)}.1": _page(words, command) for words, command in pages.items()}


def _name(words: str) -> str:
    return words.replace(" ", "-").lower()


def _page(words: str, command: click.Command) -> str:
    """One page, as roff."""
    document = new_document(words)
    document.append(nodes.comment("", MADE))
    document.append(nodes.title("", _name(words)))
    document.append(nodes.subtitle("", first_sentence(command).rstrip(".").replace("`", "")))
    section = nodes.field(
        "", nodes.field_name("", "manual_section"), nodes.field_body("", nodes.paragraph("", "1"))
    )
    document.append(nodes.docinfo("", section))
    document.extend(_sections(words, command))
    made = publish_from_doctree(
        document, writer="manpage", settings_overrides={"output_encoding": "unicode"}
    )
    return str(made)


def _sections(words: str, command: click.Command) -> Iterator[nodes.section]:
    context = click.Context(command, info_name=words)
    usage = nodes.paragraph("", "", nodes.strong("", words))
    usage.append(nodes.Text(" " + " ".join(command.collect_usage_pieces(context))))
    yield _section("Synopsis", usage)
    yield _section("Description", *map(_paragraph, (command.help or "").split("\n\n")))
    if isinstance(command, Replan):
        yield _section("Commands", _commands(words))
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    if arguments:
        yield _section(
            "Arguments", _terms([(p.make_metavar(context), str(p.help)) for p in arguments])
        )
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        yield _section("Options", nodes.option_list("", *(_option(p, context) for p in options)))
    codes, examples = epilog_parts(EPILOG if words == "replan" else command.epilog)
    if codes:
        yield _section("Exit status", _terms(codes))
    if examples:
        yield _section("Examples", nodes.literal_block("", "\n".join(examples)))
    yield _section("See also", _paragraph(", ".join(f"`{_name(w)}`(1)" for w in _related(words))))


def _section(title: str, *parts: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *parts)


def _paragraph(text: str) -> nodes.paragraph:
    """A paragraph, in which what stands between backticks is bold."""
    pieces = _BOLD.split(" ".join(text.split()))
    return nodes.paragraph(
        "",
        "",
        *(nodes.strong("", p) if i % 2 else nodes.Text(p) for i, p in enumerate(pieces) if p),
    )


def _terms(pairs: Sequence[tuple[str, str]]) -> nodes.definition_list:
    return nodes.definition_list(
        "",
        *(
            nodes.definition_list_item(
                "",
                nodes.term("", "", nodes.strong("", term)),
                nodes.definition("", _paragraph(meaning)),
            )
            for term, meaning in pairs
        ),
    )


def _commands(words: str) -> nodes.definition_list:
    """The commands below these words, with the first sentence of each."""
    below = [name for name in Replan.table if f"replan {name}".startswith(f"{words} ")]
    return _terms([(f"replan {name}", first_sentence(built(name))) for name in below])


def _related(words: str) -> Sequence[str]:
    """The program and the group of a command; of the program, its groups and commands of one word."""
    parts = words.split()
    if len(parts) > 1:
        return [" ".join(parts[:n]) for n in range(1, len(parts))]
    return list(dict.fromkeys(f"replan {name.split()[0]}" for name in Replan.table))


def _option(option: click.Option, context: click.Context) -> nodes.option_list_item:
    value = "" if option.is_flag else option.make_metavar(context)
    group = nodes.option_group("")
    for name in option.opts:
        one = nodes.option("", nodes.option_string("", name))
        if value:
            one.append(nodes.option_argument("", value, delimiter=" "))
        group.append(one)
    record = option.get_help_record(context)
    meaning = re.sub(r"(\[default: )\(([^()]*)\)", r"\1\2", record[1] if record else "")
    return nodes.option_list_item("", group, nodes.description("", _paragraph(meaning)))
