"""A bisection as a document: what is to blame, how the command fails, and how to see it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from reports.document import Code, Document, Items, Line, Section, Sections, Tone, items
from reports.rows.bisection import BisectAnswer, Bisection, BlamedSet
from reports.views.texts import counted

_HEADS: dict[BisectAnswer, str] = {
    "passes": "nothing to find, the command passes after the flip",
    "fails before": "the command fails before the flip",
    "fixed": "the command fails after the flip on stock JAX alone",
    "ours": "constparity's engine itself changes what the command does",
    "not repeatable": "not known, the command does not repeat itself",
    "not reached": "not known, processes of the command cannot be switched",
}
_TONES: dict[BisectAnswer, Tone] = {
    "passes": "good", "fails before": "warn", "fixed": "warn", "ours": "bad",
    "not repeatable": "warn", "not reached": "warn", "found": "bad",
}  # fmt: skip


def document(found: Bisection) -> Document:
    """Make the document of a bisection: each set of sites with its failure and two commands."""
    return Document(
        question="What makes the command fail after the flip?",
        answer=headline(found),
        tone=_TONES[found.answer],
        lines=(
            _asked(found),
            found.detail,
            effort(found),
        ),
        parts=(
            Sections(tuple(_section(found, each) for each in found.sets), "sets of sites"),
            *((items(limits(found)),) if limits(found) else ()),
        ),
    )


def _asked(found: Bisection) -> str:
    policy = f"; {shlex.join(found.options)}" if found.options else ""
    return f"{shlex.join(found.command)} (failing is: {found.until}{policy})"


def headline(found: Bisection) -> str:
    """Say in one line what a bisection comes to.

    Example::

        headline(found) == "bisect: 1 site of 40 makes the command fail"
    """
    if found.answer != "found":
        return f"bisect: {_HEADS[found.answer]}"
    # An end that was not run on stock JAX does not speak against it.
    is_confirmed = not found.stock.off and found.stock.on is not False
    return f"{_blamed(found)}{'' if is_confirmed else ', and stock JAX does not confirm it'}"


def _blamed(found: Bisection) -> str:
    if len(found.sets) == 1:
        count = len(found.sets[0].sites)
        if count == 1:
            return f"bisect: 1 site of {found.sites:,} makes the command fail"
        return f"bisect: {count} sites of {found.sites:,}, together, make the command fail"
    sets = counted(len(found.sets), "set")
    return f"bisect: {sets} of sites, of {counted(found.sites, 'site')}, make the command fail"


def commands_of(found: Bisection, blamed: BlamedSet) -> tuple[str, str]:
    """Return the two commands that show a set: the first passes, and the second fails."""
    start = "constparity bisect --flip"
    end = shlex.join([*found.options, "--", *found.command])
    return f"{start} {blamed.passes} {end}", f"{start} {blamed.fails} {end}"


def _by_output(found: Bisection) -> str:
    """Say what tells the two commands of a set apart, which exit as the command does."""
    return f"both may exit with 0: compare what they print, by {found.until}"


def effort(found: Bisection) -> str:
    """Say how many runs a bisection took, and how sure it is where chance has a part."""
    said = f"{counted(found.runs, 'run')} of {counted(found.sites, 'site')}"
    if not found.apart:  # or one set may be left of several, each of which was searched for
        at_once = f" with {found.at_once} at once" if found.at_once > 1 else ""
        said += f", at most {found.bound} for one culprit{at_once}"
    said += f"; {found.seconds:.0f} s"
    if found.confidence is None:
        return said
    return (
        f"{said}; each question was run {found.repeats} times, so that no failure was missed with "
        f"confidence {found.confidence:.3f}"
    )


def limits(found: Bisection) -> list[str]:
    """Say what is not to blame, and what could not be flipped by itself, or not at all."""
    return [
        *(f"not to blame, fails only while others are not flipped: {each}" for each in found.apart),
        *(f"flipped with its form: {each}" for each in found.together),
        *(f"out of reach, captured outside of jax.jit: {each}" for each in found.not_reached),
        *(f"not switched: {each}" for each in found.not_switched),
    ]


def lines(found: Bisection) -> Iterator[str]:
    """Yield the lines of a bisection for a terminal."""
    yield headline(found)
    for blamed in found.sets:
        for number, site in enumerate(blamed.sites):
            yield f"  {'and ' if number else ''}{site.words}"
            if site.code:
                yield f"      {site.code}"
        yield f"    with {'it' if len(blamed.sites) == 1 else 'them'} flipped: {blamed.ended}"
        yield from (f"      {line}" for line in blamed.said.splitlines())
        yield f"      -> {blamed.action}"
        if blamed.otherwise:
            yield f"    with everything flipped it says otherwise: {blamed.otherwise}"
        passes, fails = commands_of(found, blamed)
        yield f"    passes: {passes}"
        yield f"    fails:  {fails}"
        if found.until != "exit":
            yield f"    {_by_output(found)}"
    yield from (f"  {text}" for text in (found.detail, *limits(found), effort(found)))


def _section(found: Bisection, blamed: BlamedSet) -> Section:
    passes, fails = commands_of(found, blamed)
    lines = [
        *(Line(each.words, "and") for each in blamed.sites[1:]),
        *(Line(each.code, f"line {each.line}") for each in blamed.sites if each.code),
        Line(blamed.action, "what helps"),
        *([Line(blamed.otherwise, "with everything flipped")] if blamed.otherwise else ()),
        Line(passes, "passes"),
        Line(fails, "fails"),
        *([Line(_by_output(found), "which fails")] if found.until != "exit" else ()),
    ]
    return Section(
        blamed.sites[0].words,
        (Items(tuple(lines)), Code(blamed.said)),
        state=blamed.ended,
        tone="bad",
        is_open=True,
    )
