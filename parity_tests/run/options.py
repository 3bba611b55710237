"""The options of a campaign: one record, made by the command line and passed on as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from parity_tests.processes.options import ATTRIBUTION_TIMEOUT, RunOptions
from parity_tests.run.selection import Selection
from reports.rows import SIDES, Side

# "unconfirmed" leaves out those that ours and stock JAX's sides show alike.
RunAgain = Literal["all", "unconfirmed"]
# A proof is of stock JAX: whoever flips the default flips that.
PROVED_ON: tuple[Side, Side] = ("jax-legacy", "jax-simplified")
# Hazards are properties of a program, so one side detects them: the first of these that is run.
# Sides that a hazard breaks come last.
_DETECT_HAZARDS: tuple[Side, ...] = ("jax-legacy", "legacy", "jax-simplified", "simplified")
# This side's own trace shows the rest. Recording slows it, so only where nothing is timed.
_TRACES_AS_AFTER: Side = "jax-simplified"


class CampaignOptions(RunOptions):
    """On which sides programs are run, how each is run, and what is done besides.

    `resume` is a folder that keeps the results of finished programs. The same campaign, started
    again with this folder, runs the remaining programs. If its limits are larger, it also runs the
    programs again that exceeded the old limits. With `rounds`, times are judged: each round
    takes the programs that all sides could run, and runs each twice on every side, in fresh
    processes, one at a time.
    `save` is a file for the results; the arrays of all outputs are written beside it, so that both
    can be judged again. With `attribute`, both sides of a program whose outputs are not bitwise
    equal are run again to find out why, for at most `attribution_timeout` seconds. `run_again` says
    which programs run again because their sides differ: all, or those that our flip and stock JAX's
    do not show alike. `select` says which of the programs of the targets are run. With
    `sides_may_miss`, sides are left out that cannot run under the JAX of the campaign. `store` is a
    database of runs, which each finished program is written to; `machine` is what it calls this
    machine, by its own name where it is "". `only_changed` is a result, as a JSON report, whose
    verdicts are taken over for programs that have not changed since.
    """

    sides: tuple[Side, ...] = SIDES
    sides_may_miss: bool = False
    resume: Path | None = None
    rounds: int = 0
    save: Path | None = None
    store: Path | None = None
    machine: str = ""
    only_changed: Path | None = None
    attribute: bool = False
    run_again: RunAgain = "all"
    attribution_timeout: float = ATTRIBUTION_TIMEOUT
    select: Selection = Selection()


def side_with_hazards(options: CampaignOptions) -> Side | None:
    """Return which side detects the hazards; None where there are no sides.

    Example::

        side_with_hazards(CampaignOptions(sides=("legacy", "simplified"))) == "legacy"
    """
    if not options.steady_calls and _TRACES_AS_AFTER in options.sides:
        return _TRACES_AS_AFTER
    return next((side for side in _DETECT_HAZARDS if side in options.sides), None)
