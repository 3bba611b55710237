"""List the programs that targets name, in a process that imports their modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parity_tests.processes import worker_process
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Listing, ListPrograms
from parity_tests.processes.worker_process import Lost


class ListingError(RuntimeError):
    """The process that lists the programs died; the message has the end of what it printed."""


def list_programs(targets: Sequence[str], folder: Path, limits: Limits) -> Listing:
    """List the programs of targets, or of the built-in corpus where there are none.

    Raises `ListingError` where the process dies or does not end within its limits.

    Example::

        list_programs(["my_model.py"], folder, Limits(60)).programs[0].name
    """
    folder.mkdir(exist_ok=True)
    question = ListPrograms(targets=tuple(targets))
    listing = ask(question, "jax-legacy", folder, limits)
    if not isinstance(listing, Lost):
        return listing
    what = " ".join(targets) or "the built-in corpus"
    if listing.kind == "timeout":
        seconds = worker_process.START_SECONDS + limits.timeout
        raise ListingError(
            f"importing {what}: no end in {seconds:g} seconds; does a module wait for something "
            f"when it is imported?\n{listing.log}"
        )
    raise ListingError(f"importing {what}: {listing.ending}\n{listing.log}")
