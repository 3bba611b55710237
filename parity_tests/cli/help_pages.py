"""What `--help` prints: a screen for each command, with options in groups.

Where the terminal has no room for all of it, an option has its first clause, or is named alone:
`--help-all` explains them. Pages are plain text: nothing is coloured, and rich not imported.
"""

from __future__ import annotations

import difflib
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from parity_tests.cli.exit_codes import fail

# The groups that options are shown in.
WHAT = "What is run"
HOW = "How it is run"
OUTPUT = "Output"
EXIT_STATUS = "Exit status"
RARE = "Rarely needed"
_OTHER = "Options"
_OF_HELP = ("-h", "--help", "--help-all")  # whoever reads the page knows them
_ARGUMENTS = "Arguments"
_ORDER = (_ARGUMENTS, WHAT, HOW, _OTHER, OUTPUT, EXIT_STATUS, RARE)
# Names, each with what it means.
Rows: TypeAlias = Sequence[tuple[str, str]]
_MORE = "--help-all explains all, also"
_ENDS = re.compile(r"(?<=[^\s.])[.:;] ")  # of the first clause

_ALL = "constparity.help_all"  # in the `meta` of a context: the rare options are explained, too
# What is run by a command of ours, and whether it has the dashes that keep its options from us.
OTHER_COMMAND = "-- COMMAND"
_UNMARKED = "constparity.unmarked"
_WIDEST_NAMES = 26  # of options; what is wider has a line of its own


# What other tools call a command of ours, or an option.
_CALLED_ELSEWHERE = {
    "check": ("run", "prove"),
    "ci": ("init",),
    "diff": ("compare",),
    "help": ("--help",),
    "html": ("report",),
    "minimize": ("reduce",),
    "pytest": ("bisect", "sites"),
    "test": ("run",),
    "verify": ("prove",),
}


class Command(TyperCommand):
    """A command with a page of help of this project's form."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words, and note where dashes are left out before a command that is run."""
        takes_one = any(each.metavar == OTHER_COMMAND for each in self.params)
        ctx.meta[_UNMARKED] = takes_one and "--" not in args
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what stands behind the name of the command in its usage."""
        return ["[OPTIONS]", *(_usage_of(each) for each in _arguments(self, ctx))]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        write_page(self, ctx, formatter)


def left_out(context: Any) -> str:
    """Say that the dashes before a command are left out; "" where they are not."""
    if context is None or not context.meta.get(_UNMARKED):
        return ""
    path = context.command_path
    return f"\n  -> the command goes after --, as in `{path} -- pytest tests/test_a.py`"


class Group(TyperGroup):
    """A command that has commands, with a page of help of the same form."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page, and the commands with the first sentence of each."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, _paragraphs(each.help)[0]) for name, each in found if each is not None]
        write_page(self, ctx, formatter, {"Commands": rows})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words name; leaves with `Exit.USAGE` where there is none."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            known = (*names, *_OF_HELP)
            elsewhere = [each for each in _CALLED_ELSEWHERE.get(args[0], ()) if each in known]
            meant = elsewhere or difflib.get_close_matches(args[0], names, n=3, cutoff=0.6)
            hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
            fail(
                f"no command {args[0]!r}{hint}\n  -> `{ctx.command_path} --help` lists the commands"
            )
        return super().resolve_command(ctx, args)


def print_all(context: typer.Context, asked: bool) -> None:
    """Print the page with all options explained, and leave: the option --help-all."""
    if asked and not context.resilient_parsing:
        context.meta[_ALL] = True
        print(context.get_help())
        raise typer.Exit


def write_page(
    command: Any, context: Any, formatter: Any, commands: Mapping[str, Rows] = MappingProxyType({})
) -> None:
    """Write usage, what the command does, and its options in groups: all of it, or a screen.

    Below that stand its own commands, by their headings, with what each does.
    """
    formatter.write_usage(context.command_path, " ".join(command.collect_usage_pieces(context)))
    paragraphs, groups = _paragraphs(command.help), _groups(command, context)
    ends = [
        line
        for heading, rows in commands.items()
        for line in ("", heading, *_rows(rows, formatter.width))
    ]
    room = shutil.get_terminal_size().lines - 2 - len(ends)  # the usage, and the prompt
    page = _all_of(paragraphs, groups, formatter.width)
    if not context.meta.get(_ALL) and len(page) > room:
        page = _screen_of(paragraphs, groups, formatter.width, room)
    formatter.write("".join(f"{line}\n" for line in page + ends))


def _groups(command: Any, context: Any) -> dict[str, list[Any]]:
    """Return the arguments and options by the heading that they stand under."""
    found: dict[str, list[Any]] = {group: [] for group in _ORDER}
    for each in command.get_params(context):
        is_argument = each.param_type_name == "argument"
        group = each.rich_help_panel or (_ARGUMENTS if is_argument else _OTHER)
        if each.help and each.opts[0] not in _OF_HELP:
            found[RARE if "--show-completion" in each.opts else group].append(each)
    return {group: taken for group, taken in found.items() if taken}


def _all_of(paragraphs: list[str], groups: dict[str, list[Any]], width: int) -> list[str]:
    lines = _filled(paragraphs, width)
    for heading, taken in groups.items():
        lines += ["", heading, *_rows([(_names_of(each), _text_of(each)) for each in taken], width)]
    return lines


def _screen_of(
    paragraphs: list[str], groups: dict[str, list[Any]], width: int, room: int
) -> list[str]:
    """Return a page with a line for each option, or with its name alone where there is no room.

    The rare options are named first, then the last ones of the longest group.
    """
    examples = [each for each in paragraphs if each.startswith(" ")]
    head = _filled([*paragraphs[:1], *([""] if examples else []), *examples], width)
    rare = [each.opts[0] for each in groups.pop(RARE, ())]
    kept = {heading: [*taken] for heading, taken in groups.items()}
    while True:
        lines = ["", *_lines_of(kept, width)]
        shown = {each.name for taken in kept.values() for each in taken}
        named = [
            each.opts[0] for taken in groups.values() for each in taken if each.name not in shown
        ]
        for also in ([*named, *rare], [*named, "and what is rarely needed"]):
            page = head + lines + _filled([f"{_MORE} {', '.join(also)}"], width)
            if len(page) <= room:
                return page
        longest = max(reversed(kept.values()), key=len, default=[])
        if len(longest) < 2:
            return page
        longest.pop()


def _lines_of(groups: dict[str, list[Any]], width: int) -> list[str]:
    """Return a line for each option, and one for the heading of each group."""
    lines = []
    for heading, taken in groups.items():
        names = [_names_of(each) for each in taken]
        room = width - max(map(len, names)) - 4
        texts = [_clause_of(each, room) for each in taken]
        lines += [heading, *_rows([*zip(names, texts, strict=True)], width)]
    return lines


def _filled(paragraphs: Sequence[str], width: int) -> list[str]:
    """Return the lines of paragraphs, and an empty one before each that is no example."""
    lines = []
    for each in paragraphs:
        is_example = each.startswith(" ")
        filled = textwrap.wrap(each, width, break_on_hyphens=False)
        lines += each.split("\n") if is_example else ["", *filled]
    return lines


def _rows(rows: Rows, width: int) -> list[str]:
    """Return the lines of names with what they mean."""
    column = min(max(len(name) for name, _ in rows), _WIDEST_NAMES) + 4
    found = []
    for name, text in rows:
        lines = textwrap.wrap(text, width - column, break_on_hyphens=False) or [""]
        if len(name) + 4 > column:
            found.append(f"  {name}")
            name = ""
        found.append(f"  {name:{column - 2}}{lines[0]}".rstrip())
        found += [f"{'':{column}}{line}" for line in lines[1:]]
    return found


def _paragraphs(text: str | None) -> list[str]:
    """Split a docstring; the lines of a paragraph are joined, and examples stay as they are."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return [each if each.startswith(" ") else each.replace("\n", " ") for each in paragraphs]


def _arguments(command: Any, context: Any) -> Iterator[Any]:
    yield from (each for each in command.get_params(context) if each.param_type_name == "argument")


def _name_of(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper()).removesuffix("...")


def _usage_of(argument: Any) -> str:
    name = _name_of(argument)
    name = name if argument.required else f"[{name}]"
    return f"{name}..." if argument.nargs == -1 else name


def _names_of(parameter: Any) -> str:
    """Return the name of an argument; those of an option, short ones first, and of its value."""
    if parameter.param_type_name == "argument":
        return _name_of(parameter)
    names = ", ".join(sorted([*parameter.opts, *parameter.secondary_opts], key=len))
    takes_none = parameter.is_flag or parameter.metavar is None
    return names if takes_none else f"{names} {parameter.metavar}"


def _clause_of(parameter: Any, width: int) -> str:
    """Return what a parameter is, or the first clause where all of it is wider than this."""
    text = parameter.help or ""
    whole = (_text_of(parameter), text, f"{_ENDS.split(text, maxsplit=1)[0].removesuffix('.')}.")
    return next((each for each in whole if len(each) <= width), whole[-1])


def _text_of(option: Any) -> str:
    """Return what an option does, and its default where that says something."""
    default, shown, text = option.default, option.show_default, option.help or ""
    if option.param_type_name == "argument":
        return text
    if default is None and isinstance(shown, str):
        default = shown
    if not shown or default in (None, False, "", [], ()) or callable(default):
        return text
    if isinstance(default, float):
        default = f"{default:g}"
    return f"{text} [default: {getattr(default, 'value', default)}]"
