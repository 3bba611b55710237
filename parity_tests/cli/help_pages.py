"""What `--help` prints: a screen for each command, with options in groups, the rare ones by name.

`--help-all` explains these, too. Pages are plain text: nothing is coloured, and rich not imported.
"""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

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
_ORDER = (WHAT, HOW, _OTHER, OUTPUT, EXIT_STATUS)

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
        write_page(self, ctx, formatter)
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, _paragraphs(each.help)[0]) for name, each in found if each is not None]
        write_rows(formatter, "Commands", rows)

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


def write_page(command: Any, context: Any, formatter: Any) -> None:
    """Write usage, what the command does, and its options in groups."""
    formatter.write_usage(context.command_path, " ".join(command.collect_usage_pieces(context)))
    paragraphs = _paragraphs(command.help)
    for paragraph in paragraphs:
        is_example = paragraph.startswith(" ")
        if is_example:
            formatter.write(f"{paragraph}\n")
        else:
            _write_text(formatter, paragraph)
    arguments = [(_name_of(each), each.help or "") for each in _arguments(command, context)]
    write_rows(formatter, "Arguments", [each for each in arguments if each[1]])
    groups: dict[str, list[Any]] = {group: [] for group in _ORDER}
    for each in command.get_params(context):
        if each.param_type_name == "option" and each.opts[0] not in _OF_HELP:
            group = RARE if "--show-completion" in each.opts else each.rich_help_panel
            groups.setdefault(group or _OTHER, []).append(each)
    rare = groups.pop(RARE, [])
    for name, options in groups.items():
        write_rows(formatter, name, [(_names_of(each), _text_of(each)) for each in options])
    if context.meta.get(_ALL):
        write_rows(formatter, RARE, [(_names_of(each), _text_of(each)) for each in rare])
    else:
        names = ", ".join(each.opts[0] for each in rare)
        _write_text(formatter, f"{RARE}, see --help-all: {names}")


def _write_text(formatter: Any, text: str) -> None:
    formatter.write(f"\n{textwrap.fill(text, formatter.width, break_on_hyphens=False)}\n")


def write_rows(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    """Write names with what they mean, below a heading."""
    if not rows:
        return
    column = min(max(len(name) for name, _ in rows), _WIDEST_NAMES) + 4
    formatter.write(f"\n{heading}\n")
    for name, text in rows:
        lines = textwrap.wrap(text, formatter.width - column, break_on_hyphens=False) or [""]
        if len(name) + 4 > column:
            formatter.write(f"  {name}\n")
            name = ""
        formatter.write(f"  {name:{column - 2}}{lines[0]}\n".rstrip(" "))
        formatter.write("".join(f"{'':{column}}{line}\n" for line in lines[1:]))


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


def _names_of(option: Any) -> str:
    """Return the names of an option, the short ones first, and the name of its value."""
    names = ", ".join(sorted([*option.opts, *option.secondary_opts], key=len))
    return names if option.is_flag or option.metavar is None else f"{names} {option.metavar}"


def _text_of(option: Any) -> str:
    """Return what an option does, and its default where that says something."""
    default, shown, text = option.default, option.show_default, option.help or ""
    if default is None and isinstance(shown, str):
        default = shown
    if not shown or default in (None, False, "", [], ()) or callable(default):
        return text
    if isinstance(default, float):
        default = f"{default:g}"
    return f"{text} [default: {getattr(default, 'value', default)}]"
