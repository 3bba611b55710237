"""Does a program repeat itself? Which sides run again, and what several runs of each show."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parity_tests.advice import advice
from parity_tests.evidence.records import Evidence
from parity_tests.judge.findings import Difference, Findings, NotRepeatable
from parity_tests.judge.sides import Sides, flipped, is_one_mode
from parity_tests.judge.unrepeated import (
    Change,
    Differences,
    across,
    action_for,
    between_two_sides,
    changes,
    explained,
    fails_alike,
    largest,
    listed_changes,
    listed_outputs,
    places_of,
    within,
)
from reports.rows import Side

FRESH = advice("fresh")


def to_run_again(findings: Findings, pairs: Sequence[Sides]) -> Sides | None:
    """Return the pair of sides that differ and are run again, across the flip if it differs.

    None where no pair differs in anything that another run can bear out.

    Example::

        to_run_again(findings, [("jax-legacy", "jax-simplified")])
    """
    differing = [pair for pair in pairs if across(findings, pair)]
    across_flip = flipped(pairs)
    return across_flip if across_flip in differing else next(iter(differing), None)


def is_confirmed(findings: Findings, pairs: Sequence[Sides]) -> bool:
    """Say whether two pairs across the flip differ alike, and the sides of each mode are alike.

    Then each mode has run twice, in processes of two implementations, and was twice the same.

    Example::

        is_confirmed(findings, pairs_of(SIDES))
    """
    in_one_mode = [pair for pair in pairs if is_one_mode(pair)]
    flips = [across(findings, pair) for pair in pairs if pair not in in_one_mode]
    failures = {each.side: each.failure for each in findings.observed}
    if len(flips) < 2 or any(
        across(findings, pair) or not fails_alike(*(failures.get(side) for side in pair))
        for pair in in_one_mode
    ):
        return False
    return bool(flips[0]) and all(each == flips[0] for each in flips[1:])


def differs_in_one_mode_too(findings: Findings, pair: Sides, pairs: Sequence[Sides]) -> bool:
    """Say whether a pair differs across modes while sides of one mode differ, too."""
    if is_one_mode(pair):
        return False
    return any(across(findings, each) for each in pairs if is_one_mode(each))


@dataclass(frozen=True)
class Runs:
    """One side of a program, run several times.

    `first` is the campaign's run. `again` ran in one process with the other programs that are run
    again. `alone` are runs in fresh processes, each the first of its process.
    """

    first: Evidence
    again: Evidence
    alone: tuple[Evidence, ...] = ()

    @property
    def were_fresh(self) -> bool:
        """Whether the runs that were not alone were the first of their processes all the same."""
        memory = [each.observation.host_memory for each in (self.first, self.again)]
        return all(each is not None and each.fresh for each in memory)

    def differences(self) -> Differences:
        """Return what differs between any two of the runs."""
        return _between((self.first, self.again, *self.alone))

    def differences_alone(self) -> Differences:
        """Return what differs between the runs in fresh processes."""
        return _between(self.alone)


def _between(runs: Sequence[Evidence]) -> Differences:
    return largest(within(*pair) for pair in itertools.combinations(runs, 2))


def repeats(findings: Findings, pair: Sides, left: Runs, right: Runs) -> bool:
    """Say whether both sides repeat themselves in all that they differ in.

    Example::

        repeats(findings, ("jax-legacy", "jax-simplified"), Runs(a, a), Runs(b, b))
    """
    own = largest([left.differences(), right.differences()])
    return not explained(across(findings, pair), own)


def varies(findings: Findings, pair: Sides, left: Runs, right: Runs) -> bool:
    """Say whether a side changes from run to run in anything that the two differ in.

    Two runs may be near to each other by luck, where two sides are not.

    Example::

        varies(findings, ("jax-legacy", "jax-simplified"), Runs(a, a), Runs(b, b))
    """
    own = largest([left.differences(), right.differences()])
    return not own.keys().isdisjoint(across(findings, pair))


def repeats_alone(findings: Findings, pair: Sides, runs: Runs) -> bool:
    """Say whether one side repeats itself, alone in fresh processes, in what the two differ in."""
    return not explained(across(findings, pair), runs.differences_alone())


def judge_runs(
    findings: Findings, pair: Sides, left: Runs, right: Runs, source: str, *,
    began_apart: bool = False,
) -> NotRepeatable | None:  # fmt: skip
    """Return how a program does not repeat itself; None where its sides differ in every run.

    `source` is the line of the program. `began_apart` says that the two sides of the campaign's run
    had other programs before it in their processes. Without runs alone, what differs between the
    other runs is taken for chance.

    Example::

        judge_runs(findings, ("jax-legacy", "jax-simplified"), left, right, "model.py:9")
    """
    differing = across(findings, pair)
    own = largest([left.differences(), right.differences()])
    if not explained(differing, own):
        return None
    if fault := _of_ours(pair, differing, left, right, source, began_apart=began_apart):
        return fault
    covered = explained(_of_all_pairs(findings), own)
    both = dict(zip(pair, (left, right), strict=True))
    for side, runs in both.items():
        if not repeats_alone(findings, pair, runs):
            return _by_chance(side, runs.alone[:2], source, covered)
    side, runs = next(
        (side, runs) for side, runs in both.items() if explained(differing, runs.differences())
    )
    if not (left.alone and right.alone):
        return _by_chance(side, (runs.first, runs.again), source, covered)
    # Fresh processes repeat themselves: they tell whether the sides differ.
    apart = between_two_sides(left.alone[0], right.alone[0])
    if not apart.keys().isdisjoint(differing):
        # Those of one side ran at one time, and a clock is near to itself then.
        alone = largest([left.differences_alone(), right.differences_alone()])
        if explained(apart, own) and not alone.keys().isdisjoint(apart):
            return _by_chance(side, (runs.first, runs.again), source, covered)
        return None
    found = changes(runs.first, runs.alone[0], source)
    said = (
        f"{side} depends on what ran before it in its process: alone it repeats itself, and the "
        f"sides agree; after other programs {listed_changes(found)}"
    )
    return replace(_finding(side, said, found, runs.first, covered), action=FRESH)


def _of_ours(
    pair: Sides, differing: Differences, ours: Runs, stock: Runs, source: str, *, began_apart: bool
) -> NotRepeatable | None:
    """Return the fault where our side changes from run to run, and stock JAX of its mode does not.

    Stock JAX has run four times then. Where what is traced changes as well, or the program fails in
    some runs, it may be the program.
    """
    if not is_one_mode(pair) or not stock.alone or not ours.alone:
        return None
    if explained(differing, stock.differences()):
        return None
    apart = [each for each in (ours.again, *ours.alone) if within(ours.first, each)]
    found = changes(ours.first, apart[0], source)
    said = listed_outputs(found)
    if not said or (began_apart and not within(*ours.alone[:2])):
        return None
    return NotRepeatable(
        side=pair[0],
        what=f"{pair[0]} is at fault, and not the program: in a second run {said}, and {pair[1]} "
        "repeats itself",
        where=places_of(found),
        action=f"report it to constparity with this program; {pair[1]} says what the program does",
        is_ours=True,
    )


def _of_all_pairs(findings: Findings) -> Differences:
    pairs = dict.fromkeys((each.left, each.right) for each in findings.comparisons)
    return largest(across(findings, pair) for pair in pairs)


def _by_chance(
    side: Side, runs: Sequence[Evidence], source: str, covered: frozenset[Difference]
) -> NotRepeatable:
    found = changes(runs[0], runs[1], source)
    said = f"{side} does not repeat itself: in a second run {listed_changes(found)}"
    return _finding(side, said, found, runs[0], covered)


def _finding(
    side: Side,
    said: str,
    found: Sequence[Change],
    run: Evidence,
    covered: frozenset[Difference],
) -> NotRepeatable:
    kinds = {each.kind for each in found}
    stablehlo = run.observation.stablehlo
    return NotRepeatable(
        side=side,
        what=said,
        where=places_of(found),
        action=action_for(found),
        explained=covered,
        trace=run.jaxpr if "trace" in kinds else "",
        calls_python=kinds == {"outputs"} and bool(stablehlo and stablehlo.callbacks),
    )
