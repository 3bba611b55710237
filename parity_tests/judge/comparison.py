"""Beside: what two observations say of each metric, put beside each other as comparisons."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence import ladder
from parity_tests.evidence.values import Value
from parity_tests.judge.rulings import COUNTERS, OUTPUT_PROPERTIES, Pair, same_side, varying
from reports.rows import (
    TIME_METRICS,
    Check,
    Comparison,
    LeafComparison,
    Observation,
)
from reports.rows.check_names import OF_PROGRAMS
from reports.views.texts import counted

DIFF_LINES = 12
DIFF_WIDTH = 160

RUNGS = ("bitwise", "ulp", "tolerance", "arbiter", "mismatch")


def worst_rung(leaves: Sequence[LeafComparison]) -> str:
    """Return the lowest rung that any of the leaves stands on."""
    return max((leaf.rung for leaf in leaves), key=RUNGS.index, default="bitwise")


@dataclass(frozen=True)
class Beside:
    """Puts what two observations say of each metric beside each other."""

    pair: Pair

    @property
    def fails(self) -> bool:
        """Whether one of the two failed, which leaves nothing to compare."""
        return bool(self.pair.left.failure or self.pair.right.failure)

    def compare(
        self, left: Sequence[Value], right: Sequence[Value], truth: Sequence[Value]
    ) -> list[Comparison]:
        """Compare outputs, structure, counters, checks and times; `truth` is the arbiter's."""
        found = [*self._structure(), *self._counters(), *self._checks(), *self._times()]
        if all(each.outcome == "equal" for each in found if each.metric in OUTPUT_TYPES):
            return [self._outputs(left, right, truth), *found]
        reason = "the outputs do not correspond"
        return [self._row("outputs", "not compared", "", "", reason), *found]

    def _row(
        self,
        metric: str,
        outcome: str,
        left: object,
        right: object,
        detail: str = "",
        leaves: tuple[LeafComparison, ...] = (),
    ) -> Comparison:
        return Comparison(
            metric=metric,
            left=self.pair.left.side,
            right=self.pair.right.side,
            outcome=outcome,  # type: ignore[arg-type]
            left_value=str(left),
            right_value=str(right),
            detail=detail,
            leaves=leaves,
        )

    def printed_jaxprs(self, left: str, right: str) -> Comparison:
        """Compare two printed jaxprs of one mode, which have to be the same text."""
        if not left or not right:
            detail = "the printed jaxprs were not handed on"
            return self._row("printed jaxpr", "not compared", "", "", detail)
        a, b = left.splitlines(), right.splitlines()
        sizes = (counted(len(a), "line"), counted(len(b), "line"))
        if left == right:
            return self._row("printed jaxpr", "equal", *sizes)
        return self._row(
            "printed jaxpr", "different", *sizes, _diff(a, b, self.pair.left, self.pair.right)
        )

    def failures(self) -> Comparison:
        """Return what there is to say where a side failed: no comparison, and why."""
        left, right = (
            f"{each.failure.kind} in {each.failure.stage}: {each.failure.type}"
            if each.failure
            else "works"
            for each in (self.pair.left, self.pair.right)
        )
        if self.pair.left.failure and self.pair.right.failure and left == right:
            detail = "both sides fail alike, which agrees, and leaves no output to compare"
        else:
            detail = "a side that failed has nothing to compare"
        return self._row("outputs", "not compared", left, right, detail)

    def _structure(self) -> list[Comparison]:
        left_tree, right_tree = self.pair.left.tree, self.pair.right.tree
        outcome = "equal" if left_tree == right_tree else "different"
        detail = "" if left_tree == right_tree else "the result is another tree"
        rows = [self._row("output structure", outcome, left_tree, right_tree, detail)]
        for metric, (of, rule) in OUTPUT_PROPERTIES.items():
            left = {leaf.path: of(leaf) for leaf in self.pair.left.outputs}
            right = {leaf.path: of(leaf) for leaf in self.pair.right.outputs}
            apart = [path for path in {**left, **right} if left.get(path) != right.get(path)]
            if not apart:
                leaves = counted(len(left), "leaf")
                rows.append(self._row(metric, "equal", leaves, leaves))
                continue
            path, more = apart[0], f", and at {len(apart) - 1} more" if len(apart) > 1 else ""
            detail = f"at {path or 'the only output'}{more}"
            outcome, why = rule(self.pair, left.get(path), right.get(path))
            rows.append(
                self._row(
                    metric,
                    outcome,
                    left.get(path, "missing"),
                    right.get(path, "missing"),
                    f"{detail}: {why}" if why else detail,
                )
            )
        return rows

    def _checks(self) -> list[Comparison]:
        left, right = (
            {check.name: check for check in of.checks} for of in (self.pair.left, self.pair.right)
        )
        rows = []
        for name in {**left, **right}:
            a, b = left.get(name), right.get(name)
            measured = [each for each in (a, b) if each is not None]
            failing = [each.statement for each in measured if not each.holds]
            values = _held(a), _held(b)
            if not failing and len(measured) == 2:
                rows.append(self._row(name, "equal", *values))
            elif not failing:
                rows.append(self._row(name, "not compared", *values, "not measured on both"))
            elif len(failing) == 2 and name in OF_PROGRAMS:
                rows.append(self._row(name, "equal", *values, failing[0]))
            else:
                rows.append(self._row(name, "different", *values, "; ".join(failing)))
        return rows

    def _counters(self) -> list[Comparison]:
        rows = []
        for metric, (read, within, across) in COUNTERS.items():
            left, right = read(self.pair.left), read(self.pair.right)
            if left is None or right is None:
                rows.append(self._row(metric, "not compared", left, right, "not measured"))
            elif left == right:
                rows.append(self._row(metric, "equal", left, right))
            else:
                rule = across if self.pair.across_modes else within
                if self.pair.is_one_side and within is not varying:
                    rule = same_side
                outcome, why = rule(self.pair, left, right)
                rows.append(self._row(metric, outcome, left, right, why))
        return rows

    def _times(self) -> list[Comparison]:
        left, right = self.pair.left.times, self.pair.right.times
        if left is None or right is None:
            return []
        rows = []
        for stage in TIME_METRICS:
            a, b = (getattr(each, stage.replace(" ", "_")) for each in (left, right))
            if a is None or b is None:
                continue  # the campaign was told not to take them
            why = "one process and few samples"
            rows.append(self._row(f"{stage} seconds", "not judged", f"{a:.3g}", f"{b:.3g}", why))
        return rows

    def _outputs(
        self, left: Sequence[Value], right: Sequence[Value], truth: Sequence[Value]
    ) -> Comparison:
        if not len(left) == len(right) == len(self.pair.left.outputs):
            detail = "the output arrays were not handed on"
            return self._row("outputs", "not compared", len(left), len(right), detail)
        true = {each.path: each.array for each in truth}
        leaves = tuple(
            ladder.compare(a.path, a.array, b.array, true.get(a.path))
            for a, b in zip(left, right, strict=True)
        )
        rung = worst_rung(leaves)
        worst = max(leaves, key=lambda leaf: (RUNGS.index(leaf.rung), leaf.max_rel), default=None)
        detail = ""
        if worst is not None and rung != "bitwise":
            where = worst.path or "the only output"
            detail = f"{rung} at {where}: max rel {worst.max_rel:.2g}, max abs {worst.max_abs:.2g}"
            if worst.max_ulp is not None:
                detail += f", {worst.max_ulp} ULP"
            if worst.note:
                detail += f"; {worst.note}"
        return self._row(
            "outputs",
            "different" if rung == "mismatch" else "equal",
            counted(len(leaves), "leaf"),
            counted(len(leaves), "leaf"),
            detail or "bitwise equal",
            leaves,
        )


def _diff(left: list[str], right: list[str], of_left: Observation, of_right: Observation) -> str:
    """Return the beginning of a unified diff, its lines as wide as a report shows them."""
    names = (of_left.side, of_right.side)
    lines = list(difflib.unified_diff(left, right, *names, lineterm="", n=1))
    shown = [line if len(line) <= DIFF_WIDTH else line[:DIFF_WIDTH] + "…" for line in lines]
    more = len(lines) - DIFF_LINES
    return "\n".join([*shown[:DIFF_LINES], *([f"and {more} more lines"] if more > 0 else [])])


OUTPUT_TYPES = ("output structure", "output shapes", "output dtypes")


def _held(check: Check | None) -> str:
    if check is None:
        return "not measured"
    return "holds" if check.holds else "fails"
