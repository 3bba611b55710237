"""The rows of `constparity scorecard`: what stands between JAX and a flipped default."""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows.row import Row, Side

# What a user meets, the worst first.
LineKind = Literal["wrong values", "fails", "placement", "cost", "tools", "note"]
KINDS: tuple[LineKind, ...] = get_args(LineKind)
# What the flip does to a fault: it makes it, so it stands against the flip; it makes it on purpose;
# it leaves it; it fixes it.
Effect = Literal["against the flip", "by design", "in both modes", "fixed by the flip"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
# - open: both modes show the fault as its program states it; new: and the release before did not.
# - changed: neither that nor what is right.
# - not known: a process failed in a way that the program does not state.
# - right: both modes show what is right; fixed: and a release before showed the fault.
# - not in this release: both say so.
State = Literal["open", "new", "changed", "not known", "fixed", "right", "not in this release"]
STATES: tuple[State, ...] = get_args(State)


class Seen(Row):
    """What a program showed on one side: the text that it printed, or the error that ended it."""

    side: Side
    text: str
    failed: bool = False


class OnRelease(Row):
    """A line on one release: `engine` is the state of the engine's two sides there, if they run."""

    jax: str
    state: State
    engine: State | None
    seen: tuple[Seen, ...]


class StatedLine(Row):
    """What a program states of its line of the scorecard.

    - `who` is hit; `origin`: the statement or the issue that it belongs to; `way_round`.
    - `by_design`: why it is on purpose, or ""; `code`: the place in JAX, where it is known.
    - `fault`, `right`: what flag off and flag on show while the fault is there, and without it.
      "..." in these stands for any text.
    """

    name: str
    title: str
    kind: LineKind
    who: str
    origin: str
    way_round: str
    fault: tuple[str, str]
    right: tuple[str, str]
    by_design: str
    code: str


class ScoreLine(StatedLine):
    """A line of the scorecard, with its program."""

    effect: Effect
    file: str
    program: str
    releases: tuple[OnRelease, ...]

    @property
    def newest(self) -> OnRelease:
        """The line on the newest release."""
        return self.releases[-1]


class Release(Row):
    """What the programs ran on."""

    jax: str
    jaxlib: str
    python: str
    platform: str  # of the first device, as JAX names it
    engine_refuses: str = ""  # why the engine does not run there


class Scorecard(Row):
    """All lines on all releases, oldest first; `inputs` is a digest of the programs."""

    kind: Literal["scorecard"] = "scorecard"
    schema_version: int = 1
    created: str  # ISO 8601, UTC
    constparity: str  # its version
    inputs: str
    releases: tuple[Release, ...]
    lines: tuple[ScoreLine, ...]
