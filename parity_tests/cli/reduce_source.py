"""`constparity reduce --metric proof`: the source of a program whose two forms are not proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parity_tests.cli.exit_codes import Exit, complain, fail
from parity_tests.targets import split

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.reduce.reduce import Question
    from parity_tests.reduce.search import Found
    from parity_tests.run.options import CampaignOptions
    from reports.rows.claims import Claim
    from reports.rows.proofs import ProvedProgram


def reduce_source(
    console: Console, question: Question, file: Path, write: Callable[..., object]
) -> Exit:
    """Cut a program's source while it is not proved for one reason, and write what is left.

    `write` is given what came of it. Leaves with `Exit.USAGE` where the target is no file.
    """
    from parity_tests.cli import terminal
    from parity_tests.judge.proofs import deciding, kind_of
    from parity_tests.reduce.draft_to_python import in_docstring
    from parity_tests.run.options import CampaignOptions
    from reports.output.files import write_atomically
    from reports.rows.proofs import reason_of
    from reports.views.texts import counted

    source, name = split(question.target)
    if not Path(source).is_file():
        fail(f"--metric proof cuts the file of a program: name it, as in my_model.py:{name}")
    options = CampaignOptions(sides=question.sides, timeout=question.side_timeout)
    program = _proved(question.target, options)
    claim = deciding(program.claims)
    if claim is None:
        return _nothing_to_cut(console, program)
    before = Path(source).read_text("utf-8")
    found = _searched(console, question, before, claim, options)
    if found is None:
        complain(
            f"could not reduce {question.target}: a copy of its file in another folder is another "
            "program; where it imports what lies beside it, put its folder on PYTHONPATH"
        )
        return Exit.COULD_NOT_COMPARE
    header = (
        f"The {claim.of} of `{name}` is {claim.answer}: {reason_of(claim, with_line=False)}.\n\n"
        f"Reduced by constparity from {question.target}:\n\n    constparity prove {file}:{name}\n"
    )
    write_atomically(file, f'"""{in_docstring(header)}"""\n\n{found.best}')
    left = deciding(_proved(f"{file}:{name}", options).claims)
    lines = [counted(len(text.splitlines()), "line") for text in (before, found.best)]
    terminal.say(console, f"reduced {question.target}: {lines[0]} to {lines[1]}, proof")
    terminal.say(console, f"  {counted(found.tries, 'candidate')} tried")
    if found.stopped:
        why = f"the search was stopped, so a smaller one may exist: {found.stopped}"
        terminal.say(console, f"  {why}")
    terminal.say(console, f"  written: {file}")
    same = left is not None and kind_of(left) == kind_of(claim)
    write(claim=claim, tries=found.tries, stopped=found.stopped, shows_it=same)
    if left is None or not same:
        complain(f"{file} is not like {question.target} when it is proved by itself")
        return Exit.COULD_NOT_COMPARE
    terminal.say(console, f"    {left.of}: {left.answer}: {reason_of(left)}")
    return Exit.DIFFERENCE


def _proved(target: str, options: CampaignOptions) -> ProvedProgram:
    from parity_tests.run.proving import prove

    [program] = prove([target], options).programs
    return program


def _nothing_to_cut(console: Console, program: ProvedProgram) -> Exit:
    from parity_tests.cli import terminal

    if program.answer == "proved":
        terminal.say(console, f"proved {program.target}: its two forms are one computation")
        return Exit.PARITY
    complain(f"could not reduce {program.target}: {program.failure}")
    return Exit.COULD_NOT_COMPARE


def _searched(
    console: Console, question: Question, text: str, claim: Claim, options: CampaignOptions
) -> Found[str] | None:
    from parity_tests.cli import terminal
    from parity_tests.reduce.source import reduced
    from parity_tests.run.proving import first_alike
    from reports.views.texts import counted

    tries = 0

    def first(targets: Sequence[str]) -> str | None:
        nonlocal tries
        tries += len(targets)
        return first_alike(targets, claim, options)

    with terminal.progress(first="proving the program as it is") as advance:
        return reduced(
            text, split(question.target)[1] or "", first,
            max_tries=question.max_tries, seconds=question.search_timeout,
            on_round=lambda best: advance(
                tries, question.max_tries,
                f"{question.target}: {counted(len(best.splitlines()), 'line')} left",
            ),
        )  # fmt: skip
