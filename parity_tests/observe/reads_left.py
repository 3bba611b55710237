"""Reads that outlive their process: a file that takes each read before the reader goes on.

A program may end its process by what it reads. The file has a line of JSON for each read, and
another process reads it back.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from parity_tests.jaxpr.source_places import Place
from parity_tests.observe.jaxpr_reads import Reads, Seen, Site

# A loop may read one line very often, and each read that is left costs a write.
_MOST_OF_A_LINE = 100


@contextmanager
def left_in(file: Path | None) -> Iterator[Callable[[Site, Seen], object]]:
    """Yield a function that leaves reads in a file, which is made for the first one.

    Without a file it leaves nothing.

    Example::

        with left_in(Path("reads")) as leave, recording(leave):
            jax.make_jaxpr(f)(x).consts
    """
    counts: Counter[Site] = Counter()
    if file is None:
        yield lambda site, seen: None
        return
    file = file.absolute()  # a program may go to another folder
    file.unlink(missing_ok=True)

    def leave(site: Site, seen: Seen) -> None:
        counts[site] += 1
        if counts[site] <= _MOST_OF_A_LINE:
            # Opened each time: a program may close all files of its process. What the folder does
            # not take may not fail the program that reads.
            with contextlib.suppress(OSError), open(file, "a") as lines:
                lines.write(json.dumps([*site, seen.count, seen.array_literals]) + "\n")

    yield leave


def read_back(text: str) -> Reads:
    """Return the reads of such a file.

    Example::

        read_back(Path("reads").read_text()).sites()[0].place.line
    """
    reads = Reads()
    # The process may have ended within a line.
    for line in text[: text.rfind("\n") + 1].splitlines():
        subject, place, caller, importing, count, array_literals = json.loads(line)
        modules = tuple((file, number) for file, number in importing)
        site = Site(subject, Place(*place), Place(*caller), modules)
        reads.log.append((site, Seen(count, array_literals)))
    return reads
