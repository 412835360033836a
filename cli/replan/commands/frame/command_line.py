"""How a function becomes a command: groups that build only what is invoked, options that several commands share.

A command is a plain function. Its parameters carry Typer's options and arguments; a parameter whose type is a
Struct is replaced by the options of its fields, and the function receives an instance. The docstring is the help:
what comes before `Exit codes:` is shown above the options, the rest below them, as it is written.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar, get_type_hints

import click
import typer
from msgspec import Struct
from msgspec.structs import fields
from typer.core import TyperCommand, TyperGroup

from replan.commands.frame.output import result
from replan.errors import Exit
from replan.wording import UNLIMITED

CommandFunction = Callable[..., Exit]
COMPLETE = "_REPLAN_COMPLETE"
"""The environment variable by which a shell asks what a word could be."""
_DEFAULT = re.compile(r"(\[default: )\(([^()]*)\)")
_BELOW = re.compile(r"^Exit codes:", re.MULTILINE)


SUGGESTION_CUTOFF = 0.75
"""How like a name must be to be suggested, as `difflib` measures; two dashes alone are like every option."""


class Spelling(Struct, frozen=True):
    """How another tool spells the commands of a group: the word is the value of an option, and options differ."""

    option: str
    words: Mapping[str, str]
    """Its values in lower case, with the word of each, and the options that it stands for."""
    options: Mapping[str, str]
    """Its names of options, with ours."""

    def translated(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments, with the word first. Raises UsageError where none is said."""
        parts = [arg.partition("=") for arg in args]
        args = [self.options.get(name, name) + equals + value for name, equals, value in parts]
        at = next((i for i, (name, _, _) in enumerate(parts) if name == self.option), None)
        if not args[0].startswith("-"):
            if at is not None:
                raise click.UsageError(f"'{args[0]}' says it already; leave out {self.option}", ctx)
            return args
        words = ", ".join(self.words)
        if at is None:
            raise click.UsageError(f"Say which kind first: {words}; or pass {self.option}.", ctx)
        _, equals, value = parts[at]
        behind = at + (1 if equals else 2)
        value = value if equals else "".join(args[at + 1 : behind])
        word = self.words.get(value.lower())
        if word is None:
            raise click.UsageError(f"{self.option} {value}: write one of {words}", ctx)
        return [*word.split(), *args[:at], *args[behind:]]


class _PrintsHelp(click.Command):
    """`--help` is a result as any other: Click itself ends with 1 where its reader has left."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option, which prints as commands do."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _print_help
        return option


def _print_help(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        result(f"{ctx.get_help()}\n")
        ctx.exit()


class CommandGroup(_PrintsHelp, TyperGroup):
    """A group that knows its commands by name, and imports and builds the one that is asked for."""

    table: ClassVar[Mapping[str, str]] = {}
    """Words of the command -> `module:function` below `replan.commands`. A word in capitals is an argument, a number in
    this place: `throttle RATE` is what `throttle 50MB/s` invokes.
    """
    headings: ClassVar[Mapping[str, str]] = {}
    """The first command under each heading of `--help`, with the heading."""
    group_help: ClassVar[Mapping[str, str]] = {}
    spellings: ClassVar[Mapping[str, "Spelling"]] = {}
    """How another tool spells the commands of a group."""

    def __init__(self, prefix: str = "", **attributes: Any) -> None:
        super().__init__(**{**attributes, "rich_markup_mode": None})
        self._prefix = prefix

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The next word of each command, in the order of the table."""
        words = (
            name.removeprefix(self._prefix) for name in self.table if name.startswith(self._prefix)
        )
        return list(dict.fromkeys(word.split()[0] for word in words))

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build one command, or the group that the word names; None where there is none."""
        words = self._prefix + self._argument(cmd_name)
        if words in self.table:
            return build(cmd_name, function_at(self.table[words]))
        if words in self.group_help:
            inner = type(self)(f"{words} ", name=cmd_name, help=self.group_help[words])
            inner.no_args_is_help = True
            if words in self.spellings:
                inner.context_settings = {"ignore_unknown_options": True}
            return inner
        return None

    def _argument(self, word: str) -> str:
        """The word of the table that a number stands for; any other word stands for itself."""
        names = (name.removeprefix(self._prefix) for name in self.table)
        capitals = (name for name in names if name.isupper() and self._prefix + name in self.table)
        is_rate = word[:1].isdigit() or word == UNLIMITED
        return next(capitals, word) if is_rate else word

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; raises UsageError for a number below 0, which is no option, where a number stands for a word."""
        first = next((arg for arg in args if arg != "--"), "")
        if first[:1] == "-" and self._argument(first[1:]) != first[1:]:
            raise click.UsageError(
                f"'{first}' is below 0; write a rate, e.g. 50MB/s, or `{UNLIMITED}`", ctx
            )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is invoked. Raises UsageError, with the name that is nearest."""
        args = self.worded(ctx, args)
        name, names = args[0], self.list_commands(ctx)
        argument = self._argument(name)
        if argument != name:
            return argument, self.get_command(ctx, argument), args
        if name not in names and not name.startswith("-"):
            nearest = get_close_matches(name, names, n=1)
            argument = next((word for word in names if word.isupper()), "")
            hint = f" {argument} is a number with its unit, or `{UNLIMITED}`." if argument else ""
            hint = f" Did you mean '{nearest[0]}'?" if nearest else hint
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def worded(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments as replan spells them, where another tool spells the commands of this group otherwise."""
        spelling = self.spellings.get(self._prefix.rstrip())
        return args if spelling is None else spelling.translated(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each command with the first sentence of its help; no command is built for it."""
        parts: dict[str, list[tuple[str, str]]] = {}
        heading = "Commands"
        for word in self.list_commands(ctx):
            words = self._prefix + word
            heading = self.headings.get(words, heading)
            parts.setdefault(heading, []).append((word, self._summary(words)))
        width = max(len(word) for rows in parts.values() for word, _ in rows)
        for heading, rows in parts.items():
            with formatter.section(heading):
                formatter.write_dl([(word.ljust(width), summary) for word, summary in rows])

    def _summary(self, words: str) -> str:
        if words in self.group_help:
            return self.group_help[words]
        return help_of(function_at(self.table[words]))[0].split("\n\n")[0].replace("\n", " ")


ELSEWHERE: Mapping[tuple[str, str], str] = {
    (
        "apply",
        "--dry-run",
    ): "`replan plan` shows what it would do, and `replan rehearse PLAN` does it on a simulator.",
}
"""What other tools have as an option of a command, and what does it here."""


class _Command(_PrintsHelp, TyperCommand):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; raises UsageError, with what does it instead where an option is known from other tools."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = ELSEWHERE.get((self.name or "", error.option_name))
            if hint is None:
                near = get_close_matches(
                    error.option_name, error.possibilities or (), cutoff=SUGGESTION_CUTOFF
                )
                raise click.NoSuchOption(error.option_name, possibilities=near, ctx=ctx) from error
            raise click.UsageError(f"No such option '{error.option_name}': {hint}", ctx) from error

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Name once what stands in the place of the command's own word: `replan throttle RATE [OPTIONS]`."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece for piece in pieces if piece != self.name]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List arguments and options, each default as people write it: without the parentheses of Click."""
        rows = dict[str, list[tuple[str, str]]]()
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                title = "Options" if isinstance(parameter, click.Option) else "Arguments"
                rows.setdefault(title, []).append((record[0], _DEFAULT.sub(r"\1\2", record[1])))
        for title in sorted(rows):
            with formatter.section(title):
                formatter.write_dl(rows[title])

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: Typer lists the arguments together with the options, Click since 8.5 here once more."""


def function_at(place: str) -> CommandFunction:
    """The function of a command, from `module:function`; imports the module."""
    module, _, name = place.partition(":")
    function: CommandFunction = getattr(import_module(f"replan.commands.{module}"), name)
    return function


def help_of(function: CommandFunction) -> tuple[str, str]:
    """The help of a command: the text above its options, and the text below them."""
    text = inspect.getdoc(function) or ""
    below = _BELOW.search(text)
    return (text, "") if below is None else (text[: below.start()].strip(), text[below.start() :])


def build(name: str, function: CommandFunction) -> click.Command:
    """The Click command of a function."""
    above, below = help_of(function)
    hints = get_type_hints(function)
    notes = [str(group.note) for group in hints.values() if hasattr(group, "note")]
    kept = "\n\n".join("\b\n" + paragraph for paragraph in below.split("\n\n")) if below else None
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    expanded = _with_options_of_groups(function)
    app.command(name, cls=_Command, help="\n\n".join([above, *notes]), epilog=kept)(expanded)
    command = typer.main.get_command(app)
    _restore_help_of_arguments(command, expanded)
    return command


def _restore_help_of_arguments(command: click.Command, function: CommandFunction) -> None:
    """Since 8.5 Click's `Argument` has a help of its own, and its constructor erases the one that Typer sets."""
    hints = get_type_hints(function, include_extras=True)
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.name in hints:
            parameter.help = _declared(hints[parameter.name]).help


def _declared(hint: Any) -> Any:
    """Typer's description in an annotation, or None."""
    described = (m for m in getattr(hint, "__metadata__", ()) if hasattr(m, "param_decls"))
    return next(described, None)


def _with_options_of_groups(function: CommandFunction) -> CommandFunction:
    """The same function with one parameter for each option of its groups."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups = dict[str, tuple[Any, list[str]]]()
    parameters = list[inspect.Parameter]()
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if isinstance(kind, type) and issubclass(kind, Struct):
            options = _options_of(kind)
            groups[parameter.name] = kind, [option.name for option in options]
            parameters += options
        else:
            parameters.append(
                parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
            )

    def expanded(**given: Any) -> Exit:
        for name, (kind, options) in groups.items():
            given[name] = kind(**{option: given.pop(option) for option in options})
        return function(**given)

    expanded.__annotations__ = {p.name: p.annotation for p in parameters}
    vars(expanded)["__signature__"] = inspect.Signature(parameters)
    return expanded


def _options_of(group: type[Any]) -> tuple[inspect.Parameter, ...]:
    """The options that a group carries: its fields with a description by Typer."""
    hints = get_type_hints(group, include_extras=True)
    return tuple(
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
        if _declared(hints[field.name]) is not None
    )
