"""The command line as a whole: its own options, and what the process exits with."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TextIO, cast

import typer

from parity_tests.cli.commands import Commands
from parity_tests.cli.exit_codes import TRACEBACKS, Exit, complain
from parity_tests.cli.help_pages import left_out
from parity_tests.cli.options import Debug, HelpAll


@dataclass
class _Outcome:
    """What a command came to: typer's own exits use 2 for usage, which is a verdict of ours.

    `output` is standard output, also where a report has taken it for itself.
    """

    output: LastingStream
    code: Exit = Exit.PARITY
    store: Path | None = None  # of `history`, where it is named before the subcommand


# The base of what typer raises where options or arguments are wrong; it has no public name.
_MisuseError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="constparity",
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all commands
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return what to exit with, one of `Exit`.

    A reader that closes the pipe, as `head` does, changes neither that nor which files are written.
    """
    with lasting_streams() as output:
        code = _run(arguments, output)
        output.flush()
        lost = output.lost
        if lost is None or isinstance(lost, BrokenPipeError):
            return code
        reason = lost.strerror or type(lost).__name__
        complain(f"standard output does not take the results ({reason})")
        return max(code, Exit.INTERNAL_ERROR)


def _run(arguments: Sequence[str] | None, output: LastingStream) -> Exit:
    try:
        os.getcwd()
    except FileNotFoundError:
        complain("the working directory was removed; change to another one")
        return Exit.USAGE
    outcome = _Outcome(output)
    TRACEBACKS.set(False)
    with _interrupted_by_signals() as taken:
        return _run_until(arguments, outcome, taken)


@contextlib.contextmanager
def _interrupted_by_signals() -> Iterator[list[int]]:
    """Have signals raise KeyboardInterrupt within the block, and list those that came.

    SIGTERM as Ctrl-C, so that a cancelled CI job leaves neither workers nor files behind, and so a
    terminal that is closed, unless nohup has it ignored.
    """
    taken: list[int] = []

    def take(number: int, frame: FrameType | None) -> None:
        taken.append(number)
        signal.default_int_handler(number, frame)

    ends = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    numbers = [signal.SIGTERM, *(each for each in ends if signal.getsignal(each) == ends[each])]
    before = [signal.signal(each, take) for each in numbers]
    try:
        yield taken
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _run_until(arguments: Sequence[str] | None, outcome: _Outcome, taken: Sequence[int]) -> Exit:
    """Run the command line until it ends, or until a signal is `taken`."""
    try:
        # The name is part of what a shell completes, however the process was started.
        code = app(args=arguments, prog_name="constparity", obj=outcome, standalone_mode=False)
        if code in (0, None):
            return outcome.code
        if code == Exit.USAGE:
            return Exit.USAGE
        complain("interrupted")
        return Exit.INTERRUPTED
    except SystemExit as stop:  # a shell has asked what it completes
        return Exit.USAGE if stop.code else Exit.PARITY
    except typer.Abort:
        complain("interrupted")
        return Exit.INTERRUPTED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except _what_comes_of(taken):
        complain("interrupted")
        return Exit.INTERRUPTED
    except _MisuseError as error:
        TRACEBACKS.set(False)  # typer's says nothing about what is wrong
        complain(_of_misuse(error))
        return Exit.USAGE
    except _of_usage() as error:
        complain(str(error))
        return Exit.USAGE
    except OSError as error:
        if error.errno is None:  # raised by a library, and not what a disk or folder refuses
            return _internal_error()
        complain(str(error))
        return Exit.INTERNAL_ERROR
    except Exception:  # noqa: BLE001 - any other exception is our bug, and the message says so
        return _internal_error()


def _what_comes_of(taken: Sequence[int]) -> tuple[type[Exception], ...]:
    """Return what a signal may come to: NumPy's import makes an ImportError of it."""
    return (Exception,) if taken else ()


# What typer says of a value in pydantic's words, and in ours.
_PLAIN = (
    (r"Input should be a valid integer.*", "it should be a whole number"),
    (r"Input should be a valid number.*", "it should be a number"),
    (r"Input should be greater than or equal to ", "it should be at least "),
    (r"Input should be less than or equal to ", "it should be at most "),
    (r"Input should be ", "it should be "),
    (r"Value error, ", ""),
)


def _of_misuse(error: Any) -> str:
    """Say what is wrong with options or arguments, and where to read on."""
    text = error.format_message().removeprefix("Invalid value: ").removesuffix(".")
    if meant := getattr(error, "possibilities", None):
        text = f"no option {error.option_name!r}; did you mean {' or '.join(meant)}?"
    elif hasattr(error, "option_name"):
        text = text.replace("No such option: ", "no option ")
    for said, plain in _PLAIN:
        text = re.sub(said, plain, text)
    option = getattr(error, "param", None)
    if option is not None and option.metavar and option.param_type_name == "option":
        for name in option.opts:
            text = text.replace(f"alue for '{name}'", f"alue for '{name} {option.metavar}'")
    path = error.ctx.command_path if error.ctx is not None else "constparity"
    if text[1:2].islower():  # typer's own sentences begin with a capital, and so does JAX
        text = f"{text[0].lower()}{text[1:]}"
    return f"{text}{left_out(error.ctx)}\n  -> `{path} --help` says what there is"


def _of_usage() -> tuple[type[Exception], ...]:
    """Return the errors whose message says what the user has to do; a command need not catch them.

    They are imported where one is to be told from others.
    """
    from parity_tests.campaign.cluster import ClusterError
    from parity_tests.campaign.spec import SpecError
    from parity_tests.campaign.tasks import ShardError
    from parity_tests.evidence.saved import SavedError
    from parity_tests.jobs import ProjectError
    from parity_tests.processes.interpreters import InterpreterError
    from parity_tests.run.collection import SidesError
    from parity_tests.run.folder import ResumeError
    from parity_tests.run.selection import NameExpressionError
    from parity_tests.targets import TargetError
    from reports import ReportReadError
    from reports.store.database import StoreError

    return (
        ClusterError, InterpreterError, NameExpressionError, ProjectError, ReportReadError,
        ResumeError, SavedError, ShardError, SidesError, SpecError, StoreError, TargetError,
    )  # fmt: skip


def _internal_error() -> Exit:
    """Print the exception that is being handled, which is a fault of ours."""
    traceback.print_exc()
    print("constparity: internal error; the lines above are for a bug report", file=sys.stderr)
    return Exit.INTERNAL_ERROR


def _print_version(asked: bool) -> None:
    if asked:
        from parity_tests.observe.environment import version

        print(f"constparity {version()}")
        raise typer.Exit


@app.callback()
def constparity(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
    debug: Debug = False,
    help_all: HelpAll = False,
) -> None:
    """Compare the two ways in which JAX handles closed-over constants.

    Exit status: 0 nothing breaks, 1 a flip of the default breaks or changes a program, or our
    pipelines differ from stock JAX (--fail-on), 2 could not compare or not repeatable, 3 internal
    error, 4 usage, 5 nothing collected, 130 interrupted.
    """


# -- standard output and error, which may end before a command does: | head ------------------------

# What was measured is worth more than a place to print it, so no command ends because of them. A
# closed pipe is no failure: whoever read from it has seen enough. A full disk is one, and is said.


class LastingStream:
    """A stream that takes text even where nobody takes it on; `lost` says what went wrong."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write text, unless the stream is lost."""
        with self._lasting():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what was written, unless the stream is lost."""
        with self._lasting():
            self._stream.flush()

    def write_bytes(self, content: bytes) -> None:
        """Write bytes as they are, whatever the encoding of the stream."""
        with self._lasting():
            self._stream.flush()
            self._stream.buffer.write(content)
            self._stream.buffer.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _lasting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = self.lost or error
            # Its buffer still holds what nobody takes, and is flushed when the process ends.
            null = os.open(os.devnull, os.O_WRONLY)
            with contextlib.suppress(OSError, ValueError):  # a stream of a test has no number
                os.dup2(null, self._stream.fileno())
            os.close(null)


@contextlib.contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """Let standard output and error last as long as the command, and hold standard output."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nowhere:
        # A stream is None where the process was started without one, as by `>&-`.
        streams = [LastingStream(each or nowhere) for each in before]
        sys.stdout, sys.stderr = (cast(TextIO, each) for each in streams)
        try:
            yield streams[0]
        finally:
            for each in streams:
                each.flush()
            sys.stdout, sys.stderr = before
