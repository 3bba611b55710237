"""Rulings: what the judge says to each difference between two counters, or two output leaves.

A counter has two rules: one for two pipelines of one mode, which have to agree, and one across
modes, where what the migration is about differs on purpose and is an "expected difference".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reports.rows import Observation, OutputLeaf
from reports.views.texts import counted


def mode_of(side: str) -> str:
    """Return the mode of a side: mode_of("jax-legacy") == "legacy"."""
    return side.removeprefix("jax-")


@dataclass(frozen=True)
class Pair:
    """Two observations of one program."""

    left: Observation
    right: Observation

    @property
    def across_modes(self) -> bool:
        """Whether the pair compares legacy with simplified, rather than ours with stock JAX."""
        return mode_of(self.left.side) != mode_of(self.right.side)

    @property
    def is_one_side(self) -> bool:
        """Whether one side is compared with itself, as it was measured another time."""
        return self.left.side == self.right.side

    @property
    def stock_keeps_keys(self) -> bool:
        """Whether stock JAX kept typed PRNG keys as constvars, which its proof allows it alone."""
        proof = self.right.proof
        return self.right.side == "jax-simplified" and proof is not None and proof.constvars > 0


# A rule takes the two values of a counter and says what to make of their difference: an outcome
# and why.
Ruling = tuple[str, str]
Rule = Callable[["Pair", Any, Any], Ruling]


def same_side(pair: Pair, left: int, right: int) -> Ruling:
    """Rule over a counter of a side that was measured twice."""
    return "different", "one side gave two counts, and counts do not depend on the machine"


def _must_equal(pair: Pair, left: int, right: int) -> Ruling:
    return "different", "one function was traced to two different programs"


def _equations(pair: Pair, left: int, right: int) -> Ruling:
    if pair.left.proof and pair.left.proof.constvars:
        return "expected difference", (
            "captured arrays are operands of bodies in legacy alone, and vmap and autodiff write "
            "equations for operands"
        )
    return _must_equal(pair, left, right)


def _captured(pair: Pair, left: int, right: int) -> Ruling:
    if left > right:
        return "expected difference", (
            "legacy keeps the constvars of bodies that were traced and dropped, and a Literal goes "
            "with its equation"
        )
    return _must_equal(pair, left, right)


def _constvars(pair: Pair, left: int, right: int) -> Ruling:
    if pair.stock_keeps_keys and left < right:
        return "expected difference", "stock JAX keeps typed PRNG keys as constvars"
    return _must_equal(pair, left, right)


def _literals(pair: Pair, left: int, right: int) -> Ruling:
    if pair.stock_keeps_keys and left > right:
        return "expected difference", "typed PRNG keys are Literals of ours, constvars of stock's"
    return _must_equal(pair, left, right)


def _const_args(pair: Pair, left: int, right: int) -> Ruling:
    unique = pair.right.proof.unique_captured if pair.right.proof else 0
    if left < right:
        return "expected difference", f"stock passes {right} for {counted(unique, 'unique array')}"
    if pair.stock_keeps_keys:
        return "expected difference", "ours passes typed PRNG keys, stock inlines them"
    return "different", "ours passes more const args than stock JAX"


def _inlined(pair: Pair, left: int, right: int) -> Ruling:
    if left < right:
        return "expected difference", "stock JAX inlines an array once per function, or a PRNG key"
    return "different", "ours inlines more than stock JAX in the same mode"


def _captured_values(pair: Pair, left: str, right: str) -> Ruling:
    if pair.left.jaxpr and pair.right.jaxpr:
        counts = pair.left.jaxpr.captured_arrays, pair.right.jaxpr.captured_arrays
        if counts[0] != counts[1]:
            return _captured(pair, *counts) if pair.across_modes else _must_equal(pair, *counts)
    return "different", "the captured arrays do not hold the same bits"


def _main_order(pair: Pair, left: str, right: str) -> Ruling:
    if pair.across_modes or pair.stock_keeps_keys:
        others = [
            [kind for kind in each.split(", ") if kind not in ("", "const")]
            for each in (left, right)
        ]
        if others[0] == others[1]:
            return "expected difference", "one side passes const args where the other does not"
    return "different", "tokens, const args and arguments stand in another order"


def _callbacks(pair: Pair, left: int, right: int) -> Ruling:
    return "different", "an effect was lost or repeated"


def _marks(pair: Pair, left: int, right: int) -> Ruling:
    if pair.left.side == "jax-legacy" or (not left and pair.right.side == "jax-simplified"):
        return "expected difference", "stock JAX does not mark all const args of inner functions"
    return "different", "const args of inner functions are not marked as main's are"


def _placed(pair: Pair, left: object, right: object) -> Ruling:
    if left is None or right is None:
        return "not compared", "not measured"
    jaxprs = [each.jaxpr for each in (pair.left, pair.right) if each.jaxpr]
    if not pair.is_one_side and pair.across_modes and any(each.sharded_arrays for each in jaxprs):
        return "expected difference", "simplified keeps the shardings of arrays, legacy inlines"
    if pair.right.side == "jax-simplified" and any(each.committed_arrays for each in jaxprs):
        return "expected difference", "captured arrays decide placement in stock simplified alone"
    return "different", ""


def _as_is(pair: Pair, left: object, right: object) -> Ruling:
    return "different", ""


def _text(pair: Pair, left: int, right: int) -> Ruling:
    return "not judged", "two lowerings may write one computation in different words"


def varying(pair: Pair, left: int, right: int) -> Ruling:
    """Rule over a counter that differs from run to run."""
    return "not judged", "XLA does not serialize one program to the same bytes twice"


def _buffers(pair: Pair, left: int, right: int) -> Ruling:
    if left < right:
        return "expected difference", "stock JAX takes an array to the device more than once"
    jaxpr = pair.left.jaxpr
    devices = pair.left.executable.devices if pair.left.executable else 1
    once = jaxpr.captured_bytes * devices if jaxpr else 0
    if left <= once:
        return "expected difference", "stock JAX takes some arrays to the device at every call"
    if jaxpr and jaxpr.committed_arrays and left <= 2 * once:
        return "expected difference", "ours keeps what it moved to the device of the arguments"
    return "different", "ours holds more of the captured arrays on the device than stock JAX"


def _recompiles(pair: Pair, left: int, right: int) -> Ruling:
    if left < right:
        return "expected difference", "stock JAX inlines typed PRNG keys, and so their values"
    return "different", "ours compiles for other values, and stock JAX does not"


def _migration(why: str) -> Rule:
    def rule(pair: Pair, left: int, right: int) -> Ruling:
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
COUNTERS: dict[str, tuple[Callable[[Observation], Any], Rule, Rule]] = {
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
    "devices of the executable": (_of("executable", "devices"), _must_equal, _placed),
    "serialized bytes": (_of("executable", "serialized_bytes"), varying, _HOISTED),
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
OUTPUT_PROPERTIES: dict[str, tuple[Callable[[OutputLeaf], object], Rule]] = {
    "output shapes": (lambda leaf: list(leaf.shape), _as_is),
    "output dtypes": (lambda leaf: leaf.dtype, _as_is),
    "output weak types": (lambda leaf: leaf.weak_type, _as_is),
    "output shardings": (lambda leaf: leaf.sharding, _placed),
    "output committed": (lambda leaf: leaf.committed, _placed),
}
