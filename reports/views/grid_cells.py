"""The cells of a grid: one line for each program and flag, one column for each version.

The first line of a program says what a flip comes to on each version. Then comes a line for each
side: what its version of JAX changes, compared with the version before it. A cell is one short
word, which `LEGEND` explains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from reports.document import Cell, Tone
from reports.rows import ANSWER_OF, FLIP_ANSWERS, FlipOutcome, ProgramRow, Side
from reports.rows.grid import Grid, on_versions
from reports.rows.grid_row import (
    VERSION_OUTCOMES,
    CellState,
    FlipChange,
    GridCell,
    GridRow,
    VersionChange,
    VersionOutcome,
)
from reports.views.figures import humanise_ratio
from reports.views.texts import cut

_TITLE_LENGTH = 500

FLIP_LINE = "flip"
SIDE_LINES: dict[Side, str] = {
    "jax-legacy": "flag off",
    "jax-simplified": "flag on",
    "legacy": "legacy",
    "simplified": "simplified",
}

_Word = tuple[str, Tone]  # a word, and how a reader should take it
_FLIPS: dict[FlipOutcome, _Word] = {
    "safe": ("safe", "good"),
    "safe but slower or larger": ("costs", "warn"),
    "numerics drift, explained": ("drift", "note"),
    "placed otherwise": ("placed", "warn"),
    "agrees here, not proved": ("unproved", "warn"),
    "not repeatable": ("varies", "warn"),
    "could not compare": ("unknown", "warn"),
    "different": ("differs", "bad"),
}
_BREAKS: _Word = ("breaks", "bad")
_FAILS: _Word = ("fails", "warn")
_STATES: dict[CellState, _Word] = {
    "judged": ("", ""),
    "not asked": ("-", ""),
    "not there": ("absent", "warn"),
    "not loaded": ("no load", "warn"),
    "not run": ("not run", "warn"),
}
_CHANGES: dict[VersionOutcome, _Word] = {
    "equal": ("equal", "good"),
    "within tolerance": ("close", "note"),
    "fixed failure": ("fixed", "note"),
    "same failure": _FAILS,
    "not compared": ("unknown", "warn"),
    "another failure": ("other", "warn"),
    "different": ("differs", "bad"),
    "new failure": _BREAKS,
}
_TIMES: dict[str, _Word] = {"slower": ("slower", "warn"), "faster": ("faster", "note")}

# Each word, and its meaning in the line of the flip and in the line of a side.
LEGEND: dict[str, tuple[str, str]] = {
    "safe": ("nothing that was measured is worse after the flip", ""),
    "costs": ("safe, and slower or larger", ""),
    "drift": ("other last bits, explained", ""),
    "placed": ("equal results, committed or placed elsewhere after the flip", ""),
    "varies": ("it does not repeat itself", ""),
    "unknown": ("it could not be compared", "it could not be compared"),
    "differs": ("other results after the flip", "other results than on the version before"),
    "breaks": ("it fails after the flip, and works before it", "it fails, and worked before"),
    "fails": ("it fails without the flip", "it fails"),
    "absent": ("no such program on this version", ""),
    "no load": ("it cannot be loaded on this version", ""),
    "not run": ("nothing was run", ""),
    "first": ("", "the first version that ran it"),
    "equal": ("", "equal bit by bit to the version before"),
    "close": ("", "equal within the tolerance"),
    "fixed": ("", "it works, and failed before"),
    "other": ("", "it fails in another way"),
    "slower": ("", "equal, in more than twice the time of the version before"),
    "faster": ("", "equal, in less than half the time of the version before"),
    "-": ("no flip was judged", "it was not run"),
}


@dataclass(frozen=True)
class Line:
    """One line of a grid: what it is about, and a cell for each version."""

    label: str
    cells: tuple[Cell, ...]


def lines(grid: Grid, row: GridRow) -> tuple[Line, ...]:
    """Make the lines of one program."""
    of_flip = Line(FLIP_LINE, tuple(map(_of_flip, row.cells)))
    changes = grid.changes_of(row.name)
    return (of_flip, *(_of_side(grid, row.name, side, changes) for side in grid.sides))


def legend(shown: Sequence[Line]) -> tuple[str, ...]:
    """Explain the words of some lines, those of flips first.

    Example::

        legend([Line("flip", (Cell("safe"),))])
        # ("flip: safe = nothing that was measured is worse after the flip",)
    """
    of_flips = {cell.text for line in shown if line.label == FLIP_LINE for cell in line.cells}
    of_sides = {cell.text for line in shown if line.label != FLIP_LINE for cell in line.cells}
    told = (
        (FLIP_LINE, [f"{word} = {text}" for word, (text, _) in LEGEND.items() if word in of_flips]),
        ("flag", [f"{word} = {text}" for word, (_, text) in LEGEND.items() if word in of_sides]),
    )
    return tuple(f"{of}: {'; '.join(words)}" for of, words in told if words)


def worst_first(grid: Grid) -> list[GridRow]:
    """Sort programs by the worst that a flip, then a version, does to them."""
    by_program: dict[str, list[VersionOutcome]] = {}
    for each in grid.changes:
        by_program.setdefault(each.program, []).append(each.outcome)

    def badness(row: GridRow) -> tuple[int, int, int]:
        answers = [FLIP_ANSWERS.index(ANSWER_OF[c.flip]) for c in row.cells if c.flip]
        unknown = [FLIP_ANSWERS.index("not known") for c in row.cells if c.state == "not loaded"]
        changed = [VERSION_OUTCOMES.index(each) for each in by_program.get(row.name, ())]
        worst = max([*answers, *unknown], default=-1)
        return -worst, -max(changed, default=-1), -len(row.changes)

    return sorted(grid.programs, key=badness)


def alike(grid: Grid, rows: Sequence[GridRow]) -> list[list[GridRow]]:
    """Put programs together of which a grid tells the same: in each cell, and why.

    How far outputs are apart is the same, too, unless they are equal.

    Example::

        [[row.name for row in each] for each in alike(grid, grid.programs)] == [["step", "init"]]
    """
    found: dict[Hashable, list[GridRow]] = {}
    for row in rows:
        changes = tuple(
            (
                e.side,
                e.before,
                e.after,
                e.outcome,
                e.causes,
                e.by_numbers,
                e.detail if e.outcome != "equal" else "",
                times_of(e),
            )
            for e in grid.changes_of(row.name)
        )
        shown = tuple(cell.text for line in lines(grid, row) for cell in line.cells)
        key = (shown, tuple(cell.why for cell in row.cells), changes)
        found.setdefault(key, []).append(row)
    return list(found.values())


def is_quiet(grid: Grid, row: GridRow) -> bool:
    """Say whether a flip is safe for a program on all versions that ran, and none changes it."""
    safe = all(
        cell.flip == "safe"
        for cell, version in zip(row.cells, grid.versions, strict=True)
        if version.campaign is not None
    )
    return safe and not any(each.is_news for each in grid.changes_of(row.name))


def of_quiet(grid: Grid, rows: Sequence[GridRow]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is known of quiet programs, with the names of those that it is known of.

    Example::

        list(of_quiet(grid, rows)) == [("safe on all versions, which change nothing", ["step"])]
    """
    ran, labels = [label for label, _ in grid.campaigns], [each.label for each in grid.versions]
    where = on_versions(ran, labels)
    close = [
        row.name
        for row in rows
        if any(each.outcome == "within tolerance" for each in grid.changes_of(row.name))
    ]
    same = [row.name for row in rows if row.name not in close]
    if same and len(ran) == 1:
        yield f"safe on {ran[0]}, the only version that ran", same
    elif same:
        yield f"safe {where}, which change nothing", same
    if close:
        yield f"safe {where}, which change outputs within the tolerance", close


def tone_of(change: VersionChange) -> Tone:
    """Return how a reader should take what a version changes."""
    return _word_of(change)[1]


def _word_of(change: VersionChange) -> _Word:
    return _TIMES.get(change.news) or _CHANGES[change.outcome]


def first_changed(change: FlipChange) -> str:
    """Say on which version a flip verdict changes, and how.

    Example::

        first_changed(row.first_change) == "0.10.2: different → safe"
    """
    between = (
        f" or before it ({', '.join(change.between)} has no verdict)" if change.between else ""
    )
    return f"{change.after.version}{between}: {change.before.flip} → {change.after.flip}"


def said_of(change: VersionChange) -> str:
    """Say what changed between two versions, from which inputs on, and in which stage of JAX.

    Another time stands first: the rest may be cut.

    Example::

        said_of(change) == "0.10.2 to 0.11.2: equal: bitwise equal; traced and lowered alike"
    """
    causes = f" (inputs: {'; '.join(change.causes)})" if change.causes else ""
    stage = f"; {change.by_numbers}" if change.by_numbers else ""
    times = f"{times_of(change)}; " if change.other_times else ""
    outcome = f"{change.outcome}: {change.detail}{causes}{stage}"
    return f"{change.before} to {change.after}: {times}{outcome}"


def times_of(change: VersionChange) -> str:
    """Say which stages take another time on the second version, and why; "" for none.

    Where calls do, the first one and the dispatch are not told besides.

    Example::

        times_of(change) == "call takes 512x (487x to 530x): the optimised module is the same, ..."
    """
    is_of_calls = any(each.metric == "call" for each in change.other_times)
    told = [
        f"{each.metric} takes {humanise_ratio(each.ratio)} "
        f"({humanise_ratio(each.low or 0)} to {humanise_ratio(each.high or 0)})"
        for each in change.other_times
        if not (is_of_calls and each.metric in ("first call", "dispatch"))
    ]
    cause = f": {change.cause_of_times}" if is_of_calls and change.cause_of_times else ""
    return f"{', '.join(told)}{cause}"


def counters_of(change: VersionChange) -> Iterator[str]:
    """Yield each counter that is another on the second version, with both of its values."""
    for each in change.counters:
        yield f"{each.metric} {each.left_value} → {each.right_value}"


def _of_flip(cell: GridCell) -> Cell:
    word, tone = _STATES[cell.state]
    if cell.flip is not None:
        word, tone = _FLIPS[cell.flip]
        if cell.fails:
            word, tone = _BREAKS
        elif cell.fails_before:
            word, tone = _FAILS
    return Cell(word, cut(cell.why, _TITLE_LENGTH), tone)


def _of_side(grid: Grid, name: str, side: Side, changes: Sequence[VersionChange]) -> Line:
    of_side = [each for each in changes if each.side == side]
    return Line(
        SIDE_LINES[side],
        tuple(
            _changed([each for each in of_side if each.after == version.label])
            or _first(version.row(name), side)
            for version in grid.versions
        ),
    )


def _changed(changes: Sequence[VersionChange]) -> Cell | None:
    """Make the cell of what a version changed for a side; None where it is compared with none."""
    if not changes:
        return None
    worst = max(changes, key=lambda each: VERSION_OUTCOMES.index(each.outcome))
    word, tone = _word_of(worst)
    return Cell(word, cut("; ".join(map(said_of, changes)), _TITLE_LENGTH), tone)


def _first(row: ProgramRow | None, side: Side) -> Cell:
    """Make the cell of a side that is compared with no version before."""
    seen = next((each for each in row.observations if each.side == side), None) if row else None
    if seen is None:
        return Cell("-")
    if seen.failure is not None:
        word, tone = _FAILS
        return Cell(word, cut(seen.failure.message, _TITLE_LENGTH), tone)
    return Cell("first")
