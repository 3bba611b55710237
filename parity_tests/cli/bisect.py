"""The command `constparity bisect`: its options, its output and its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import BriefDisplay
from parity_tests.cli.exit_codes import Exit, check_engine_runs, complain, fail, interrupted
from parity_tests.cli.help_pages import OTHER_COMMAND
from parity_tests.cli.options import Reporting
from reports.kinds import formats_of

if TYPE_CHECKING:
    from engine.configuration.policy_table import Entry
    from parity_tests.bisect.running import NoJaxError
    from parity_tests.bisect.sites import Told

Command = Annotated[
    list[str],
    typer.Argument(metavar=OTHER_COMMAND, help="What is run, as in: -- pytest tests/test_a.py"),
]

# Variables that are other ones in another terminal, and decide nothing.
_OF_THE_SHELL = ("_=", "COLUMNS=", "LINES=", "OLDPWD=", "SHLVL=", "SSH_", "TERM", "WINDOWID=")

_CODES = {
    "found": Exit.DIFFERENCE,
    "fixed": Exit.DIFFERENCE,
    "ours": Exit.DIFFERENCE,
    "passes": Exit.PARITY,
    "fails before": Exit.COULD_NOT_COMPARE,
    "not repeatable": Exit.COULD_NOT_COMPARE,
    "not reached": Exit.COULD_NOT_COMPARE,
}


def no_jax(context: typer.Context, error: NoJaxError) -> None:
    """Say that a command imported no JAX, and set the exit status of that."""
    complain(str(error))
    context.obj.code = Exit.COULD_NOT_COMPARE if error.is_early else Exit.NOTHING_COLLECTED


def bisect(
    context: typer.Context,
    command: Command,
    until: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="What failing is, as 'text:NaN found': exit (a status other than 0), text:REGEX "
            "(the output has a match), or 'value:REGEX TOLERANCE' (a number in it differs).",
        ),
    ] = "exit",
    flip: Annotated[
        str | None,
        typer.Option(
            metavar="SITES",
            help="Run the command once with these sites flipped; exit as it does, and search "
            "nothing. SITES are all, none, or numbers and ranges between commas.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Arrays inlined (with --flip, or hoisted) whatever is flipped. A line for each, "
            "as in: inline model.py:31  # until #1234 is fixed",
        ),
    ] = None,
    inline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY",
            help="Inline these arrays whatever is flipped: model.py:31, model.py:Model.* or "
            "'float32[64,64] model.py:31'. Repeatable.",
        ),
    ] = None,
    hoist: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="With --flip: hoist these arrays whatever is flipped."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1.0, metavar="SECONDS", help="For each run; it fails then.")
    ] = 600.0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, metavar="N", help="How many runs go at once.")
    ] = 1,
    reset: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="Run by the shell before each run; it removes what an earlier one left behind.",
        ),
    ] = "",
    anew: Annotated[
        bool, typer.Option("--anew", help="Use no runs of an interrupted search.")
    ] = False,
    *,
    reporting: Annotated[Reporting, formats_of("bisection")],
    display: BriefDisplay,
) -> None:
    """Find the lines that make a command fail once captured arrays are hoisted.

    The command is run with every program and every captured array as before the flip, where it must
    pass, and as after it, where it must fail; then with parts flipped, until the smallest sets of
    sites are left that make it fail. A site is the form of a traced program, or one captured array
    of it. Exits with 1 where sites are to blame, with 0 where the command passes after the flip,
    and with 2 where it fails before it, does not repeat itself, or has processes out of reach.

    Examples:

      constparity bisect -- pytest tests/test_model.py::test_loss

      constparity bisect --until 'value:loss=(\\S+) 1e-5' -- python train.py
    """
    from parity_tests.bisect.bisecting import Bisecting
    from parity_tests.bisect.kept_runs import KeptRuns, digest_of
    from parity_tests.bisect.running import (
        CommandError,
        NoJaxError,
        Runner,
        Until,
        check_command,
        check_reached,
        run_here,
    )
    from parity_tests.bisect.sites import Flips
    from parity_tests.cli import last_failed
    from parity_tests.cli.report_option import write_reports
    from parity_tests.cli.terminal import say
    from reports.documents.bisection import lines

    check_engine_runs("bisect")
    requests = reporting.requests(context)
    try:
        how = Until.of(until)
        check_command(command)
        exceptions = _policy(policy, inline or (), hoist or ())
        if flip is not None:
            ended = run_here(command, Flips.of(flip), policy=exceptions)
            _print_unmatched(ended.told, exceptions)
            if Flips.of(flip).ranges:
                _print_unreached(ended.told)
                try:
                    check_reached(ended, command)
                    if _print_unmet(flip, ended.told):
                        context.obj.code = Exit.COULD_NOT_COMPARE
                except NoJaxError as error:
                    no_jax(context, error)
            # Its own status, unless that would say that it passes with what nobody has flipped.
            context.obj.code = ended.exit_status or context.obj.code
            return
        if hoisted := [each.key for each in _entries(exceptions) if each.choice == "hoist"]:
            raise ValueError(
                f"a search begins with nothing hoisted, and the policy hoists {hoisted[0]}: leave "
                "it out, or run the command once with --flip none"
            )
    except (ValueError, CommandError) as error:
        fail(str(error))
    versions = (sys.version, *map(metadata.version, ("constparity", "jax", "jaxlib")))
    variables = (f"{name}={value}" for name, value in sorted(os.environ.items()))
    given = (each for each in variables if not each.startswith(_OF_THE_SHELL))
    parts = (os.getcwd(), *versions, str(how), str(timeout), reset, exceptions, *command, *given)
    try:
        file = last_failed.make() / f"bisect-{digest_of(parts)}.jsonl"
    except OSError as error:
        fail(
            f"the runs of the search are kept in {last_failed.FOLDER}, which cannot be made here "
            f"({error.strerror}): run it in a folder that can be written to"
        )
    if anew:
        file.unlink(missing_ok=True)
    kept = KeptRuns(file)
    if kept.changed:
        complain(
            f"the runs that are kept are not used: {kept.changed} has changed since, or is new"
        )
    if kept.all_runs():
        complain(f"goes on after {len(kept.all_runs())} runs that are kept; --anew begins again")
        if kept.is_cut:
            complain("of the many files here, not all were looked at for changes")
    with display.progress(first="running the command") as shown:
        runner = Runner(command, timeout, reset, exceptions)
        options = ["--policy", str(policy)] if policy and exceptions else []
        options += [word for key in inline or () for word in ("--inline", key)]
        bisecting = Bisecting(runner, how, kept, jobs, shown.say, options)
        try:
            found = bisecting.run()
        except NoJaxError as error:
            no_jax(context, error)
            return
        except CommandError as error:
            if len(kept.all_runs()) < 2:  # else an end was passed, and it goes on from there
                file.unlink(missing_ok=True)
            fail(str(error))
        except KeyboardInterrupt:
            interrupted(context, "; the same command goes on with what was run")
            return
    file.unlink(missing_ok=True)
    console = display.console()
    for line in lines(found):
        say(console, line)
    _print_unmatched(kept.told, exceptions)
    write_reports(context, console, requests, found)
    context.obj.code = _CODES[found.answer]


def _policy(file: Path | None, inline: Sequence[str], hoist: Sequence[str]) -> str:
    """Return the text of a policy, checked; "" for none. Raises ValueError."""
    if file is None and not inline and not hoist:
        return ""
    from engine.configuration.policy_table import read_lines, read_table

    text = ""
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"--policy {file}: the file is not UTF-8") from None
        read_lines(text, str(file))
    for choice, keys in (("inline", inline), ("hoist", hoist)):
        read_table(dict.fromkeys(keys, choice), f"--{choice}")
        text += "".join(f"\n{choice} {key}  # --{choice}" for key in keys)
    return text if read_lines(text, "the policy").entries else ""


def _entries(policy: str) -> Sequence[Entry]:
    if not policy:
        return ()
    from engine.configuration.policy_table import read_lines

    return read_lines(policy, "the policy").entries


def _print_unreached(told: Told) -> None:
    """Say what could not be flipped, the first of each kind."""
    for reason, names in (
        ("captured outside of jax.jit", told.not_reached),
        ("a process that is not switched", told.not_switched),
    ):
        if names:
            more = f", and {len(names) - 1} more" if len(names) > 1 else ""
            complain(f"not flipped: {reason}: {min(names)}{more}")


def _print_unmet(flip: str, told: Told) -> bool:
    """Say which parts of --flip hold no site that was flipped, and whether there are such."""
    from parity_tests.bisect.sites import Flips

    parts = [] if flip in ("all", "none") else [part.strip() for part in flip.split(",")]
    unmet = [part for part in parts if not any(site in Flips.of(part) for site in told.sites)]
    for part in unmet:
        fixed = [why for site, (_, why) in told.fixed.items() if site in Flips.of(part)]
        complain(f"not flipped: {part}: {fixed[0] if fixed else _NO_SITE}")
    return bool(unmet)


_NO_SITE = (
    "the command met no such site; it has another number once a line above it is added or removed, "
    "so bisect again"
)


def _print_unmatched(told: Told, policy: str) -> None:
    """Say which keys of a policy name no array that was captured, or could not be followed."""
    for entry in _entries(policy):
        if entry.key not in told.matched:
            complain(f"policy: {entry.key} names no array that the command captured")
        elif entry.key in told.unfollowed:
            complain(f"policy: {entry.key} is not followed: {told.unfollowed[entry.key]}")
