"""The command `constparity doctor`: its options, its output and its exit status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import PlainDisplay
from parity_tests.cli.exit_codes import Exit
from parity_tests.cli.options import Reporting

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.diagnosis.diagnose import Diagnosis, Extra, Flag


def doctor(
    context: typer.Context,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Diagnose this Python, as one that the sides run in. "
            "Nothing is installed there. Repeatable. Without it, the Python of constparity.",
        ),
    ] = None,
    *,
    reporting: Annotated[Reporting, ("json",)],
    display: PlainDisplay,
) -> None:
    """Say what is installed here, whether all of it works together, and what to do if not.

    Shown are the versions, JAX's flag and the engine's, whether the engine runs on this JAX, the
    form that each side really produces, private names of JAX that are gone or changed, extras that
    are missing, and whether pytest knows --constparity. Each side runs a small program in a process
    of its own. Exits with 0 when all is well, and with 1
    where something is wrong. With --python all of this is said of another Python, and what it lacks
    is named; that the engine refuses its JAX is no fault there, for stock JAX can be compared.

    Examples:

      constparity doctor

      constparity doctor --report json:doctor.json

      constparity doctor --python ~/jax-0.12/bin/python
    """
    from parity_tests.cli.report_option import write_reports
    from parity_tests.diagnosis.diagnose import Diagnoses, diagnose

    requests = reporting.requests(context)
    console = display.console()
    found = []
    for path in python or (None,):
        with display.progress(first="asking the interpreter") as shown:
            found.append(diagnose(path, progress=shown))
        print_diagnosis(console, found[-1])
    whole = found[0] if len(found) == 1 else Diagnoses(interpreters=tuple(found))
    write_reports(context, console, requests, whole)
    wrong = any(each.problems for each in found)
    context.obj.code = max(context.obj.code, Exit.DIFFERENCE if wrong else Exit.PARITY)


def print_diagnosis(console: Console, found: Diagnosis) -> None:
    """Print what was found, one line each, and then what is wrong with what to do."""
    from parity_tests.cli import terminal
    from reports.views.texts import counted

    if found.python is not None:
        terminal.say(console, f"interpreter {found.python}", style="bold")
    width = max(len(name) for name, _ in _lines(found)) if found.environment else 0
    for name, text in _lines(found):
        terminal.say(console, f"{name:{width}}  {text}")
    for each in found.names:
        terminal.say(console, f"    {each.what}: {each.name}: {each.text}")
    for problem in found.problems:
        terminal.say(console, f"wrong: {problem.what}", style="bold red")
        terminal.say(console, f"  -> {problem.to_do}")
    wrong = counted(len(found.problems), "problem")
    terminal.say(console, wrong if found.problems else "all is well", style="bold")


def _lines(found: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield the name of each line, and its text."""
    from reports.views.texts import counted

    here = found.environment
    if here is not None:
        yield "constparity", here.constparity
        yield "Python", f"{here.python} ({here.system})"
        yield "jax", f"{here.jax}, jaxlib {here.jaxlib}, numpy {here.numpy}"
        devices = counted(here.device_count, "device")
        yield "backend", f"{here.backend}, {devices} ({here.device_kind})"
    for flag in found.flags:
        yield flag.name, _state_of(flag)
    if here is None:
        return
    yield "engine", _of_engine(found)
    for side in found.sides:
        yield side.side, side.shown
    for extra in found.extras:
        yield f"{'for' if found.python else 'extra'} {extra.name}", _state_of_extra(found, extra)
    if found.pytest_plugin is not None:
        plugin = found.pytest_plugin
        yield "pytest", "knows --constparity" if plugin.is_loaded else plugin.to_do
    broken = counted(len(found.broken_names()), "name")
    yield "private names", f"{broken} of {found.names_looked_at} gone or changed"


def _of_engine(found: Diagnosis) -> str:
    if not found.engine_refuses:
        return "runs on this jax"
    return "refuses this jax" + ("; the sides of stock JAX are compared" if found.python else "")


def _state_of_extra(found: Diagnosis, extra: Extra) -> str:
    if not extra.missing:
        return "installed"
    install = f"install constparity[{extra.name}]"
    if found.python:
        install = f"{found.python} -m pip install {' '.join(extra.missing)}"
    purpose = f", for {extra.purpose}" if extra.purpose else ""
    return f"without {', '.join(extra.missing)}{purpose}: {install}"


def _state_of(flag: Flag) -> str:
    value = "unknown" if flag.value is None else str(flag.value)
    return f"{value} ({f'by {flag.variable}' if flag.variable else 'no variable sets it'})"
