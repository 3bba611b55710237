"""The command `constparity lint`: what it asks, prints, and exits with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import Exit, complain, fail, interrupted
from parity_tests.cli.options import EXIT_STATUS, HOW, WHAT, Reporting

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.lint.records import Confidence, Result


class AtLeast(StrEnum):
    """The choices of --confidence."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def lint(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Python files and folders."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODES",
            help="Look for these alone, as in CP101,CP4. Repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Leave these out. Repeatable.", rich_help_panel=WHAT),
    ] = None,
    confidence: Annotated[
        AtLeast,
        typer.Option(
            metavar="low|medium|high",
            help="How sure a finding has to be.",
            rich_help_panel=WHAT,
        ),
    ] = AtLeast.MEDIUM,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="CODES", help="Say what codes mean and what to do.", rich_help_panel=WHAT
        ),
    ] = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Rewrite what has a fix that works in both forms.", rich_help_panel=HOW
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="With or without --fix: show the fixes alone.", rich_help_panel=HOW
        ),
    ] = False,
    *,
    reporting: Annotated[Reporting, ("sarif", "json")],
    display: BriefDisplay,
    exit_zero: Annotated[
        bool,
        typer.Option(
            "--exit-zero", help="Exit with 0 whatever was found.", rich_help_panel=EXIT_STATUS
        ),
    ] = False,
) -> None:
    """Find code that will see the flip of JAX's captured arrays, without running it.

    A comment `# constparity: ignore[CP101]` silences a code on its line. Exits with 0 where nothing
    was found, 1 with findings, 2 where a file could not be read, 5 where there is no Python file.

    Examples:

      constparity lint src

      constparity lint src --select CP1 --report sarif:lint.sarif

      constparity lint --explain CP101
    """
    try:
        from parity_tests.lint import fixing, rules
        from parity_tests.lint.records import Confidence
        from parity_tests.lint.run import lint as run_lint
    except ModuleNotFoundError as missing:
        if missing.name != "libcst":
            raise
        fail("reading Python sources needs libcst: install constparity[lint]")
    from parity_tests.cli.report_option import write_texts
    from parity_tests.cli.terminal import SOON
    from reports.views.texts import counted

    if explain is not None:
        print(_explanation(explain))
        return
    if not paths:
        fail("name files or folders to lint, as in: constparity lint src")
    for path in paths:
        if not path.exists():
            fail(f"{path}: no such file or folder; check the path")
    codes = _chosen(select, ignore, rules.CODES)
    requests = reporting.requests(context)
    console = display.console()
    changed: list[Path] = []

    def change(file: Path, before: str, after: str) -> None:
        if diff:
            print(fixing.difference(file, before, after), end="")
        else:
            try:
                fixing.write_back(file, before, after)
            except OSError as error:
                complain(f"{file} cannot be fixed: {error.strerror or error}")
                context.obj.code = Exit.INTERNAL_ERROR
                return
        changed.append(file)

    at_least = Confidence[confidence.value.upper()]
    with display.progress(every=SOON, first="looking for Python files") as shown:
        result = run_lint(paths, codes, at_least, change if fix or diff else None, shown)
    if not diff:
        print_findings(result)
    _print_rest(console, result, changed, quiet=display.quiet, diff=diff)
    if result.left:  # a report without these files would say that they are clean
        interrupted(context, f"; {counted(result.left, 'file')} not linted")
        return
    texts: dict[str, Callable[[Result], str | bytes]] = {"sarif": _sarif, "json": _json}
    write_texts(context, console, requests, lambda each: texts[each.format](result))
    context.obj.code = max(context.obj.code, _exit(result, exit_zero=exit_zero))


def print_findings(result: Result) -> None:
    """Print a line for each finding: file, line, column, code and message."""
    from reports.views.texts import visible

    for each in result.findings:
        place = each.match.place
        where = f"{each.file}:{place.line}:{place.column}"
        print(visible(f"{where}: {each.code} {each.match.message}{_DOUBTS[each.match.confidence]}"))


_DOUBTS = {1: " (possible)", 2: " (likely)", 3: ""}


def _print_rest(
    console: Console, result: Result, changed: list[Path], *, quiet: bool, diff: bool
) -> None:
    """Print which files were not read or were changed, and the number of findings."""
    from parity_tests.cli import terminal
    from reports.views.texts import counted

    for each in result.unread:
        if each.is_failure:
            complain(f"{each.file} was not linted: {each.reason}")
        elif not quiet:
            terminal.say(console, f"{each.file} was not linted: {each.reason}")
    found, files = counted(len(result.findings), "finding"), counted(len(result.files), "file")
    if diff and result.findings:  # the difference is for other programs, and this for the user
        complain(f"{found} in {files} without a fix; they are shown without --diff")
    if quiet or diff:
        return
    for file in changed:
        terminal.say(console, f"fixed: {file}")
    terminal.say(console, f"{found} in {files}")


def _exit(result: Result, *, exit_zero: bool) -> Exit:
    if exit_zero:
        return Exit.PARITY
    if result.findings:
        return Exit.DIFFERENCE
    if any(each.is_failure for each in result.unread):
        return Exit.COULD_NOT_COMPARE
    return Exit.PARITY if result.files else Exit.NOTHING_COLLECTED


def _chosen(
    select: list[str] | None, ignore: list[str] | None, codes: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the codes that are looked for; a beginning such as CP1 stands for all that have it."""
    asked, left_out = (
        {code for text in texts or () for code in _named(text, codes)} for texts in (select, ignore)
    )
    chosen = tuple(
        each for each in codes if (each in asked or select is None) and each not in left_out
    )
    if not chosen:
        fail("--ignore leaves no rule of those that --select names")
    return chosen


def _named(text: str, codes: tuple[str, ...]) -> Iterator[str]:
    for part in text.split(","):
        begins = [code for code in codes if part.strip() and code.startswith(part.strip())]
        if not begins:
            fail(f"there is no rule {part.strip()!r}; the rules are {', '.join(codes)}")
        yield from begins


def _explanation(code: str) -> str:
    from parity_tests.lint.rules import CODES, EXPLANATIONS, TITLES

    named = sorted(set(_named(code, CODES)))
    return "\n\n\n".join(f"{each}: {TITLES[each]}\n\n{EXPLANATIONS[each]}" for each in named)


def _sarif(result: Result) -> str:
    from parity_tests.lint.rules import EXPLANATIONS, TITLES
    from parity_tests.observe.environment import version
    from reports.output import sarif

    rules = [sarif.SarifRule(code, TITLES[code], EXPLANATIONS[code]) for code in TITLES]
    findings = [
        sarif.SarifFinding(
            rule_id=each.code,
            message=each.match.message,
            level="warning" if _name(each.match.confidence) == "high" else "note",
            file=str(each.file),
            line=each.match.place.line,
            column=each.match.place.column,
        )
        for each in result.findings
    ]
    failures = [f"{each.file}: {each.reason}" for each in result.unread if each.is_failure]
    return sarif.render(version(), rules, findings, failures)


def _json(result: Result) -> bytes:
    from parity_tests.cli.report_option import as_json
    from parity_tests.observe.environment import version
    from reports.rows.row import spelled_out

    findings = [
        {
            "code": each.code,
            "file": spelled_out(str(each.file)),
            "line": each.match.place.line,
            "column": each.match.place.column,
            "message": each.match.message,
            "confidence": _name(each.match.confidence),
            "is_fixable": bool(each.match.edits),
        }
        for each in result.findings
    ]
    unread = [
        {
            "file": spelled_out(str(each.file)),
            "reason": each.reason,
            "is_failure": each.is_failure,
        }
        for each in result.unread
    ]
    files = len(result.files)
    return as_json(
        {"constparity": version(), "files": files, "findings": findings, "unread": unread}
    )


def _name(confidence: Confidence) -> str:
    return confidence.name.lower()
