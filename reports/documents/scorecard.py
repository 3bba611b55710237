"""The scorecard of the flip as a document: a table of states, and a section for each line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reports.document import (
    Cell,
    Column,
    Document,
    Heading,
    Items,
    Line,
    Paragraph,
    Section,
    Sections,
    Table,
    Tone,
    cells,
    columns,
)
from reports.rows.row import Side
from reports.rows.scorecard import EFFECTS, STATES, Effect, Scorecard, ScoreLine, State
from reports.views.texts import counted

_TONES: dict[State, Tone] = {
    "open": "bad", "new": "bad", "changed": "warn", "not known": "warn", "fixed": "good",
    "right": "good", "not in this release": "",
}  # fmt: skip
# The engine fixes what JAX leaves open, so its state has words of its own.
_OF_ENGINE: dict[State, str] = {"open": "the same", "changed": "other"}
SIDE_NAMES: dict[Side, str] = {
    "jax-legacy": "JAX, flag off", "jax-simplified": "JAX, flag on", "legacy": "engine, legacy",
    "simplified": "engine, simplified",
}  # fmt: skip
_NOT_RUN = "-"
_THERE: tuple[State, ...] = ("open", "new")
_COUNTED: dict[Effect, str] = {
    "against the flip": "{} against it", "by design": "{} by design",
    "in both modes": "{} in both modes", "fixed by the flip": "it fixes {}",
}  # fmt: skip
_LEGEND = (
    "Each line is a small program, parity_tests/scorecard/programs/LINE.py, that shows one thing "
    "on stock JAX: run it with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 and with 1. It states what the "
    "fault shows and what is right, and its state on a release follows from what it showed there. "
    "Open: the fault. New: the fault, and not on the release before. Changed: neither. Not known: "
    "it failed in a way that it does not state. Right: what is right. Fixed: what is right, and a "
    "release before had the fault.",
    "A fault is against the flip where flag on alone has it, and by design where that is on "
    "purpose; in both modes; or fixed by the flip where flag off alone has it. Engine: what the "
    "same program shows where jax.jit is the engine's, legacy for flag off and simplified for on.",
)


def document(found: Scorecard) -> Document:
    """Make the document of a scorecard."""
    worst = min((STATES.index(each.newest.state) for each in found.lines), default=len(STATES) - 1)
    return Document(
        question="What stands between JAX and a flipped default?",
        answer=headline(found),
        tone=_TONES[STATES[worst]],
        lines=tuple(facts(found)),
        parts=(
            *map(Paragraph, _LEGEND),
            *state_tables(found),
            Heading("The lines"),
            Sections(tuple(map(section, found.lines)), "lines", none="No line was run."),
        ),
        file="scorecard.json",
    )


def headline(found: Scorecard) -> str:
    """Say of how many faults of the newest release the flip does what, and the states of others.

    Example::

        headline(found) == (
            "scorecard of the flip, jax 0.12.0.1: 20 against it, 5 by design, it fixes 8, 1 right"
        )
    """
    effects = Counter(each.effect for each in found.lines if each.newest.state in _THERE)
    states = Counter(each.newest.state for each in found.lines)
    said = [_COUNTED[each].format(effects[each]) for each in EFFECTS if effects[each]]
    said += [f"{states[each]} {each}" for each in STATES if states[each] and each not in _THERE]
    newest = found.releases[-1].jax
    return f"scorecard of the flip, jax {newest}: {', '.join(said) or 'no line'}"


def facts(found: Scorecard) -> list[str]:
    """Say what the programs ran on."""
    said = [
        f"jax {each.jax} with jaxlib {each.jaxlib} and Python {each.python}, on {each.platform}"
        + (f"; the engine does not run there: {each.engine_refuses}" if each.engine_refuses else "")
        for each in found.releases
    ]
    ran = f"{counted(len(found.lines), 'program')}, digest {found.inputs}, {found.created[:10]}"
    return [*said, ran]


def state_tables(found: Scorecard) -> list[Table]:
    """Make a table for each effect of the flip, with a row for each line.

    A row has the state on each release, and that of the engine.
    """
    titles = (
        Column("kind"),
        Column("line"),
        Column("what it is"),
        *columns([f"jax {each.jax}" for each in found.releases]),
        Column("engine"),
    )
    rows = {
        effect: tuple(_row(each) for each in found.lines if each.effect == effect)
        for effect in EFFECTS
    }
    return [Table(effect.capitalize(), titles, made) for effect, made in rows.items() if made]


def _row(line: ScoreLine) -> tuple[Cell, ...]:
    states = (Cell(each.state, tone=_TONES[each.state]) for each in line.releases)
    return cells(line.kind, Cell(line.name, link=line.name), line.title, *states, _of_engine(line))


def _of_engine(line: ScoreLine) -> Cell:
    """Return the engine's state, with the release beside it where releases differ."""
    states = {each.jax: each.engine for each in line.releases if each.engine}
    texts = {jax: _OF_ENGINE.get(state, state) for jax, state in states.items()}
    if not states:
        return Cell(_NOT_RUN)
    if len(set(texts.values())) == 1:
        [state] = set(states.values())
        return Cell(next(iter(texts.values())), tone=_TONES[state])
    return Cell(", ".join(f"{text} on {jax}" for jax, text in texts.items()))


def section(line: ScoreLine) -> Section:
    """Make the section of a line: who is hit, the way round, and what was seen."""
    return Section(
        line.name,
        (
            Items(
                (
                    Line(line.who, "Who is hit:"),
                    Line(line.origin, "It belongs to:"),
                    *([Line(line.code, "In JAX's code:")] if line.code else ()),
                    Line(line.way_round, "The way round:"),
                    *_stated(line),
                    *seen(line),
                )
            ),
        ),
        state=line.newest.state,
        tone=_TONES[line.newest.state],
        anchor=line.name,
    )


def seen(line: ScoreLine) -> list[Line]:
    """Make a line for each text that was shown, with the sides and releases on which it was."""
    releases = [each.jax for each in line.releases]
    on: dict[tuple[Side, str], list[str]] = {}
    for release in line.releases:
        for each in release.seen:
            on.setdefault((each.side, each.text), []).append(release.jax)
    by_sides: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for side, name in SIDE_NAMES.items():
        for (of_side, text), shown_on in on.items():
            if of_side == side:
                by_sides.setdefault((text, tuple(shown_on)), []).append(name)
    return [
        Line(text, f"{'; '.join(sides)}{_only(shown_on, releases)}:")
        for (text, shown_on), sides in by_sides.items()
    ]


def _only(shown_on: Sequence[str], releases: Sequence[str]) -> str:
    """Name releases, where they are not all."""
    return "" if list(shown_on) == list(releases) else f", on {', '.join(shown_on)}"


def _stated(line: ScoreLine) -> Iterator[Line]:
    """Say what the states of a line go by, as far as what was seen does not say it."""
    fault, right = (
        f"flag off shows {off!r} and flag on {on!r}" if off != on else f"both modes show {off!r}"
        for off, on in (line.fault, line.right)
    )
    if line.newest.state not in _THERE:
        yield Line(fault, "Open while")
    if line.effect == "by design":
        yield Line(line.by_design, "By design:")
    else:
        yield Line(right, "Fixed once")
