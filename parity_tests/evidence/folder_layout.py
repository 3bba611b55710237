"""The files of a campaign, all of them named here alone.

A campaign's folder looks like this. Sides are run by one process after the other, and each process
has a folder with the next free number::

    campaign.json                    what is measured, and how
    lock                             held by the campaign that is at work here
    listing/                         the process that listed the programs
        imported.json                    the files of the user that it has imported
    SIDE/1/                          a process of a side
        request.json                 what it was asked to do
        events                       how far it has come
        log                          what it and its programs printed
        not_kept                     why it could not leave its files, where it could not
        0.measured.json              program 0: its observation before the checks that come last
        0.json                           its observation, written last
        0.sha256                         the digests of this file and of those below
        0.npz                            its outputs
        0.jaxpr.txt                      its printed jaxpr
        0.hazards.json                   its hazards, on the side that detects them
        0.reads                          what it read of jaxprs or the flag before its process ended
    rounds/0/SIDE/1/                 the same, once for each turn of `--rounds`
    slower/0/SIDE/1/                 the same, of programs whose times stand apart
    again/together/SIDE/1/           the same, for programs whose sides differ, to see them repeated
    again/alone-0/SIDE/1/            and for those that did not, in processes of their own
    arbiter-0/truth.npz              the outputs of program 0 in double precision
    arbiter-0/truth.sha256               their digest
    calls-0/SIDE/                    a process that recorded what it reads
    settings-0-alone/                a process that imported a program before JAX, or after it
    hazards-0/found.json             what the process found that detects hazards alone
    drift-0-LEFT-RIGHT.json          why the outputs of program 0 are not bitwise equal
    NAME.json.sha256                 the digest of either
    serve-reruns-SIDE-1/             a process that ran programs again to find that out
        0/outputs.npz                    the outputs of its run 0, until they are compared
    serve-truth-jax-legacy-1/        a process that waits for one job after the other
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.rows import Side


class _In:
    """A file or folder in the folder of a record; its name may have fields of the record."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: Any, _: type) -> Path:
        folder: Path = record.folder
        return folder / self._name.format_map(vars(record))


@dataclass(frozen=True)
class ProgramFiles:
    """The files that a process of a side leaves of one program."""

    folder: Path
    number: int

    # The last file to be written, so its program is finished.
    observation = _In("{number}.json")
    # The observation before the checks that come last, which may take the process along.
    measured = _In("{number}.measured.json")
    # The output arrays; missing where the side failed with its process.
    outputs = _In("{number}.npz")
    jaxpr = _In("{number}.jaxpr.txt")
    # The hazards; missing but on the side that detects them.
    hazards = _In("{number}.hazards.json")
    # What the program reads of jaxprs or the flag while its hazards are looked for.
    reads = _In("{number}.reads")
    # The digests of the files.
    seal = _In("{number}.sha256")


def finished_programs(folder: Path) -> Iterator[ProgramFiles]:
    """Find the programs that processes have finished, in a folder and in all folders below it."""
    for file in sorted(folder.rglob("*.json")):
        if file.stem.isdecimal():
            yield ProgramFiles(file.parent, int(file.stem))


@dataclass(frozen=True)
class TruthFiles:
    """The files that the arbiter leaves of one program: one of the two."""

    folder: Path

    truth = _In("truth.npz")  # the outputs in double precision
    seal = _In("truth.sha256")  # the digest of the outputs
    no_arbiter = _In("no_arbiter")  # the reason why there are no outputs in double precision


def truth_files(folder: Path, number: int) -> TruthFiles:
    """Return the files of the arbiter for one program, in a campaign or in its own process."""
    return TruthFiles(folder / f"arbiter-{number}")


@dataclass(frozen=True)
class ProcessFiles:
    """The files through which a process and its parent talk."""

    folder: Path

    request = _In("request.json")  # what the process is to do
    log = _In("log")  # what the process and its programs printed
    events = _In("events")  # how far the process has come with its programs
    not_kept = _In("not_kept")  # why the folder did not take the files of a program
    answer = _In("answer.json")  # the answer to a question, written whole or not at all
    # The files of the user that the process has imported to list programs.
    imported = _In("imported.json")
    # Of the one program that the process ran: what it read of jaxprs or the flag while its hazards
    # were looked for, its outputs, and the results of its equations.
    reads = _In("reads")
    outputs = _In("outputs.npz")
    equations = _In("equations.npz")
    # The variants of the one program that the process compared, and the one it is on.
    variants = _In("variants")
    # How far a module was evaluated.
    evaluated = _In("evaluated.json")
    # The arrays that a draft's variables hold.
    draft = _In("draft.npz")

    def given(self, number: int) -> Path:
        """Return the file with the arguments of an input that a module is evaluated on."""
        return self.folder / f"given-{number}.npz"

    def results(self, number: int) -> Path:
        """Return the file with the results of a module on this input."""
        return self.folder / f"results-{number}.npz"


@dataclass(frozen=True)
class TaskFiles:
    """The files of a task of a planned campaign, in the folder that is its own."""

    folder: Path

    request = _In("task.json")  # the task
    # Written with each step of the task: the number of steps, and of all that are known.
    beat = _In("beat")
    result = _In("result.json")  # the result, written last
    log = _In("log")  # what the process printed
    generated = _In("generated.py")  # the programs that are generated
    sides = _In("sides")  # the folder of the campaign that its programs are
    again = _In("again")  # the folder of the second runs of its first side
    proofs = _In("proofs")  # the folder of the programs that are numbered before any is run


@dataclass(frozen=True)
class CampaignFiles:
    """The files and folders of a campaign."""

    folder: Path

    identity = _In("campaign.json")  # what the campaign measures, and how
    lock = _In("lock")  # locked by a campaign while it is at work
    # The folder of the process that lists the programs.
    listing = _In("listing")
    # The folder of the processes that number programs, to see which have changed.
    numbers = _In("numbers")
    # The folders of the processes that measure slower programs again, that take times in rounds,
    # and that run programs to see whether they repeat themselves.
    slower = _In("slower")
    rounds = _In("rounds")
    again = _In("again/together")

    def alone(self, turn: int) -> Path:
        """Return the folder of such runs in processes of their own."""
        return self.folder / "again" / f"alone-{turn}"

    def printed(self, number: int) -> Path:
        """Return the folder of the process that prints a program's jaxpr with its lines."""
        return self.folder / "again" / f"printed-{number}"

    def hazards(self, number: int) -> Path:
        """Return the folder of the process that detects the hazards of one program alone."""
        return self.folder / f"hazards-{number}"

    def calls(self, number: int, side: Side) -> Path:
        """Return the folder of the process that records what a program reads."""
        return side_folder(self.folder / f"calls-{number}", side)

    def settings(self, number: int, when: str) -> Path:
        """Return the folder of a process that looks at JAX when a program is imported."""
        return self.folder / f"settings-{number}-{when}"

    def kept_hazards(self, number: int) -> Path:
        """Return the file with the hazards that this process found."""
        return self.hazards(number) / "found.json"

    def listing_again(self, number: int) -> Path:
        """Return the folder of the process that looks a saved program up again."""
        return self.folder / f"listing-{number}"

    def drift(self, number: int, left: Side, right: Side) -> Path:
        """Return the file that says why the outputs of a program on two sides differ."""
        return self.folder / f"drift-{number}-{left}-{right}.json"


def turn_folder(folder: Path, turn: int) -> Path:
    """Return the folder of one turn, in which every program runs once on each side."""
    return folder / str(turn)


def side_folder(folder: Path, side: Side) -> Path:
    """Return the folder of the processes of a side."""
    return folder / side


def rerun_files(folder: Path, number: int) -> ProcessFiles:
    """Return the files of one run, in the folder of a process that runs programs again."""
    return ProcessFiles(folder / str(number))


def new_waiting(folder: Path, kind: str, side: Side) -> Path:
    """Make the folder of a process that waits for jobs of a kind, such as "serve jobs"."""
    return next_free(folder, f"{kind.replace(' ', '-')}-{side}-")


def left_by_waiting(folder: Path) -> Iterator[Path]:
    """Find the folders of processes that waited for jobs: what they came to is kept elsewhere."""
    yield from (each for each in folder.glob("serve-*") if each.is_dir())


def next_free(folder: Path, prefix: str = "") -> Path:
    """Make the folder of a new process; a campaign that was interrupted has left others there."""
    number = 1
    while (found := folder / f"{prefix}{number}").exists():
        number += 1
    found.mkdir(parents=True)
    return found
