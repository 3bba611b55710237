"""What a bisection found, in lines of text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from reports.rows.bisection import Bisection
from reports.views.texts import counted

_HEADS = {
    "passes": "nothing to find, the command passes after the flip",
    "fails before": "the command fails before the flip",
    "mended": "the command fails after the flip on stock JAX alone",
    "ours": "constparity's engine itself changes what the command does",
    "not repeatable": "not known, the command does not repeat itself",
}


def headline(found: Bisection) -> str:
    """Return the answer in one line.

    Example::

        headline(found) == "1 site of 412 makes the command fail"
    """
    if found.answer != "found":
        return _HEADS[found.answer]
    if len(found.sets) == 1 and len(found.sets[0].sites) == 1:
        return f"1 site of {found.sites} makes the command fail"
    if len(found.sets) == 1:
        together = f"{len(found.sets[0].sites)} sites of {found.sites}"
        return f"{together} make the command fail, and only together"
    return f"{len(found.sets)} sets of {found.sites} sites make the command fail, each by itself"


def lines(found: Bisection) -> Iterator[str]:
    """Yield the answer, each set of sites, the two commands that show it, and what stands by it."""
    yield headline(found)
    words = shlex.join(found.command)
    for blamed in found.sets:
        for number, site in enumerate(blamed.sites):
            yield f"  {'and ' if number else ''}{site.words}"
        yield f"    with it flipped: {blamed.ended}"
        for line in blamed.said.splitlines():
            yield f"      {line}"
        yield f"    passes: constparity bisect --flip {blamed.passes} -- {words}"
        yield f"    fails:  constparity bisect --flip {blamed.fails} -- {words}"
    yield f"  {found.detail}"
    if found.confidence is not None:
        yield (
            f"  the command is flaky: each question was run {found.repeats} times, and a failure "
            f"missed with {1 - found.confidence:.0%} at most"
        )
    for text in found.together:
        yield f"  flipped with its form: {text}"
    for text in found.not_reached:
        yield f"  out of reach, captured outside of jit: {text}"
    for text in found.not_switched:
        yield f"  not switched: {text}"
    runs = f"{counted(found.runs, 'run')} for {counted(found.sites, 'site')}"
    yield f"  {runs}, at most {found.bound} for one culprit; {found.seconds:.0f} s"
