"""The rows of a bisection: which sites of a command make it fail after the flip."""

from __future__ import annotations

from typing import Literal

from reports.rows.row import PlacedArray, Row

# What a bisection comes to. `fixed`: the engine with everything flipped passes, and stock JAX
# fails; `ours`: the engine with nothing flipped fails, and stock JAX passes; `not reached`: it
# passes in all processes that can be switched, and there are others.
BisectAnswer = Literal[
    "found", "passes", "fails before", "fixed", "ours", "not repeatable", "not reached"
]


class BlamedSite(PlacedArray):
    """A site: an array that is hoisted, or the form of a traced program, which has no type."""

    id: str
    kind: Literal["program", "array"]
    words: str
    program: str
    code: str = ""  # the text of the line; "" where it is not known


class BlamedSet(Row):
    """Sites that make the command fail, all of them together and not without the last.

    `passes` and `fails` are values of `--flip`, both of which were run; `ended` and `said` are how
    the failing run ended, and the end of what it printed; `action` is what helps. `otherwise` is
    what the command says with everything flipped, where that is something else.
    """

    sites: tuple[BlamedSite, ...]
    passes: str
    fails: str
    ended: str
    said: str
    action: str
    otherwise: str = ""


class StockEnds(Row):
    """Whether the command fails on stock JAX, with JAX's flag off and on; None where not run."""

    off: bool | None = None
    on: bool | None = None


class Bisection(Row):
    """What became of a search.

    - `options`: those that name a policy, which went before what was flipped in every run.
    - `sites`: how many there are; `together`: programs whose arrays are flipped with their form,
      and why; `not_reached`: arrays that JAX captures by itself, in control flow, checkpoints and
      derivatives outside of jit, and under `jax.pmap`.
    - `apart`: sites that make the command fail while others are not flipped, and have no part in
      what fails with everything flipped.
    - `runs`: how many runs the search took, `at_once` how many went at once; `bound`: the most for
      one culprit.
    - `repeats`: how often each question was run; `confidence` that no failure was missed.
    - `processes`: the versions of JAX in processes that were switched; `not_switched`: why others
      were not, or which line started them.
    """

    kind: Literal["bisection"] = "bisection"
    schema_version: int = 1
    created: str  # ISO 8601, UTC
    constparity: str  # its version
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    until: str
    answer: BisectAnswer
    detail: str
    sites: int
    sets: tuple[BlamedSet, ...] = ()
    apart: tuple[str, ...] = ()
    runs: int
    bound: int
    at_once: int = 1
    repeats: int = 1
    confidence: float | None = None
    stock: StockEnds = StockEnds()
    together: tuple[str, ...] = ()
    not_reached: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    not_switched: tuple[str, ...] = ()
    seconds: float
