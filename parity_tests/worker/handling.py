"""Where a handler works, and how it gets at the program that it works on."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.found import HazardsFound
from parity_tests.processes.early_starts import Work
from reports.rows import Side, is_ours

if TYPE_CHECKING:
    from parity_tests.program import Program


_HOME = os.getcwd()  # relative targets are relative to it, wherever a program goes


@dataclass(frozen=True)
class Desk:
    """Where a handler works: the files of its process, and the lines that its parent gives it."""

    files: ProcessFiles
    lines: SimpleQueue[str]


def load(target: str) -> Program:
    """Load a program from where the process was started, wherever the one before it went.

    Raises `TargetError`.
    """
    from parity_tests import targets
    from parity_tests.observe.reads.recording import recorded_import

    os.chdir(_HOME)
    with recorded_import(target):
        return targets.load_one(target)


TO_MEASURE = ("observe.hazards", "observe.measure", "targets", "evidence.values")
TO_RERUN = ("drift.equation_values", "targets", "evidence.values")


def start_up(side: Side = "jax-legacy", modules: Sequence[str] = TO_MEASURE) -> None:
    """Start JAX, its backend and the tester before the time limit of the first program begins.

    On a slow machine with a short limit, the start alone could exceed it. The first program would
    be given up, and so would the next one, because it is the first in the replacement process.
    """
    _import_all(side, modules)
    import jax

    jax.devices()
    # What was imported stays, so no collection of garbage need look at it again: with hundreds of
    # programs in a process that is 3 % of its time.
    gc.freeze()


def prepare(work: Work, side: Side) -> None:
    """Import what some work will begin with. No device is touched: its memory may be all taken."""
    if work == "list programs":
        for name in ("jax", "parity_tests.targets", "parity_tests.observe.environment"):
            importlib.import_module(name)
    else:
        _import_all(side, TO_RERUN if work == "serve reruns" else TO_MEASURE)


def _import_all(side: Side, modules: Sequence[str]) -> None:
    """Import JAX and the tester.

    A side of ours imports the engine, too: it could not be imported once a program patched JAX.
    """
    importlib.import_module("jax")
    for name in modules:
        importlib.import_module(f"parity_tests.{name}")
    # Before a program is imported: it may lower a callback then.
    importlib.import_module("parity_tests.observe.effects").install()
    if is_ours(side):
        importlib.import_module("engine")


@contextmanager
def events(desk: Desk) -> Iterator[Callable[[str], object]]:
    """Open the events, and return how to say something there."""
    # The name of a file may hold any bytes.
    with open(desk.files.events, "a", 1, "utf-8", "backslashreplace") as events:
        yield lambda line: events.write(f"{line}\n")


def hazards_of(program: Callable[[], Program], reads_file: Path, reads: str = "") -> HazardsFound:
    """Detect the hazards of one program, which is loaded here, or say why that failed.

    What it reads in simplified form is left in `reads_file`. With `reads`, such a file of a process
    that ended, these reads alone are its hazards.
    """
    from parity_tests.observe import failures, hazards

    # A program may raise anything, or end its process, while its other form is traced.
    try:
        if reads:
            return HazardsFound(hazards=hazards.reads_before_its_end(program(), reads))
        return HazardsFound(hazards=hazards.detect(program(), reads_file))
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return HazardsFound(not_detected=failures.it_raised(error))
