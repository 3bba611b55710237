"""The command `constparity reduce`: its options, its output and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.display import PlainDisplay
from parity_tests.cli.exit_codes import Exit, complain, fail
from parity_tests.cli.options import OneTarget, Reporting

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.reduce.reduce import Question, Reduced
    from reports.rows import Side


def reduce(
    context: typer.Context,
    target: OneTarget,
    program: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The program, where TARGET is a module or a file."),
    ] = None,
    sides: Annotated[
        str, typer.Option(metavar="A,B", help="The pair of sides that differ.")
    ] = "jax-legacy,jax-simplified",
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What has to stay, as a report names it: outputs, const args, failure, ... "
            "Without it, what decided the verdict. With proof, why its forms are not proved one "
            "computation.",
        ),
    ] = None,
    beyond: Annotated[
        str,
        typer.Option(
            metavar="RUNG", help="With --metric outputs: worse than bitwise, ulp or tolerance."
        ),
    ] = "bitwise",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE.py", help="Where it is written; reduced_NAME.py."
        ),
    ] = None,
    max_tries: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Try at most N smaller programs; 500, or 5,000 with --metric proof.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For the whole search.")
    ] = 600.0,
    side_timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For one program on one side.")
    ] = 30.0,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit with 0 whatever was found; errors still count."),
    ] = False,
    *,
    reporting: Annotated[Reporting, ("json",)],
    display: PlainDisplay,
) -> None:
    """Shrink a program that differs to a small file that shows the same difference by itself.

    The file needs stock JAX alone where both sides are of stock JAX. With --metric proof the
    program's own source is cut for as long as its two forms part at the same two operations; cut
    versions of its file are imported and traced, and nothing is compiled or called. Exit status: 1
    where it was written and shows the difference, 0 at parity, 2 where the program cannot be
    reduced.

    Examples:

      constparity reduce my_model.py:step

      constparity reduce my_model.py:step --metric outputs -o drift.py

      constparity reduce my_model.py:step --sides legacy,simplified

      constparity reduce my_model.py:step --metric proof
    """
    from parity_tests.cli.reduce_source import reduce_source
    from parity_tests.cli.report_option import write_data
    from parity_tests.reduce.reduce import Question, confirm

    target, name = _one_program(target, program)
    question = Question(
        target,
        _parse_pair(sides),
        metric,
        _checked_rung(beyond),
        max_tries or (5000 if metric == "proof" else 500),
        search_timeout=timeout,
        side_timeout=side_timeout,
    )
    file = output or Path(f"reduced_{name.replace('.', '_')}.py")
    _check_writable(file)
    requests = reporting.requests(context)
    console = display.console()

    def write(**told: object) -> None:
        write_data(context, console, requests, {"target": target, "file": file, **told})

    if metric == "proof":
        code = reduce_source(console, question, file, write)
        if code is Exit.PARITY:
            write(shows_it=False)
        context.obj.code = Exit.PARITY if exit_zero and code is Exit.DIFFERENCE else code
        return
    if (found := _reduced(context, question, file, console)) is not None:
        print_reduced(console, target, file, found)
        status, printed = confirm(file, question)
        context.obj.code = _confirmed(console, file, status, printed, exit_zero)
        write(
            symptom=found.symptom,
            equations=found.equations,
            tries=found.tries,
            stopped=found.stopped,
            standalone=found.standalone,
            shows_it=status == 1,
        )
    elif context.obj.code is Exit.PARITY:
        write(shows_it=False)


def _reduced(
    context: typer.Context, question: Question, file: Path, console: Console
) -> Reduced | None:
    """Reduce and write the file; None, with the exit status set, if that was impossible."""
    from parity_tests.reduce.reduce import NoMetricError, NotInJaxprError, ReduceError

    try:
        found = _search(question, console)
        if found is not None:
            found.written.save(file)
        return found
    except NoMetricError as error:
        fail(str(error))
    except NotInJaxprError as error:
        complain(f"could not reduce {error}{_reads(question)}")
        context.obj.code = Exit.COULD_NOT_COMPARE
    except ReduceError as error:
        complain(f"could not reduce: {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
    except OSError as error:
        complain(str(error))
        context.obj.code = Exit.INTERNAL_ERROR
    return None


def _reads(question: Question) -> str:
    """Say which read of jaxprs or the flag makes a program another one on its two sides, if any."""
    from parity_tests.run import run as campaign
    from parity_tests.run.options import CampaignOptions

    options = CampaignOptions(sides=question.sides, timeout=question.side_timeout, steady_calls=0)
    [row] = campaign.run([question.target], options, passes=()).programs
    reads = [each for each in row.hazards if each.changes_program]
    return "".join(f"\n  {each.what} -> {each.fix}" for each in reads)


def _search(question: Question, console: Console) -> Reduced | None:
    """Reduce under a progress bar; None at parity, which is printed."""
    from rich.markup import escape

    from parity_tests.cli import terminal
    from parity_tests.reduce.reduce import reduce as reduced_of
    from reports.views.texts import counted

    with terminal.progress(first="running the program as it is") as advance:
        found = reduced_of(
            question,
            on_try=lambda tries, left: advance(
                tries,
                question.max_tries,
                f"{question.target}: a smaller program; {counted(left, 'equation')} left",
            ),
        )
    if found is None:
        console.print(
            f"[green]parity[/] {escape(question.target)}: nothing to reduce", highlight=False
        )
        console.print(
            "  drift below the tolerances is reduced by --metric outputs", highlight=False
        )
    return found


def _confirmed(console: Console, file: Path, status: int, printed: str, exit_zero: bool) -> Exit:
    """Say whether the file showed the difference by itself, and return the exit status."""
    if status == 1:
        console.print("  run by itself in fresh processes, the file shows it", highlight=False)
        return Exit.PARITY if exit_zero else Exit.DIFFERENCE
    complain(
        f"{file} does not show it when it is run by itself (status {status}):\n{printed[-4000:]}"
    )
    return Exit.COULD_NOT_COMPARE


def _one_program(target: str, program: str | None) -> tuple[str, str]:
    """Return the target of one program, and the program's name."""
    from parity_tests.targets import split

    if program is not None:
        target = f"{target}:{program}"
    name = split(target)[1]
    if name is None:
        fail(
            f"{target!r} names no program: write {target}:NAME, or add --program NAME; "
            f"`constparity run {target} --list` lists the names"
        )
    return target, name


def _checked_rung(beyond: str) -> str:
    if beyond not in ("bitwise", "ulp", "tolerance"):
        fail(f"--beyond {beyond}: it is bitwise, ulp or tolerance")
    return beyond


def _parse_pair(sides: str) -> tuple[Side, Side]:
    from parity_tests.judge.sides import PAIRS

    wanted = {each.strip() for each in sides.split(",")}
    for pair in PAIRS:
        if set(pair) == wanted:
            return pair
    fail(f"--sides {sides}: the pairs are {'; '.join(','.join(each) for each in PAIRS)}")


def _check_writable(file: Path) -> None:
    """Refuse a file that is not Python, or that cannot be written with its arrays beside it.

    So is one that is there and that `reduce` did not write, or arrays beside such a file.
    """
    import reports

    if file.suffix != ".py":
        fail(f"-o {file}: name a Python file, as in {file}.py")
    try:
        is_ours = file.is_file() and b"Reduced by constparity" in file.read_bytes()[:4096]
        for each in () if is_ours else (file, file.with_suffix(".npz")):
            if each.exists():
                fail(f"-o {file}: {each} is there, and no file of `reduce`; name another one")
        for each in (file, file.with_suffix(".npz")):
            reports.check_writable(each)
    except OSError as error:
        fail(str(error))


def print_reduced(console: Console, target: str, file: Path, found: Reduced) -> None:
    """Print the symptom that stayed, how small the program is, and how the search went."""

    from reports.views.texts import counted

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    before, after = found.equations
    say(f"reduced {target}: {counted(before, 'equation')} to {after}, {found.symptom.metric}")
    say(f"    {found.symptom.kind}")
    say(f"    {found.symptom.detail.splitlines()[0] if found.symptom.detail else ''}")
    slipped = f", {found.slipped} failed in another way and were left" if found.slipped else ""
    say(f"  {counted(found.tries, 'candidate')} tried{slipped}")
    if found.stopped:
        say(f"  the search was stopped, so a smaller one may exist: {found.stopped}")
    say(f"  written: {file}" + (f" and {file.with_suffix('.npz')}" if found.written.arrays else ""))
    if not found.standalone:
        say("  it needs constparity: stock JAX alone does not have these sides or this metric")
