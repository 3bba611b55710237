"""Staging: what JAX takes of the processors to trace, lower and compile, over many processes."""

from __future__ import annotations

from pathlib import Path


def staging_seconds(folder: Path) -> float:
    """Add up what processes in a folder, or below it, say of their programs, in seconds.

    Processes that measure programs say it, and those that run them again to find a cause.

    Example::

        staging_seconds(folder) <= processor_seconds
    """
    return sum(
        float(seconds)
        for events in folder.rglob("events")
        for line in events.read_text("utf-8").splitlines()
        if (seconds := line.removeprefix("staging ")) != line
    )
