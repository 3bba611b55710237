"""Judge: observations and their outputs to comparisons and a verdict; it runs and prints nothing.

Counters that do not depend on the machine are judged first and exactly. Where a difference is
what the migration is about (const args, StableHLO bytes), it is an "expected difference" with its
reason. Times are listed and not judged: they are few samples of one process each.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from parity_tests import numerics
from parity_tests.checks import OF_PROGRAMS
from parity_tests.values import Value
from parity_tests.wording import counted
from reports.rows import (
    TIME_METRICS,
    Check,
    Comparison,
    LeafComparison,
    Observation,
    OutputLeaf,
    Side,
    Verdict,
)

PAIRS: tuple[tuple[Side, Side], ...] = (
    ("legacy", "jax-legacy"),
    ("simplified", "jax-simplified"),
    ("legacy", "simplified"),
    ("jax-legacy", "jax-simplified"),
)

DIFF_LINES = 12
DIFF_WIDTH = 160

RUNGS = ("bitwise", "ulp", "tolerance", "arbiter", "mismatch")


@dataclass(frozen=True)
class Judgement:
    """What a program's observations come to."""

    verdict: Verdict
    reasons: tuple[str, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Evidence:
    """What a side left of a program: its observation, its output arrays and its printed jaxpr."""

    observation: Observation
    outputs: Sequence[Value] = ()
    jaxpr: str = ""


def judge(
    pairs: Sequence[tuple[Evidence, Evidence]],
    alone: Sequence[Evidence] = (),
    truth: Sequence[Value] = (),
) -> Judgement:
    """Compare pairs of sides, and say what they make of the program.

    `alone` are sides whose failures count, in a pair or not, and `truth` has the output arrays of
    the arbiter, where it has run. A pair may be of one side, measured twice.

    "difference" where any pair differs, else "could not compare" where a side failed or there is
    no pair, else "parity". Two sides that raise alike agree, and still nothing was compared.
    """
    comparisons: list[Comparison] = []
    for left, right in pairs:
        pair = _Pair(left.observation, right.observation)
        if pair.fails:
            comparisons.append(pair.failures())
            continue
        comparisons += pair.compare(left.outputs, right.outputs, truth)
        if not pair.across_modes:
            comparisons.append(pair.printed_jaxprs(left.jaxpr, right.jaxpr))
    observed = [each.observation for each in (*alone, *itertools.chain(*pairs))]
    differing = [_reason(each) for each in comparisons if each.outcome == "different"]
    failed = list(dict.fromkeys(_failure_reason(each) for each in observed if each.failure))
    if differing:
        return Judgement("difference", (*differing, *failed), tuple(comparisons))
    lost = [
        each.detail
        for each in comparisons
        if each.metric in ("outputs", "printed jaxpr") and each.outcome == "not compared"
    ]
    if failed or lost or not comparisons:
        reasons = failed or lost or ["there is no pair of sides to compare"]
        return Judgement("could not compare", tuple(reasons), tuple(comparisons))
    return Judgement("parity", _rungs_stood_on(comparisons), tuple(comparisons))


def pairs_of(sides: Collection[Side]) -> list[tuple[Side, Side]]:
    """Return the pairs of sides that a campaign over `sides` compares."""
    return [pair for pair in PAIRS if set(pair) <= set(sides)]


def needs_arbiter(judgement: Judgement) -> bool:
    """Say whether outputs failed the tolerance of their dtype, for which the arbiter is asked."""
    return any(leaf.rung == "mismatch" for each in judgement.comparisons for leaf in each.leaves)


def worst_rung(leaves: Sequence[LeafComparison]) -> str:
    """Return the lowest rung that any of the leaves stands on."""
    return max((leaf.rung for leaf in leaves), key=RUNGS.index, default="bitwise")


def _reason(comparison: Comparison) -> str:
    pair = f"{comparison.left} and {comparison.right}"
    if comparison.metric == "outputs":
        return f"{pair}: outputs differ: {comparison.detail}"
    values = f"{comparison.left_value} against {comparison.right_value}"
    return f"{pair}: {comparison.metric}: {values} ({comparison.detail})"


def _failure_reason(observation: Observation) -> str:
    failure = observation.failure
    assert failure is not None
    lines = failure.message.strip().splitlines()
    # JAX ends a first line with a colon where what matters is in the next.
    said = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    what = f"{failure.type}: {said}" if said else failure.type
    return f"{observation.side}: {failure.kind} in {failure.stage}: {what}"


def _rungs_stood_on(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Say why outputs that are not bitwise equal count as equal, and what may have moved them."""
    return tuple(
        f"{each.left} and {each.right}: outputs are equal, though not bitwise: {each.detail}; "
        + (_TWO_MODES if _mode(each.left) != _mode(each.right) else _ONE_MODE)
        for each in comparisons
        if each.metric == "outputs" and worst_rung(each.leaves) != "bitwise"
    )


# Causes are named, not attributed: telling them apart takes further runs.
_TWO_MODES = (
    "XLA was given two programs, inlined constants against const args, and may fold or fuse one "
    "where it does not the other"
)
_ONE_MODE = "the two lowerings of one mode may be fused differently"


def _mode(side: str) -> str:
    return side.removeprefix("jax-")


# A rule takes the two values of a counter and says what to make of their difference: an outcome
# and why.
_Ruling = tuple[str, str]
_Rule = Callable[["_Pair", Any, Any], _Ruling]


@dataclass(frozen=True)
class _Pair:
    left: Observation
    right: Observation

    @property
    def across_modes(self) -> bool:
        """Whether the pair compares legacy with simplified, rather than ours with stock JAX."""
        return _mode(self.left.side) != _mode(self.right.side)

    @property
    def is_one_side(self) -> bool:
        """Whether one side is compared with itself, as it was measured another time."""
        return self.left.side == self.right.side

    @property
    def stock_keeps_keys(self) -> bool:
        """Whether stock JAX kept typed PRNG keys as constvars, which its proof allows it alone."""
        proof = self.right.proof
        return self.right.side == "jax-simplified" and proof is not None and proof.constvars > 0

    @property
    def fails(self) -> bool:
        """Whether one of the two failed, which leaves nothing to compare."""
        return bool(self.left.failure or self.right.failure)

    def compare(
        self, left: Sequence[Value], right: Sequence[Value], truth: Sequence[Value]
    ) -> list[Comparison]:
        found = [*self._structure(), *self._counters(), *self._checks(), *self._times()]
        if all(each.outcome == "equal" for each in found if each.metric in _OUTPUT_TYPES):
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
            left=self.left.side,
            right=self.right.side,
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
        return self._row("printed jaxpr", "different", *sizes, _diff(a, b, self.left, self.right))

    def failures(self) -> Comparison:
        left, right = (
            f"{each.failure.kind} in {each.failure.stage}: {each.failure.type}"
            if each.failure
            else "works"
            for each in (self.left, self.right)
        )
        if self.left.failure and self.right.failure and left == right:
            detail = "both sides fail alike, which agrees, and leaves no output to compare"
        else:
            detail = "a side that failed has nothing to compare"
        return self._row("outputs", "not compared", left, right, detail)

    def _structure(self) -> list[Comparison]:
        left_tree, right_tree = self.left.tree, self.right.tree
        outcome = "equal" if left_tree == right_tree else "different"
        detail = "" if left_tree == right_tree else "the result is another tree"
        rows = [self._row("output structure", outcome, left_tree, right_tree, detail)]
        for metric, (of, rule) in _OUTPUT_PROPERTIES.items():
            left = {leaf.path: of(leaf) for leaf in self.left.outputs}
            right = {leaf.path: of(leaf) for leaf in self.right.outputs}
            apart = [path for path in {**left, **right} if left.get(path) != right.get(path)]
            if not apart:
                leaves = counted(len(left), "leaf")
                rows.append(self._row(metric, "equal", leaves, leaves))
                continue
            path, more = apart[0], f", and at {len(apart) - 1} more" if len(apart) > 1 else ""
            detail = f"at {path or 'the only output'}{more}"
            outcome, why = rule(self, left.get(path), right.get(path))
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
        left, right = ({check.name: check for check in of.checks} for of in (self.left, self.right))
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
        for metric, (read, within, across) in _COUNTERS.items():
            left, right = read(self.left), read(self.right)
            if left is None or right is None:
                rows.append(self._row(metric, "not compared", left, right, "not measured"))
            elif left == right:
                rows.append(self._row(metric, "equal", left, right))
            else:
                rule = across if self.across_modes else within
                if self.is_one_side and within is not _varying:
                    rule = _same_side
                outcome, why = rule(self, left, right)
                rows.append(self._row(metric, outcome, left, right, why))
        return rows

    def _times(self) -> list[Comparison]:
        left, right = self.left.times, self.right.times
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
        if not len(left) == len(right) == len(self.left.outputs):
            detail = "the output arrays were not handed on"
            return self._row("outputs", "not compared", len(left), len(right), detail)
        true = {each.path: each.array for each in truth}
        leaves = tuple(
            numerics.compare(a.path, a.array, b.array, true.get(a.path))
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


_OUTPUT_TYPES = ("output structure", "output shapes", "output dtypes")


def _held(check: Check | None) -> str:
    if check is None:
        return "not measured"
    return "holds" if check.holds else "fails"


def _same_side(pair: _Pair, left: int, right: int) -> _Ruling:
    return "different", "one side gave two counts, and counts do not depend on the machine"


def _must_equal(pair: _Pair, left: int, right: int) -> _Ruling:
    return "different", "one function was traced to two different programs"


def _equations(pair: _Pair, left: int, right: int) -> _Ruling:
    if pair.left.proof and pair.left.proof.constvars:
        return "expected difference", (
            "captured arrays are operands of bodies in legacy alone, and vmap and autodiff write "
            "equations for operands"
        )
    return _must_equal(pair, left, right)


def _captured(pair: _Pair, left: int, right: int) -> _Ruling:
    if left > right:
        return "expected difference", (
            "legacy keeps the constvars of bodies that were traced and dropped, and a Literal goes "
            "with its equation"
        )
    return _must_equal(pair, left, right)


def _constvars(pair: _Pair, left: int, right: int) -> _Ruling:
    if pair.stock_keeps_keys and left < right:
        return "expected difference", "stock JAX keeps typed PRNG keys as constvars"
    return _must_equal(pair, left, right)


def _literals(pair: _Pair, left: int, right: int) -> _Ruling:
    if pair.stock_keeps_keys and left > right:
        return "expected difference", "typed PRNG keys are Literals of ours, constvars of stock's"
    return _must_equal(pair, left, right)


def _const_args(pair: _Pair, left: int, right: int) -> _Ruling:
    unique = pair.right.proof.unique_captured if pair.right.proof else 0
    if left < right:
        return "expected difference", f"stock passes {right} for {counted(unique, 'unique array')}"
    if pair.stock_keeps_keys:
        return "expected difference", "ours passes typed PRNG keys, stock inlines them"
    return "different", "ours passes more const args than stock JAX"


def _inlined(pair: _Pair, left: int, right: int) -> _Ruling:
    if left < right:
        return "expected difference", "stock JAX inlines an array once per function, or a PRNG key"
    return "different", "ours inlines more than stock JAX in the same mode"


def _captured_values(pair: _Pair, left: str, right: str) -> _Ruling:
    if pair.left.jaxpr and pair.right.jaxpr:
        counts = pair.left.jaxpr.captured_arrays, pair.right.jaxpr.captured_arrays
        if counts[0] != counts[1]:
            return _captured(pair, *counts) if pair.across_modes else _must_equal(pair, *counts)
    return "different", "the captured arrays do not hold the same bits"


def _main_order(pair: _Pair, left: str, right: str) -> _Ruling:
    if pair.across_modes or pair.stock_keeps_keys:
        others = [
            [kind for kind in each.split(", ") if kind not in ("", "const")]
            for each in (left, right)
        ]
        if others[0] == others[1]:
            return "expected difference", "one side passes const args where the other does not"
    return "different", "tokens, const args and arguments stand in another order"


def _callbacks(pair: _Pair, left: int, right: int) -> _Ruling:
    return "different", "an effect was lost or repeated"


def _marks(pair: _Pair, left: int, right: int) -> _Ruling:
    if pair.left.side == "jax-legacy" or (not left and pair.right.side == "jax-simplified"):
        return "expected difference", "stock JAX does not mark all const args of inner functions"
    return "different", "const args of inner functions are not marked as main's are"


def _placed(pair: _Pair, left: object, right: object) -> _Ruling:
    if left is None or right is None:
        return "not compared", "not measured"
    jaxprs = [each.jaxpr for each in (pair.left, pair.right) if each.jaxpr]
    if not pair.is_one_side and pair.across_modes and any(each.sharded_arrays for each in jaxprs):
        return "expected difference", "simplified keeps the shardings of arrays, legacy inlines"
    if pair.right.side == "jax-simplified" and any(each.committed_arrays for each in jaxprs):
        return "expected difference", "captured arrays decide placement in stock simplified alone"
    return "different", ""


def _as_is(pair: _Pair, left: object, right: object) -> _Ruling:
    return "different", ""


def _text(pair: _Pair, left: int, right: int) -> _Ruling:
    return "not judged", "two lowerings may write one computation in different words"


def _varying(pair: _Pair, left: int, right: int) -> _Ruling:
    return "not judged", "XLA does not serialize one program to the same bytes twice"


def _buffers(pair: _Pair, left: int, right: int) -> _Ruling:
    if left < right:
        return "expected difference", "stock JAX takes an array to the device more than once"
    return "different", "ours holds more of the captured arrays on the device than stock JAX"


def _recompiles(pair: _Pair, left: int, right: int) -> _Ruling:
    if left < right:
        return "expected difference", "stock JAX inlines typed PRNG keys, and so their values"
    return "different", "ours compiles for other values, and stock JAX does not"


def _migration(why: str) -> _Rule:
    def rule(pair: _Pair, left: int, right: int) -> _Ruling:
        return "expected difference", why

    return rule


_HOISTED = _migration("simplified hoists captured arrays as const args, legacy inlines them")
_REPRESENTED = _migration("legacy binds captured arrays to constvars, simplified to Literals")
_FOLDED = _migration("XLA sees inlined constants and may fold them, and sees const args as data")


def _of(section: str, name: str) -> Callable[[Observation], Any]:
    def read(observation: Observation) -> Any:
        return getattr(getattr(observation, section), name, None)

    return read


# Each counter: how to read it, the rule for two pipelines of one mode, the rule across modes.
_COUNTERS: dict[str, tuple[Callable[[Observation], Any], _Rule, _Rule]] = {
    "jaxpr equations": (_of("jaxpr", "equations"), _must_equal, _equations),
    "captured arrays": (_of("jaxpr", "captured_arrays"), _must_equal, _captured),
    "captured bytes": (_of("jaxpr", "captured_bytes"), _must_equal, _captured),
    "captured values": (_of("jaxpr", "captured_values"), _captured_values, _captured_values),
    "constvars": (_of("proof", "constvars"), _constvars, _REPRESENTED),
    "array literals": (_of("proof", "array_literals"), _literals, _REPRESENTED),
    "const args": (_of("proof", "const_args"), _const_args, _HOISTED),
    "inlined constant bytes": (_of("proof", "inlined_constant_bytes"), _inlined, _HOISTED),
    "order of main's arguments": (_of("stablehlo", "main_order"), _main_order, _main_order),
    "types of main's arguments": (_of("stablehlo", "argument_types"), _must_equal, _must_equal),
    "marks lost": (_of("stablehlo", "marks_lost"), _marks, _marks),
    "callbacks": (_of("stablehlo", "callbacks"), _callbacks, _callbacks),
    "StableHLO bytes": (_of("stablehlo", "text_bytes"), _text, _HOISTED),
    "StableHLO operations": (_of("stablehlo", "operations"), _text, _HOISTED),
    "StableHLO functions": (_of("stablehlo", "functions"), _text, _HOISTED),
    "StableHLO constants": (_of("stablehlo", "constants"), _text, _HOISTED),
    "StableHLO bytecode bytes": (_of("stablehlo", "bytecode_bytes"), _text, _HOISTED),
    "optimised HLO instructions": (_of("executable", "instructions"), _text, _FOLDED),
    "optimised HLO fusions": (_of("executable", "fusions"), _text, _FOLDED),
    "optimised HLO constant bytes": (_of("executable", "constant_bytes"), _text, _HOISTED),
    "serialized bytes": (_of("executable", "serialized_bytes"), _varying, _HOISTED),
    "argument bytes": (_of("memory", "arguments"), _text, _HOISTED),
    "recompiles for other values": (
        lambda each: each.recompiles,
        _recompiles,
        _migration("legacy compiles the values of captured arrays into the executable"),
    ),
    "device buffers of constants": (lambda each: each.constant_buffers, _buffers, _HOISTED),
    "temporary bytes": (_of("memory", "temporaries"), _text, _FOLDED),
}

# Each property of an output leaf: how to read it, and the rule where two sides differ in it.
_OUTPUT_PROPERTIES: dict[str, tuple[Callable[[OutputLeaf], object], _Rule]] = {
    "output shapes": (lambda leaf: list(leaf.shape), _as_is),
    "output dtypes": (lambda leaf: leaf.dtype, _as_is),
    "output weak types": (lambda leaf: leaf.weak_type, _as_is),
    "output shardings": (lambda leaf: leaf.sharding, _placed),
    "output committed": (lambda leaf: leaf.committed, _placed),
}
