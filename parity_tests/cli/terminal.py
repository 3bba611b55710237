"""The terminal: the console that results are printed on, and the progress of a run."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from parity_tests.cli.exit_codes import TRACEBACKS
from parity_tests.run.estimates import spoken
from reports.document import Tone
from reports.rows import Side
from reports.views import flip
from reports.views.program import MARKS
from reports.views.texts import visible

# The colours of the pages, by their tones. Each stands beside its word: nothing is told by a colour
# alone, and what is bad is bold as well.
TONE_STYLES: dict[Tone, str] = {
    "good": "green",
    "bad": "bold red",
    "warn": "yellow",
    "note": "cyan",
    "": "",
}
STYLES = {verdict: TONE_STYLES[tone] for verdict, (_, tone) in MARKS.items()}
ANSWER_STYLES = {answer: TONE_STYLES[tone] for answer, tone in flip.ANSWER_TONES.items()}
FLIP_STYLES = {outcome: TONE_STYLES[tone] for outcome, tone in flip.TONES.items()}
DRIFT_STYLES = {cause: TONE_STYLES[tone] for cause, tone in flip.CAUSE_TONES.items()}
_BAR = 10  # columns of a progress bar
_BAR_LENGTH = 47  # the bar, its numbers, its time, the time left, and the blanks between them
_LEAST_TEXT = 20
SOON = 2.0  # seconds that need no progress
_MOST_LINES = 40  # of progress without a terminal, for each phase
LETTERS: dict[Side, str] = {
    "legacy": "L",
    "simplified": "S",
    "jax-legacy": "jL",
    "jax-simplified": "jS",
}


class PlainConsole(Console):
    """A console that shows text as it is: `:100:` in a place is no emoji, and nothing is invisible.

    Names, messages of exceptions and captured values come from the user's programs. An escape
    sequence in one of them would recolour the terminal, or write over other lines.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string, with its control characters spelled out."""
        return super().render_str(visible(text), **{**options, "emoji": False})


def console(*, has_color: bool = True) -> Console:
    """Return the console that results are printed on.

    A pipe has no width, and the 80 columns that rich assumes would fold the table into shreds. Nor
    has one that is to be coloured, by FORCE_COLOR, which rich takes for a terminal.
    """
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return PlainConsole(width=None if known else 140, color_system=_colours(has_color))


def error_console(*, has_color: bool = True) -> Console:
    """Return the console that progress is shown on: stdout has the results alone."""
    return PlainConsole(stderr=True, color_system=_colours(has_color))


def _colours(has_color: bool) -> Literal["auto"] | None:
    # Without a system of colours nothing is bold, either: the text is plain.
    return "auto" if has_color else None


def say(console: Console, text: str, style: str = "", *, soft_wrap: bool = True) -> None:
    """Print text as it is: no markup, no emoji, nothing that a terminal would obey."""
    console.print(
        visible(text), style=style, highlight=False, markup=False, emoji=False, soft_wrap=soft_wrap
    )


def say_traceback(console: Console, text: str) -> None:
    """Print the traceback of a program below its reasons, where --debug asks for it."""
    if TRACEBACKS.get():
        for line in text.splitlines():
            say(console, f"    {line}")


def on_one_line(text: str) -> str:
    """Return text with everything spelled out that would end a line or a column of it."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in visible(text))


def say_wrapped(console: Console, text: str, style: str = "") -> None:
    """Print text as `say` does, broken between words on a terminal; a pipe gets one line."""
    say(console, text, style, soft_wrap=not console.is_terminal)


class Shown:
    """The progress of a command: called for each step, and told what the user should know.

    This one shows nothing.
    """

    def __call__(
        self, done: int, total: int, text: str, work: tuple[int, int] | None = None
    ) -> None:
        """Show a step, as `parity_tests.processes.protocol.Progress` has it.

        `work` is how much of the work is done, of how much, where steps differ in that.
        """

    def say(self, text: str) -> None:
        """Print a sentence beside the progress."""


class TimeLeft:
    """How long the rest takes, by the steps of this phase: one with another total is another phase.

    Example::

        TimeLeft().of(1, 4) is None  # nothing is known yet
    """

    def __init__(self) -> None:
        self._total = -1
        self._first = self._last = 0
        self._begun = 0.0

    def of(self, done: int, total: int) -> float | None:
        """Return how many seconds it takes from here; None where that is not known, or soon over.

        It is told each step once.
        """
        now = time.monotonic()
        if total != self._total or done < self._last:
            self._total, self._first, self._begun = total, done, now
        self._last = done
        took = now - self._begun
        if took < SOON or not self._first < done < total:
            return None
        return (total - done) * took / (done - self._first)


def _and_left(seconds: float | None) -> str:
    return "" if seconds is None else f", {spoken(seconds)} left"


class _TimeLeftColumn(ProgressColumn):
    """The time that is left, which runs down; nothing where it has run out before the step ends."""

    def render(self, task: Task) -> Text:
        """Say how long it takes from now on."""
        ends: float | None = task.fields["ends"]
        left = None if ends is None else ends - time.monotonic()
        return Text("" if left is None or left < SOON else f"{spoken(left)} left")


@dataclass
class _OnConsole(Shown):
    """Progress on a console: each step is given to `advance`, with the time that is left."""

    console: Console
    advance: Callable[[int, int, str, float | None], None]
    left: TimeLeft = field(default_factory=TimeLeft)
    silence: threading.Timer | None = None

    def __call__(
        self, done: int, total: int, text: str, work: tuple[int, int] | None = None
    ) -> None:
        self.end_silence()
        self.advance(done, total, text, self.left.of(*(work or (done, total))))

    def say(self, text: str) -> None:
        self.end_silence()
        say(self.console, text)

    def end_silence(self) -> None:
        """Say no more what the command began with: there is news."""
        if self.silence is not None:
            self.silence.cancel()


@contextmanager
def progress(
    console: Console | None = None,
    *,
    first: str,
    every: float | None = None,
) -> Iterator[Shown]:
    """Show a progress bar, or plain lines with the same text where the console is no terminal.

    There is a line for each step, or for each fortieth where there are more steps, or with `every`
    one in so many seconds, with the text whole. It goes to stderr unless a console is given: stdout
    has the results alone. `first` is what the command does until its first step; a line says so
    after two seconds.
    """
    console = console or error_console()
    if not (console.is_terminal and console.file.isatty()) or console.is_dumb_terminal:
        lines = _plain(console) if every is None else _lines(console, every)
        silence = threading.Timer(SOON, say, (console, first))
        silence.daemon = True
        silence.start()
        shown = _OnConsole(console, lines, silence=silence)
        try:
            yield shown
        finally:
            shown.end_silence()
        return
    length = max(console.width - _BAR_LENGTH, _LEAST_TEXT)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=_BAR),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        _TimeLeftColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(first, total=None, ends=None)

        def advance(done: int, total: int, text: str, left: float | None) -> None:
            description = _cut(on_one_line(text), length).ljust(length)
            ends = None if left is None else time.monotonic() + left
            bar.update(
                task, completed=done, total=total or None, description=description, ends=ends
            )

        yield _OnConsole(console, advance)


def _cut(text: str, length: int) -> str:
    """Shorten text in its middle: what is done and with which program stand at its ends."""
    if len(text) <= length:
        return text
    end = length // 2
    return f"{text[: length - end - 1]}…{text[-end:]}"


def _plain(console: Console) -> Callable[[int, int, str, float | None], None]:
    last = (0, 0)

    def advance(done: int, total: int, text: str, left: float | None) -> None:
        nonlocal last
        lines = min(total, _MOST_LINES)
        is_due = not total or done in (last[0], total) or total != last[1]
        if is_due or done * lines // total > (done - 1) * lines // total:
            count = f"{done}/{total} " if total else ""
            if text:
                say(console, f"{count}{on_one_line(text)}{_and_left(left)}")
        last = (done, total)

    return advance


def _lines(console: Console, every: float) -> Callable[[int, int, str, float | None], None]:
    said = time.monotonic() - max(every - SOON, 0.0)  # the first line comes soon

    def advance(done: int, total: int, text: str, left: float | None) -> None:
        nonlocal said
        if done == total or time.monotonic() - said >= every:
            said = time.monotonic()
            say(console, f"{done:,}/{total:,}: {on_one_line(text)}{_and_left(left)}")

    return advance
