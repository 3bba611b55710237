"""The arguments and options that several commands have."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, get_type_hints

import typer

from parity_tests.cli import completion
from parity_tests.cli.exit_codes import TRACEBACKS, fail
from parity_tests.cli.help_pages import EXIT_STATUS, HOW, OUTPUT, RARE, WHAT, print_all
from parity_tests.cli.report_option import checked_reports
from reports.kinds import ReportFormat, formats_of

if TYPE_CHECKING:
    from reports import ReportRequest
    from reports.rows import Side
    from reports.rows.fail_rules import FailRule

PROJECT_KEYS = ("fail-on", "pytest")  # of [tool.constparity]


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        help="A module, file or folder of programs; package.module:name or path/to/file.py:name "
        "for one. Without targets, the built-in corpus.",
        rich_help_panel=WHAT,
    ),
]
OneTarget = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="One program: package.module:name or path/to/file.py:name.",
    ),
]
Sides = Annotated[
    str | None,
    typer.Option(
        metavar="SIDES",
        autocompletion=completion.one_of(completion.sides, behind=","),
        help="The sides to run, separated by commas.",
        show_default="all four",
        rich_help_panel=WHAT,
    ),
]
# `with_options` adds the formats of the command to the text, and to what a shell completes.
Report = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FORMAT:PATH",
        help="Write a report, as {formats[0]}:PATH. Formats: {all}. PATH - prints it. Repeatable.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the result as JSON; the rest goes to stderr.",
        rich_help_panel=OUTPUT,
    ),
]


def _link(text: str) -> str:
    """Read the address of a report."""
    from reports.output.comment import checked_link

    try:
        return checked_link(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


ReportUrl = Annotated[
    str | None,
    typer.Option(
        parser=_link,
        metavar="URL",
        help="Where the whole report can be read, http or https: a link in --report comment:PATH.",
        rich_help_panel=RARE,
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        metavar="RULES",
        autocompletion=completion.one_of(completion.rules, behind=","),
        help="What to exit with 1 for, as drift,slower:20%: different, placement, new-failure, "
        "not-compared (2), not-proved:parted (2), not-proved:undecided (2), drift, slower:20%, "
        "larger:2x, hazard:donated, version-change. Default: fail-on of [tool.constparity] in "
        "pyproject.toml, else the first six.",
        rich_help_panel=EXIT_STATUS,
    ),
]
ExitZero = Annotated[
    bool,
    typer.Option(
        "--exit-zero",
        help="Exit with 0 whatever the verdict; errors still count.",
        rich_help_panel=EXIT_STATUS,
    ),
]


@dataclass(frozen=True)
class Reporting:
    """Which reports a command writes.

    `formats` are those that it can write; a command that has other ones than a campaign says so
    where it takes the record, as in `Annotated[Reporting, formats_of("sites")]`.
    """

    report: Report = None
    json: Json = False
    report_url: ReportUrl = None
    formats: tuple[ReportFormat, ...] = formats_of("campaign")

    @property
    def texts(self) -> list[str]:
        """The reports as the user asked for them."""
        return [*(self.report or ()), *(["json:-"] if self.json else [])]

    def requests(self, context: typer.Context, *, of_proofs: bool = False) -> list[ReportRequest]:
        """Check the options, as `checked_reports` does."""
        link = self.report_url or ""
        return checked_reports(context, self.texts, self.formats, link=link, of_proofs=of_proofs)


@dataclass(frozen=True)
class Judging:
    """What a command exits with."""

    fail_on: FailOn = None
    exit_zero: ExitZero = False
    of_proofs: ClassVar[bool] = False  # which have default rules of their own

    def __post_init__(self) -> None:
        _ = self.rules  # what is wrong with them is said before anything runs

    @cached_property
    def rules(self) -> tuple[FailRule, ...]:
        """The rules of --fail-on, else those of the project, else the default ones.

        Raises `typer.BadParameter`; leaves with `Exit.USAGE` where the project's cannot be read.

        Example::

            Judging("different,slower:20%").rules[1].limit == 1.2
        """
        from reports.rows import fail_rules
        from reports.rows.fail_rules import FailRuleError, parse

        default = fail_rules.DEFAULT_OF_PROOFS if self.of_proofs else fail_rules.DEFAULT
        try:
            if self.fail_on is None:
                return parse(project_fail_on() or default)
            rules = parse(self.fail_on)
            if not rules:
                raise FailRuleError("it names no rule; --exit-zero ends with 0 whatever is found")
            if self.of_proofs:
                fail_rules.check_of_proofs(rules)
            return rules
        except FailRuleError as error:
            where = "--fail-on" if self.fail_on is not None else "fail-on of [tool.constparity]"
            raise typer.BadParameter(f"{where}: {error}") from error


class JudgingProofs(Judging):
    """What a command exits with that proves programs."""

    of_proofs = True


ProgramTimeout = Annotated[
    float,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        help="For one program on one side.",
        rich_help_panel=HOW,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Processes at once; with more, times vary.",
        show_default="2",
        rich_help_panel=HOW,
    ),
]
NoAttribution = Annotated[
    bool,
    typer.Option(
        "--no-attribution",
        help="Do not run programs again to find out why outputs are not bitwise equal.",
        rich_help_panel=RARE,
    ),
]
AttributionTimeout = Annotated[
    float,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        help="For all runs that find out why the outputs of one program drift.",
        rich_help_panel=RARE,
    ),
]


def _folder(text: str) -> Path:
    """Read the name of a folder: "" would be the working directory, which nobody means by it."""
    if not text.strip():
        raise typer.BadParameter("it is empty; name a folder")
    return Path(text)


Resume = Annotated[
    Path | None,
    typer.Option(
        parser=_folder,
        metavar="DIR",
        help="Keep what is finished in DIR; go on with what is there.",
        rich_help_panel=HOW,
    ),
]


def parse_sides(text: str | None) -> tuple[Side, ...]:
    """Read the sides of the option --sides, all four without it. Raises `typer.BadParameter`.

    Example::

        parse_sides("simplified,legacy") == ("legacy", "simplified")
    """
    from reports.rows import SIDES

    if text is None:
        return SIDES
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SIDES:
            from parity_tests.suggestions import close

            sides = f"the sides are {', '.join(SIDES)}"
            raise typer.BadParameter(f"no side {name!r}; {sides}{close(name, SIDES)}")
    if len(names) < 2 or len(set(names)) < len(names):
        raise typer.BadParameter(f"a comparison needs two or more different sides, got {text!r}")
    return tuple(side for side in SIDES if side in names)


def _file(text: str) -> Path:
    """Read the name of a file; "" would be the working directory, which nobody means by it."""
    if not text.strip() or text == "-":
        raise typer.BadParameter(f"{text!r} is no file; name one, as in runs.db")
    return Path(text).expanduser()


RunStore = Annotated[
    Path | None,
    typer.Option(
        parser=_file,
        metavar="FILE",
        help="Keep results in a database, for `history`.",
        rich_help_panel=OUTPUT,
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        parser=_file,
        metavar="FILE",
        help="The database of runs that `run --store` writes.",
    ),
]


def needs_store() -> NoReturn:
    """Leave with `Exit.USAGE`: the command was given no store."""
    fail("name the database of runs, as in --store runs.db; constparity run --store writes one")


def project_fail_on() -> str | None:
    """Read `fail-on` of the project that the working directory lies in.

    It is in the table `[tool.constparity]` of pyproject.toml; None where nothing sets it. Leaves
    with `Exit.USAGE` where the table cannot be read, and says what is wrong with it.

    Example::

        project_fail_on() == "different,new-failure"
    """
    from parity_tests.suites.settings import SettingsError, checked, project_table

    try:
        file, table = project_table(Path.cwd())
        checked(table.get("pytest", {}), str(file))  # the plugin alone uses it
    except SettingsError as error:
        fail(str(error))
    unknown = sorted(set(table) - set(PROJECT_KEYS))
    if unknown:
        fail(
            f"{file}: [tool.constparity] has no setting {unknown[0]!r}; "
            f"the settings are {', '.join(PROJECT_KEYS)}"
        )
    rules = table.get("fail-on")
    if isinstance(rules, list) and all(isinstance(each, str) for each in rules):
        rules = ",".join(rules)
    if rules is not None and not isinstance(rules, str):
        fail(f'{file}: fail-on is a text or a list of texts, as in fail-on = ["different"]')
    return rules


# -- options as records ----------------------------------------------------------------------------


def _show_tracebacks(asked: bool) -> None:
    if asked:
        TRACEBACKS.set(True)


Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=_show_tracebacks,
        is_eager=True,
        expose_value=False,
        help="Print tracebacks below error messages, and of programs that fail.",
        rich_help_panel=RARE,
    ),
]
HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=print_all,
        is_eager=True,
        expose_value=False,
        help="As --help, with all options and more of each.",
    ),
]


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the fields of the records it takes as options, in their place.

    And the options that all commands have: --debug and --help-all.

    Example::

        @dataclass(frozen=True)
        class Display:
            quiet: Quiet = False

        def run(context: typer.Context, display: Display) -> None: ...

        app.command()(with_options(run))  # constparity run --quiet
    """
    taken = [
        _Taken(each, *_record_of(each.annotation))
        for each in inspect.signature(command, eval_str=True).parameters.values()
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name in ("debug", "help_all"):  # their callbacks have seen to them
            given.pop(name, None)
        for each in taken:
            if each.record is not None:
                fields = {option.name: given.pop(option.name) for option in each.options}
                if each.told and each.record is Reporting:
                    fields["formats"] = each.told
                given[each.parameter.name] = each.record(**fields)
        command(**given)

    options = [option for each in taken for option in each.options]
    options += [_option("debug", Debug, False), _option("help_all", HelpAll, False)]
    called.__dict__["__signature__"] = inspect.Signature(options)
    called.__annotations__ = {each.name: each.annotation for each in options}
    return called


@dataclass(frozen=True)
class _Taken:
    """What a command takes: a parameter, or the fields of a record in the place of it."""

    parameter: inspect.Parameter
    record: Any
    told: tuple[str, ...]  # the formats of a `Reporting`, of others the fields that are options

    @cached_property
    def options(self) -> list[inspect.Parameter]:
        """The parameters that typer makes arguments and options of."""
        if self.record is None:
            return [self.parameter]
        types = get_type_hints(self.record, include_extras=True)
        return [
            _option(each.name, self._with_formats(types[each.name]), each.default)
            for each in dataclasses.fields(self.record)
            if self._is_option(each.name, types[each.name])
        ]

    def _is_option(self, name: str, annotation: Any) -> bool:
        if not hasattr(annotation, "__metadata__"):
            return False
        if self.record is Reporting:
            return name != "report_url" or "comment" in (self.told or Reporting.formats)
        return not self.told or name in self.told

    def _with_formats(self, annotation: Any) -> Any:
        report: Any = Report
        if annotation is not report:
            return annotation
        formats = self.told or Reporting.formats
        told = copy.copy(report.__metadata__[0])
        told.help = told.help.format(formats=formats, all=", ".join(formats))
        told.autocompletion = completion.one_of(lambda: [f"{each}:" for each in formats])
        return Annotated[report.__origin__, told]


def _record_of(annotation: Any) -> tuple[Any, tuple[str, ...]]:
    if dataclasses.is_dataclass(annotation):
        return annotation, ()
    record = getattr(annotation, "__origin__", None)
    if record is not None and dataclasses.is_dataclass(record):
        return record, annotation.__metadata__[0]
    return None, ()


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
