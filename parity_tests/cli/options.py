"""The arguments and options that several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn

import typer

from parity_tests.cli.exit_codes import fail
from parity_tests.cli.report_option import checked_reports
from reports.kinds import formats_of

if TYPE_CHECKING:
    from reports import ReportRequest
    from reports.rows import Side
    from reports.rows.fail_rules import FailRule
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

# The groups that `--help` shows options in.
WHAT = "What is run"
HOW = "How it is run"
OUTPUT = "Output"
EXIT_STATUS = "Exit status"

_KEYS = ("fail-on", "pytest")  # of [tool.constparity]


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        help="package.module:name, path/to/file.py:name (or ::name), or a module, file or "
        "directory for every program in it. Without targets, the built-in corpus.",
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
        help="The sides to run, separated by commas.", show_default="all four", rich_help_panel=WHAT
    ),
]
Report = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FORMAT:PATH",
        help="Write a report, as in html:out.html; json:- prints it. The formats are "
        f"{', '.join(formats_of('campaign'))}. Repeatable.",
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
        rich_help_panel=OUTPUT,
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        metavar="RULES",
        help="For which findings to exit with 1, or with 2 for not-compared: different, "
        "placement, new-failure, not-compared, drift, slower:20%, larger:2x, hazard:donated, "
        "not-proved:parted, and in a grid version-change, separated by commas. Default: fail-on of "
        "\\[tool.constparity] in pyproject.toml, else different,placement,new-failure,"
        "not-compared, so that a price or an explained drift alone exits with 0.",
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
    """Which reports a command writes."""

    report: Report = None
    report_url: ReportUrl = None

    def requests(self, context: typer.Context, *, of_proofs: bool = False) -> list[ReportRequest]:
        """Check the options, as `checked_reports` does."""
        link = self.report_url or ""
        return checked_reports(context, self.report or (), link=link, of_proofs=of_proofs)


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
        help="How many processes run at once; 2 unless given. With more than there are sides, the "
        "programs of a side are divided among several. Times are less exact with more.",
        rich_help_panel=HOW,
    ),
]
NoAttribution = Annotated[
    bool,
    typer.Option(
        "--no-attribution",
        help="Do not run programs again to find out why outputs are not bitwise equal.",
        rich_help_panel=HOW,
    ),
]
AttributionTimeout = Annotated[
    float,
    typer.Option(
        min=0.1,
        metavar="SECONDS",
        help="For all runs that find out why the outputs of one program drift.",
        rich_help_panel=HOW,
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
        help="Keep what is finished in DIR, and go on with what an earlier run left there; what "
        "exceeded a limit runs again under a larger one.",
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
        help="Keep the run in a database, each program as soon as it is finished, for `history`.",
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
    unknown = sorted(set(table) - set(_KEYS))
    if unknown:
        fail(
            f"{file}: [tool.constparity] has no setting {unknown[0]!r}; "
            f"the settings are {', '.join(_KEYS)}"
        )
    rules = table.get("fail-on")
    if isinstance(rules, list) and all(isinstance(each, str) for each in rules):
        rules = ",".join(rules)
    if rules is not None and not isinstance(rules, str):
        fail(f'{file}: fail-on is a text or a list of texts, as in fail-on = ["different"]')
    return rules


# -- options as records ----------------------------------------------------------------------------


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the fields of the records it takes as options, in their place.

    Example::

        @dataclass(frozen=True)
        class Display:
            quiet: Quiet = False

        def run(context: typer.Context, display: Display) -> None: ...

        app.command()(with_options(run))  # constparity run --quiet
    """
    taken = inspect.signature(command, eval_str=True).parameters.values()
    records: dict[str, Any] = {
        each.name: each.annotation for each in taken if dataclasses.is_dataclass(each.annotation)
    }

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, record in records.items():
            fields = [each.name for each in dataclasses.fields(record)]
            given[name] = record(**{field: given.pop(field) for field in fields})
        command(**given)

    options = [
        option
        for each in taken
        for option in (_options_of(each.annotation) if each.name in records else (each,))
    ]
    called.__dict__["__signature__"] = inspect.Signature(options)
    called.__annotations__ = {each.name: each.annotation for each in options}
    return called


def _options_of(record: Any) -> list[inspect.Parameter]:
    types = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=types[each.name],
        )
        for each in dataclasses.fields(record)
    ]
