"""What a campaign's folder keeps for a campaign that goes on: written with digests, read by them.

What is damaged counts as missing, so it is made again, and a warning says so. A full disk, or one
that went away, refuses files: `constparity run` goes on with what it has, and says what is missing.
A task of a planned campaign must not, for what is missing there would pass for what was run; so
each refusal is noted, and whoever runs a task asks for them at its end.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from parity_tests.evidence import digests
from parity_tests.evidence.digests import DamagedError
from parity_tests.evidence.folder_layout import ProcessFiles, ProgramFiles
from parity_tests.evidence.records import Recorded, log, record_of
from parity_tests.processes.protocol import Job, as_bytes, to_json, write
from reports.rows import Observation, Side

_BLOCK = 4096  # bytes; a device that is full has not as many
_refusals: list[OSError] = []


def finish(files: ProgramFiles, observation: Observation) -> None:
    """Leave the observation of a program, which finishes it, and the digests of all its files."""
    text = to_json(observation)
    others = [each for each in (files.outputs, files.jaxpr, files.hazards) if each.exists()]
    write(files.seal, digests.seal(others, {files.observation: as_bytes(text)}))
    write(files.observation, text)


def finished(files: ProgramFiles) -> Recorded:
    """Read what a process left of a program. Raises `DamagedError`."""
    digests.check(files.seal)
    try:
        return record_of(files)
    except ValidationError as error:
        raise DamagedError(f"{files.observation} is no observation") from error


def finished_before(files: ProgramFiles, job: Job, side: Side) -> Recorded | None:
    """Read what a process left of a job; None, with a warning and without the files, if damaged."""
    try:
        found = finished(files)
        if (found.observation.program, found.observation.side) != (job.name, side):
            raise DamagedError(f"{files.observation} is of another program or side")
    except DamagedError as damage:
        log.warning("constparity: %s, so %s is measured again on %s", damage, job.name, side)
        for each in files.folder.glob(f"{files.number}.*"):
            each.unlink()
        return None
    return found


@contextlib.contextmanager
def leaving(files: ProcessFiles) -> Iterator[None]:
    """Leave files of a program that ran; where the folder does not take them, end the process.

    That is no failure of the program, so its parent is told the reason. A program that has closed
    the descriptors of its process, or used them up, has ended it by itself.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EBADF, errno.EMFILE):
            raise
        with contextlib.suppress(OSError):
            write(files.not_kept, str(error))
        os._exit(os.EX_IOERR)


def why_not_kept(files: ProcessFiles) -> str:
    """Say why the folder of a process that ended took no files; "" where it takes some.

    The process may have had no room for the reason either.
    """
    try:
        if files.not_kept.exists():
            return files.not_kept.read_text("utf-8")
        write(files.not_kept, "?" * _BLOCK)
        files.not_kept.unlink()
    except OSError as error:
        return str(error)
    return ""


def keep(file: Path, text: str) -> None:
    """Write a text that a campaign that goes on takes up, and its digest beside it."""
    write(_seal_of(file), digests.seal([], {file: as_bytes(text)}))
    write(file, text)


def kept(file: Path) -> str | None:
    """Read what `keep` wrote; None where it is missing, and with a warning where it is damaged."""
    if not file.exists():
        return None
    try:
        digests.check(_seal_of(file))
    except DamagedError as damage:
        log.warning("constparity: %s, so it is made again", damage)
        return None
    return file.read_text("utf-8")


def _seal_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


# -- refusals --------------------------------------------------------------------------------------


def note_refusal(error: OSError) -> None:
    """Note that a folder did not take a file, where the campaign goes on without it."""
    _refusals.append(error)


def refusals() -> tuple[OSError, ...]:
    """Return the refusals since this process started, in order.

    Example::

        before = len(refusals())
        run_sides(jobs, SIDES, folder, RunOptions())
        refusals()[before:]
    """
    return tuple(_refusals)
