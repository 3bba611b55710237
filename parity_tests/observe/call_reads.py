"""Reads in calls: what a program reads of modules, jaxprs or the flag until it has been called."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import jax

from parity_tests.observe import stages
from parity_tests.observe.jaxpr_reads import Reads, Seen, Site, recording
from parity_tests.observe.reads_left import left_in
from parity_tests.program import Program
from reports.rows import Side

# A callback may read something in a later call alone.
_CALLS = 20
_SECONDS = 2.0


def record(
    load: Callable[[], Program], side: Side, file: Path, *, at_import: bool = False
) -> Reads:
    """Load a program, call it some times, and record what is read after its import.

    With `at_import`, what its import reads is recorded, and nothing is called. What it raises ends
    the record. `file` takes each read as it is made, since a callback may end the process. Stages
    that were made at import are known, so that their reads are told.

    Example::

        record(lambda: targets.load_one("my_model:step"), "jax-legacy", Path("reads")).sites()
    """
    found = Reads()
    is_told = at_import

    def note(site: Site, seen: Seen) -> None:
        if is_told:
            found.log.append((site, seen))
            leave(site, seen)

    with left_in(file) as leave, recording(note):
        # A program may raise anything, and did so before on one of its sides.
        try:
            program = load()
            is_told = not at_import
            if is_told:
                _call(program, side)
        except (Exception, SystemExit):  # noqa: BLE001
            return found
    return found


def _call(program: Program, side: Side) -> None:
    built = stages.build(program, side, stages.StageClock(lambda name: None))
    end = time.monotonic() + _SECONDS
    for _ in range(_CALLS):
        jax.block_until_ready(built.ready()())
        jax.effects_barrier()
        if time.monotonic() > end:
            return
