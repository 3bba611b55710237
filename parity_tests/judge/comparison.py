"""Compare what two sides left of one program, metric by metric, into the comparisons of a report.

Times are listed and not judged: they are few samples of one process each.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import worst_leaf, worst_rung
from parity_tests.evidence.values import Value
from parity_tests.judge import calls_as_written, effects, later_calls
from parity_tests.judge.conditions import ruling_on
from parity_tests.judge.sides import Pair, is_one_mode
from reports.rows import CapturedArray, Check, Comparison, LeafComparison, Observation, metrics
from reports.rows.check_names import OF_PROGRAMS
from reports.rows.comparison import ComparisonOutcome
from reports.rows.metric_records import LeafProperty, Metric
from reports.rows.metric_rules import Rule
from reports.views.ledger import listed, place
from reports.views.texts import counted, type_of

DIFF_LINES = 12
DIFF_WIDTH = 160

STRUCTURE = "output structure"
PRINTED = "printed jaxpr"


def compare_pairs(
    pairs: Sequence[tuple[Evidence, Evidence]], truth: Sequence[Value] = ()
) -> tuple[Comparison, ...]:
    """Compare each pair of sides; `truth` has the output arrays of the arbiter, if it has run.

    Example::

        compare_pairs([(of_legacy, of_simplified)])[0].metric == "outputs"
    """
    found = tuple(
        each
        for left, right in pairs
        for each in PairComparison(left, right, tuple(truth)).comparisons()
    )
    failures = [each.observation.failure for pair in pairs for each in pair]
    if any(each is not None and each.kind == "written to" for each in failures):
        return tuple(map(_of_other_values, found))
    return found


@dataclass(frozen=True)
class PairComparison:
    """The comparison of two sides of one program; a pair may be one side measured twice."""

    left: Evidence
    right: Evidence
    truth: tuple[Value, ...] = ()

    @cached_property  # it is read some hundred times
    def pair(self) -> Pair:
        """The two observations."""
        return Pair(self.left.observation, self.right.observation)

    def comparisons(self) -> list[Comparison]:
        """Compare outputs, structure, counters, checks, times and, in one mode, printed jaxprs."""
        if self.pair.left.failure or self.pair.right.failure:
            return [self._failures(), *self._as_written(())]
        found = [
            *self._structure(),
            *self._counters(),
            *self._effects(),
            *self._checks(),
            *self._times(),
        ]
        alike = all(each.outcome == "equal" for each in found if is_of_types(each.metric))
        outputs = self._outputs() if alike else self._no_outputs("the outputs do not correspond")
        more = self._left_inlined() if self.pair.across_modes else [self._printed_jaxprs()]
        all_found = [outputs, *found, *more, *self._as_written(outputs.leaves)]
        return [*map(_foreseen, all_found)] if self._is_written_while_traced() else all_found

    def _is_written_while_traced(self) -> bool:
        """Say whether our side and stock JAX trace what writes into a NumPy array.

        Ours keeps what the array held when it was captured, and stock JAX has what it holds when
        the program is lowered.
        """
        if self.pair.across_modes or self.pair.is_one_side:
            return False
        return bool(self.pair.left.written_in_trace or self.pair.right.written_in_trace)

    def _comparison(
        self,
        metric: str,
        outcome: ComparisonOutcome,
        left: object,
        right: object,
        detail: str = "",
        leaves: tuple[LeafComparison, ...] = (),
    ) -> Comparison:
        return Comparison(
            metric=metric,
            left=self.pair.left.side,
            right=self.pair.right.side,
            outcome=outcome,
            left_value=str(left),
            right_value=str(right),
            detail=detail,
            leaves=leaves,
        )

    def _failures(self) -> Comparison:
        """Say what failed; nothing else of the pair compares."""
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
        return self._comparison("outputs", "not compared", left, right, detail)

    # -- the result's structure, and the properties of its leaves ----------------------------------

    def _structure(self) -> Iterator[Comparison]:
        left, right = self.pair.left.tree, self.pair.right.tree
        if left == right:
            yield self._comparison(STRUCTURE, "equal", left, right)
        else:
            yield self._comparison(
                STRUCTURE, "different", left, right, "the result is another tree"
            )
        for each in metrics.LEAF_PROPERTIES:
            yield self._leaf_property(each)

    def _leaf_property(self, of: LeafProperty) -> Comparison:
        left = {leaf.path: of.read(leaf) for leaf in self.pair.left.outputs}
        right = {leaf.path: of.read(leaf) for leaf in self.pair.right.outputs}
        apart = [path for path in {**left, **right} if left.get(path) != right.get(path)]
        if not apart:
            leaves = counted(len(left), "leaf")
            return self._comparison(of.name, "equal", leaves, leaves)
        path, more = apart[0], f", and at {len(apart) - 1} more" if len(apart) > 1 else ""
        detail = f"at {path or 'the only output'}{more}"
        ruling = ruling_on(of.rule, self.pair, left.get(path), right.get(path))
        return self._comparison(
            of.name,
            ruling.outcome,
            left.get(path, "missing"),
            right.get(path, "missing"),
            f"{detail}: {ruling.why}" if ruling.why else detail,
        )

    # -- the metrics of the table, and the checks --------------------------------------------------

    def _counters(self) -> Iterator[Comparison]:
        for metric in metrics.METRICS:
            rule = self._rule(metric)
            if rule is None or metric.unit == "seconds":
                continue
            left, right = metric.read(self.pair.left), metric.read(self.pair.right)
            if left is None or right is None:
                yield self._comparison(metric.name, "not compared", left, right, "not measured")
            elif left == right:
                yield self._comparison(metric.name, "equal", left, right)
            else:
                ruling = ruling_on(rule, self.pair, left, right)
                if metric.name == CAPTURED_VALUES:
                    left, right = told_apart(self.pair)
                yield self._comparison(metric.name, ruling.outcome, left, right, ruling.why)

    def _times(self) -> Iterator[Comparison]:
        for metric in metrics.METRICS:
            left, right = metric.read(self.pair.left), metric.read(self.pair.right)
            rule = self._rule(metric)
            if metric.unit != "seconds" or rule is None or left is None or right is None:
                continue  # a time that is missing is one that the campaign did not ask for
            ruling = ruling_on(rule, self.pair, left, right)
            values = f"{left:.3g}", f"{right:.3g}"
            yield self._comparison(metric.name, ruling.outcome, *values, ruling.why)

    def _rule(self, metric: Metric) -> Rule | None:
        if self.pair.is_one_side:
            return metric.again if metric.within is not None else None
        return metric.across if self.pair.across_modes else metric.within

    def _effects(self) -> Iterator[Comparison]:
        left, right = self.pair.left.effects, self.pair.right.effects
        if left is None or right is None or not (left.found or right.found):
            return
        found = effects.findings(left, right)
        for metric in effects.METRICS:
            of_metric = [each for each in found if each.metric == metric]
            outcomes = [each.outcome for each in of_metric]
            yield self._comparison(
                metric,
                "different" if "different" in outcomes else next(iter(outcomes), "equal"),
                effects.in_words(left),
                effects.in_words(right),
                "; ".join(each.what for each in of_metric),
            )

    def _checks(self) -> Iterator[Comparison]:
        left, right = (
            {check.name: check for check in of.checks} for of in (self.pair.left, self.pair.right)
        )
        for name in {**left, **right}:
            both = left.get(name), right.get(name)
            made = [each for each in both if each is not None]
            measured = [each for each in made if each.measured]
            lost = [each.statement for each in made if not each.measured]
            failing = [each.statement for each in measured if not each.holds]
            values = _held(both[0]), _held(both[1])
            if agreement := later_calls.compare(name, self.pair):
                yield self._comparison(name, agreement.outcome, *values, agreement.detail)
                continue
            if not failing and len(measured) == 2:
                yield self._comparison(name, "equal", *values)
            elif not failing:
                detail = "; ".join(lost) or "not measured on both"
                yield self._comparison(name, "not compared", *values, detail)
            elif len(failing) == 2 and name in OF_PROGRAMS:
                yield self._comparison(name, "equal", *values, failing[0])
            else:
                yield self._comparison(name, "different", *values, "; ".join(failing))

    def _left_inlined(self) -> list[Comparison]:
        """Name the arrays that simplified should hoist, and that stay inlined on both sides."""
        arrays = left_inlined(self.pair.left, self.pair.right)
        if not arrays:
            return []
        inlined = f"{counted(len(arrays), 'array')} inlined"
        return [self._comparison(LEFT_INLINED, "different", inlined, inlined, named(arrays))]

    def _as_written(self, traced: Sequence[LeafComparison]) -> Iterator[Comparison]:
        left, right = (
            counted(len(each.as_written), "call") for each in (self.pair.left, self.pair.right)
        )
        for found in calls_as_written.compare(self.pair, traced):
            yield self._comparison(found.metric, found.outcome, left, right, found.detail)

    # -- what stays out of the observations: output arrays and printed jaxprs ----------------------

    def _outputs(self) -> Comparison:
        left, right = self.left.outputs, self.right.outputs
        if not len(left) == len(right) == len(self.pair.left.outputs):
            detail = "the output arrays were not handed on"
            return self._comparison("outputs", "not compared", len(left), len(right), detail)
        true = {each.path: each.array for each in self.truth}
        leaves = tuple(
            tolerance_ladder.compare(a.path, a.array, b.array, true.get(a.path))
            for a, b in zip(left, right, strict=True)
        )
        return self._comparison(
            "outputs",
            "different" if worst_rung(leaves) == "mismatch" else "equal",
            counted(len(leaves), "leaf"),
            counted(len(leaves), "leaf"),
            worst_in_words(leaves),
            leaves,
        )

    def _no_outputs(self, why: str) -> Comparison:
        return self._comparison("outputs", "not compared", "", "", why)

    def _printed_jaxprs(self) -> Comparison:
        """Compare the printed jaxprs of one mode, which have to be the same text."""
        metric, left, right = PRINTED, self.left.jaxpr, self.right.jaxpr
        if not left or not right:
            detail = "the printed jaxprs were not handed on"
            return self._comparison(metric, "not compared", "", "", detail)
        lines = left.splitlines(), right.splitlines()
        sizes = (counted(len(lines[0]), "line"), counted(len(lines[1]), "line"))
        if left == right:
            return self._comparison(metric, "equal", *sizes)
        diff = _diff(*lines, self.pair.left, self.pair.right)
        return self._comparison(metric, "different", *sizes, diff)


def _of_other_values(found: Comparison) -> Comparison:
    """Leave open what tells ours from stock JAX: it may have an array as a call before met it.

    Which of its calls have it so goes by the memory of the array, and by the backend.
    """
    if found.outcome != "different" or not is_one_mode((found.left, found.right)):
        return found
    why = "stock JAX may have what a captured array held before it was written to"
    detail = f"{found.detail}: {why}" if found.detail else why
    update = {"outcome": "not compared", "detail": detail, "leaves": ()}
    return found.model_copy(update=update)


def _foreseen(found: Comparison) -> Comparison:
    if found.outcome != "different":
        return found
    why = "the program writes into a NumPy array while it is traced"
    detail = f"{found.detail}: {why}" if found.detail else why
    return found.model_copy(update={"outcome": "expected difference", "detail": detail})


def is_of_types(metric: str) -> bool:
    """Say whether a metric tells of the outputs' types, without which no outputs compare."""
    types = [each.name for each in metrics.LEAF_PROPERTIES if each.is_type]
    return metric in (STRUCTURE, *types)


def worst_in_words(leaves: Sequence[LeafComparison]) -> str:
    """Say how far the worst of some output leaves is apart, and where.

    Example::

        worst_in_words(leaves) == "ulp at ['w']: max rel 1.1e-07, max abs 1.9e-06, 1 ULP"
    """
    rung = worst_rung(leaves)
    if rung == "bitwise":
        return "bitwise equal"
    worst = worst_leaf(leaves)
    where = worst.path or "the only output"
    far = f"max rel {worst.max_rel:.2g}, max abs {worst.max_abs:.2g}"
    if worst.max_ulp is not None:
        far += f", {worst.max_ulp} ULP"
    if worst.is_lost:  # the distances are those of the other elements, and may all be zero
        return f"{rung} at {where}: {worst.note}; the others: {far}"
    detail = f"{rung} at {where}: {far}"
    return f"{detail}; {worst.note}" if worst.note else detail


def _diff(left: list[str], right: list[str], of_left: Observation, of_right: Observation) -> str:
    """Return the beginning of a unified diff, its lines as wide as a report shows them."""
    names = (of_left.side, of_right.side)
    lines = list(difflib.unified_diff(left, right, *names, lineterm="", n=1))
    shown = [line if len(line) <= DIFF_WIDTH else line[:DIFF_WIDTH] + "…" for line in lines]
    more = len(lines) - DIFF_LINES
    return "\n".join([*shown[:DIFF_LINES], *([f"and {more} more lines"] if more > 0 else [])])


def _held(check: Check | None) -> str:
    if check is None or not check.measured:
        return "not measured"
    return "holds" if check.holds else "fails"


# -- captured arrays that two sides do not share, in words -----------------------------------------

CAPTURED_VALUES = "captured values"


def told_apart(pair: Pair) -> tuple[str, str]:
    """Return, for each side, the arrays whose values the other one does not have.

    Example::

        told_apart(pair)[0] == "float32[3] at model.py:12"
    """
    return _alone(pair.left, pair.right), _alone(pair.right, pair.left)


def _alone(of: Observation, other: Observation) -> str:
    left = Counter(map(content_of, other.ledger))
    arrays = []
    for array in of.ledger:
        if left[content_of(array)] > 0:
            left[content_of(array)] -= 1
        else:
            arrays.append(array)
    if arrays:
        return listed([_in_words(each) for each in arrays])
    # Large arrays have no digests of their own, and arrays that are alike may be captured twice.
    captured = of.jaxpr.captured_arrays if of.jaxpr else len(of.ledger)
    return counted(captured, "captured array")


def content_of(array: CapturedArray) -> tuple[object, ...]:
    """Return what a captured array has in common with those that are alike."""
    return array.shape, array.dtype, array.sha256


def _in_words(array: CapturedArray) -> str:
    at = f" at {place(array.file, array.line)}" if array.file else ""
    return f"{type_of(array)}{at}"


# -- arrays that simplified should hoist, and that its module holds as constants -------------------

LEFT_INLINED = "arrays that stay inlined"


def left_inlined(legacy: Observation, simplified: Observation) -> list[CapturedArray]:
    """Return the captured arrays above the embed threshold that are inlined on both sides.

    The ledger of simplified names those that it captured. An array that simplified did not capture
    at all, because it became a parameter of an operation, is in the ledger of legacy alone, and its
    bytes are among the constants of both. Typed PRNG keys stay inlined in stock JAX.

    Example::

        left_inlined(before, after) == []
    """
    known = {each.sha256 for each in simplified.ledger}
    constants = simplified.stablehlo.inlined if simplified.stablehlo else ()
    return [
        *(each for each in simplified.ledger if _is_inlined(each)),
        *(
            each
            for each in legacy.ledger
            if _is_inlined(each) and each.sha256 not in known and each.sha256 in constants
        ),
    ]


def named(arrays: Sequence[CapturedArray]) -> str:
    """Return the lines of arrays with their types."""
    return listed([f"{place(each.file, each.line)} ({type_of(each)})" for each in arrays])


def _is_inlined(array: CapturedArray) -> bool:
    # An array that is told by its type alone may be another one.
    is_sure = array.sha256 != "" and not array.note
    return array.fate in ("inlined", "folded") and is_sure and not array.dtype.startswith("key<")
