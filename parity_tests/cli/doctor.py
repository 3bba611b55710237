"""The command `constparity doctor`: its options, its output and its exit status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import NoColor, display_of
from parity_tests.cli.exit_codes import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.diagnosis.records import Diagnosis, Flag


def doctor(
    context: typer.Context,
    report: Annotated[
        list[str] | None,
        typer.Option(metavar="json:PATH", help="Write what was found as JSON. Repeatable."),
    ] = None,
    no_color: NoColor = False,
) -> None:
    """Say what is installed here, whether all of it works together, and what to do if not.

    Shown are the versions, JAX's flag and the engine's, whether the engine runs on this JAX, the
    form that each side really produces, and private names of JAX that are gone or changed. Each
    side runs a small program in a process of its own. Exits with 0 when all is well, and with 1
    where something is wrong.

    Examples:

      constparity doctor

      constparity doctor --report json:doctor.json
    """
    from parity_tests.cli.report_option import checked_reports, write_texts
    from parity_tests.diagnosis.diagnose import diagnose

    requests = checked_reports(context, report or (), formats=("json",))
    display = display_of(quiet=False, verbose=False, no_color=no_color)
    with display.progress() as shown:
        found = diagnose(progress=shown)
    console = display.console()
    print_diagnosis(console, found)
    write_texts(context, console, requests, lambda _: found.model_dump_json(indent=2) + "\n")
    context.obj.code = max(context.obj.code, Exit.DIFFERENCE if found.problems else Exit.PARITY)


def print_diagnosis(console: Console, found: Diagnosis) -> None:
    """Print what was found, one line each, and then what is wrong with what to do."""
    from parity_tests.cli import terminal
    from reports.views.texts import counted

    width = max(len(name) for name, _ in _lines(found)) if found.environment else 0
    for name, text in _lines(found):
        terminal.say(console, f"{name:{width}}  {text}")
    for each in found.names:
        terminal.say(console, f"    {each.what}: {each.name}: {each.text}")
    for problem in found.problems:
        terminal.say(console, f"wrong: {problem.what}", style="red")
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
    yield "engine", "refuses this jax" if found.engine_refuses else "runs on this jax"
    for side in found.sides:
        yield side.side, side.shown
    for extra in found.extras:
        missing = ", ".join(extra.missing)
        install = f"without {missing}: pip install 'constparity[{extra.name}]'"
        yield f"extra {extra.name}", install if missing else "installed"
    broken = counted(len(found.broken_names()), "name")
    yield "private names", f"{broken} of {found.names_looked_at} gone or changed"


def _state_of(flag: Flag) -> str:
    value = "unknown" if flag.value is None else str(flag.value)
    return f"{value} ({f'by {flag.variable}' if flag.variable else 'no variable sets it'})"
