"""Run a command once, with some sites flipped or on stock JAX, and say whether it fails."""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from parity_tests.bisect import sites
from parity_tests.bisect.children import what_shuts_out
from parity_tests.bisect.sites import Flips, Told
from parity_tests.exception_texts import signal_name
from parity_tests.processes.side_environment import with_flag

_CACHE_FOLDER = "JAX_COMPILATION_CACHE_DIR"
_MOST_OUTPUT = 64 * 2**20  # bytes; of more only the end is kept
_TAIL = 2**20
_SECONDS_TO_CLOSE = 1.0
_SECONDS_TO_END = 10.0  # after Ctrl-C, for a command to say its last words


class CommandError(Exception):
    """A command cannot be asked; the message is one sentence that says why, and what to do."""


class NoJaxError(CommandError):
    """No process of a command that can be reached imported JAX.

    `is_early`: it failed or was ended, and may have imported JAX later.
    """

    def __init__(self, message: str, *, is_early: bool) -> None:
        super().__init__(message)
        self.is_early = is_early


@dataclass(frozen=True)
class Ended:
    """How a run of a command ended: `status` is None where it did not, within its time.

    `output` is what it wrote on standard output and standard error, `cut` that only the end of it
    is here; `told` is what its processes told, empty on stock JAX.
    """

    status: int | None
    output: str
    cut: bool
    seconds: float
    told: Told

    @property
    def word(self) -> str:
        """How it ended, in words."""
        return (
            _word(self.status) if self.status is not None else f"no end after {self.seconds:.0f} s"
        )


def _word(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"ended by {signal_name(-status)}"


@dataclass(frozen=True)
class Until:
    """What failing is: an exit status other than 0, a text, or a value that differs.

    - `exit`: the exit status is not 0, or a signal ended the command.
    - `text:REGEX`: the output has a match.
    - `value:REGEX TOLERANCE`: the number in the last match differs by more than the tolerance from
      that of the run with nothing flipped; as in `value:loss=(\\S+) 1e-6`, or `1%` of it.

    A command that does not end within its time fails in each case.
    """

    kind: Literal["exit", "text", "value"]
    pattern: str = ""
    tolerance: float = 0.0
    is_relative: bool = False

    @classmethod
    def of(cls, text: str) -> Self:
        """Read one of the three. Raises ValueError."""
        kind, _, rest = text.partition(":")
        if text == "exit":
            return cls("exit")
        if kind == "text" and rest:
            return cls("text", _compiled(rest))
        pattern, _, tolerance = rest.rpartition(" ")
        number = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(%?)", tolerance)
        if kind == "value" and pattern and number:
            limit = float(number[1]) * (0.01 if number[2] else 1.0)
            return cls("value", _compiled(pattern), limit, bool(number[2]))
        raise ValueError(
            f"{text!r} is no way to fail; write exit, text:REGEX, or value:REGEX TOLERANCE, as in "
            r"'value:loss=(\S+) 1e-6'"
        )

    def __str__(self) -> str:
        match self.kind:
            case "exit":
                return "exit"
            case "text":
                return f"text:{self.pattern}"
        of_value = f"{self.tolerance * 100:g}%" if self.is_relative else f"{self.tolerance:g}"
        return f"value:{self.pattern} {of_value}"

    def value(self, ended: Ended) -> float | None:
        """Return the number that a run printed, where failing goes by one.

        Raises `CommandError` where there is none.
        """
        if self.kind != "value" or ended.status is None:
            return None
        self._check_whole(ended)
        found = list(re.finditer(self.pattern, ended.output, re.MULTILINE))
        text = (found[-1][1] if found[-1].re.groups else found[-1][0]) if found else ""
        text = text or ""  # of a group that is no part of the match
        try:
            return float(text)
        except ValueError:
            what = f"{text!r} is no number" if found else "nothing matches it"
            raise CommandError(
                f"--until {self}: {what} in the output of a run ({ended.word}); its first group, "
                "or all of it, must be a number"
            ) from None

    def fails(self, ended: Ended, before: float | None) -> bool:
        """Say whether a run fails; `before` is the value of the run with nothing flipped."""
        if ended.status is None:
            return True
        match self.kind:
            case "exit":
                return ended.status != 0
            case "text":
                self._check_whole(ended)
                return re.search(self.pattern, ended.output, re.MULTILINE) is not None
        value = self.value(ended)
        assert value is not None
        if before is None:
            return False
        limit = self.tolerance * (abs(before) if self.is_relative else 1.0)
        is_equal = value == before or (math.isnan(value) and math.isnan(before))
        return not (is_equal or abs(value - before) <= limit)

    def _check_whole(self, ended: Ended) -> None:
        if ended.cut:
            raise CommandError(
                f"--until {self}: a run printed more than {_MOST_OUTPUT >> 20} MiB, and all of it "
                "would have to be read; have the command print less"
            )


def _compiled(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


def check_command(command: Sequence[str]) -> None:
    """Raise `CommandError` for a command that shuts our start-up file out."""
    if what := what_shuts_out(command):
        raise CommandError(
            f"{what} keeps Python from its environment, by which the sites are switched: leave the "
            "option out"
        )


@dataclass(frozen=True)
class Runner:
    """Runs one command, each time in a folder of its own that is gone afterwards.

    - `timeout`: seconds; what takes longer is ended.
    - `reset`: a shell command that is run before each run, "" for none.
    - `policy`: the text of a policy table, which goes before what is flipped; "" for none.
    """

    command: Sequence[str]
    timeout: float = 600.0
    reset: str = ""
    policy: str = ""
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def flipped(self, flips: Flips) -> Ended:
        """Run the command with some sites flipped.

        Raises `CommandError` where it cannot be started.
        """
        with self._folder() as folder:
            ours = switched_environment(folder / "sites", flips, self.policy)
            return self._run(ours, folder, folder / "sites")

    def on_stock(self, *, flag: bool) -> Ended:
        """Run the command on stock JAX, with JAX's flag off or on."""
        with self._folder() as folder:
            environment = with_flag(os.environ, "jax-simplified" if flag else "jax-legacy")
            return self._run(environment, folder)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="constparity-bisect-"))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _run(
        self, environment: Mapping[str, str], folder: Path, tells: Path | None = None
    ) -> Ended:
        self._reset()
        environment = dict(environment)
        if environment.get(_CACHE_FOLDER):  # or a run would find what another one compiled
            environment[_CACHE_FOLDER] = str(folder / "cache")
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise _not_started(self.command, error) from None
        assert isinstance(process.stdout, io.BufferedReader)
        self._processes.append(process)
        with _Output(process.stdout) as output:
            status: int | None
            try:
                status = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
                process.wait()
                self._processes.remove(process)
        seconds = time.monotonic() - began
        if tells and not tells.exists():
            raise CommandError(
                f"the command removes {folder}, where its processes tell what they meet: set "
                "TMPDIR to a folder that it leaves alone"
            )
        told = sites.told(tells) if tells else Told()
        return Ended(status, output.text, output.cut, seconds, told)

    def end_all(self) -> None:
        """End the runs of other threads."""
        for process in self._processes:
            _end(process)

    def _reset(self) -> None:
        if not self.reset:
            return
        done = subprocess.run(
            self.reset, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            tail = f": {said[-1]}" if said else ""
            raise CommandError(f"--reset ended with {done.returncode}{tail}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class EndedHere:
    """How a command ended that ran in this terminal, and what its processes told.

    `interrupted`: somebody pressed Ctrl-C, and the command was ended with it.
    """

    status: int
    seconds: float
    told: Told
    interrupted: bool = False

    @property
    def word(self) -> str:
        """How it ended, in words."""
        return "interrupted" if self.interrupted else _word(self.status)

    @property
    def exit_status(self) -> int:
        """The exit status as a shell has it: 128 and its number for a signal."""
        return 128 - self.status if self.status < 0 else self.status


def run_here(
    command: Sequence[str], flips: Flips, *, policy: str = "", output: int | None = None
) -> EndedHere:
    """Run a command once in this terminal, with some sites flipped, but for those of a policy.

    Its standard output goes to the descriptor `output` where that is given. Raises `CommandError`
    where it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="constparity-bisect-") as name:
        folder = Path(name) / "sites"
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                command, env=switched_environment(folder, flips, policy), stdout=output
            )
        except OSError as error:
            raise _not_started(command, error) from None
        interrupted = False
        try:
            process.wait()
        except KeyboardInterrupt:  # a terminal sends it to the command as well
            interrupted = True
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
        finally:
            process.kill()
            status = process.wait()
        return EndedHere(status, time.monotonic() - began, sites.told(folder), interrupted)


def _not_started(command: Sequence[str], error: OSError) -> CommandError:
    reason = error.strerror or type(error).__name__
    return CommandError(f"{command[0]!r} cannot be started: {reason}")


def check_reached(ended: Ended | EndedHere, command: Sequence[str], said: str = "") -> None:
    """Raise where no process of a command could be switched; `said` is the last that it printed."""
    told, is_early = ended.told, ended.word != _word(0)
    if any(not each["error"] for each in told.processes):
        return
    if told.processes:
        raise CommandError(f"its sites cannot be switched: {told.processes[0]['error']}")
    if told.not_switched:
        raise CommandError(
            f"the command ({ended.word}) imports no JAX in the processes that can be switched, and "
            f"one cannot: {min(told.not_switched)}"
        )
    last = (f": {said}" if said else "") + _of_elsewhere(command[0])
    if is_early and told.interpreters:
        raise NoJaxError(
            f"the command ({ended.word}) had not imported JAX yet, in any of its processes{last}",
            is_early=True,
        )
    if told.interpreters:
        raise NoJaxError(
            f"the command ({ended.word}) imports no JAX, in any of its processes", is_early=False
        )
    how = "had started no Python process yet" if is_early else "starts no Python process"
    raise NoJaxError(
        f"the command ({ended.word}) {how} that reads our start-up file: it starts no Python, or "
        f"with -I, -E, -S or `env -i`, or sets PYTHONPATH itself{last if is_early else ''}",
        is_early=is_early,
    )


def _of_elsewhere(name: str) -> str:
    """Say of a command that is found in PATH that the environment of this Python has another."""
    found, own = shutil.which(name), Path(sys.executable).parent / name
    if found in (None, name, str(own)) or not own.is_file():
        return ""
    return f" ({name} is {found}; that of the environment of constparity is {own})"


def switched_environment(folder: Path, flips: Flips, policy: str = "") -> dict[str, str]:
    """Make the folder of a run, and return the whole environment of its processes."""
    environment = with_flag(os.environ, "jax-legacy") | sites.prepare(folder, flips, policy)
    path = os.pathsep.join(filter(None, [sites.STARTUP, environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


class _Output:
    """Reads what a command writes, so that it never waits for a reader; keeps a bounded part."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._parts, self._size = stream, list[bytes](), 0
        self.cut = False
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A process that left the group may hold the pipe open for ever.
        self._thread.join(_SECONDS_TO_CLOSE)
        if not self._thread.is_alive():
            self._stream.close()

    def _read(self) -> None:
        while part := self._stream.read1(2**16):
            self._parts.append(part)
            self._size += len(part)
            if self._size > _MOST_OUTPUT:
                self._parts = [b"".join(self._parts)[-_TAIL:]]
                self._size, self.cut = _TAIL, True

    @property
    def text(self) -> str:
        return b"".join(self._parts).decode("utf-8", "replace")
