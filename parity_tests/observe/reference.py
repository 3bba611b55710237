"""A program's module evaluated by StableHLO's reference interpreter, on inputs that are stated.

These are the program's own arguments, where it has values of them, and samples: floats are drawn
from the standard normal distribution, integers from those of the same argument, or from 0, 1 and 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from parity_tests.evidence.distances import is_floating
from parity_tests.evidence.values import Value
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jax_internals import const_args, devices_of, kept_arguments
from parity_tests.observe.stages import Lowered
from parity_tests.proof.evaluation import Array, Evaluator, NotEvaluatedError
from reports.rows import is_ours

OWN = "its own arguments"
SAMPLES = 2


@dataclass(frozen=True)
class Given:
    """An input of a program: what it is called, and a value for each of its arguments."""

    name: str
    arrays: tuple[Array, ...]


@jax_defaults()
def inputs_of(lowered: Lowered) -> list[Given]:
    """Return the inputs to evaluate a program on; they are the same in every process.

    A program without arguments has one input. Raises `NotEvaluatedError`.

    Example::

        [each.name for each in inputs_of(lowered)] == ["its own arguments", "sample 1", "sample 2"]
    """
    avals = list(map(_physical, lowered.traced.jaxpr.in_avals))
    leaves = lowered.built.inputs
    if len(leaves) != len(avals):
        raise NotEvaluatedError("its arguments are not those of its jaxpr")
    is_abstract = any(isinstance(each, jax.ShapeDtypeStruct) for each in leaves)
    own = None if is_abstract else Given(OWN, tuple(map(_on_host, leaves, avals)))
    if not avals and own is not None:
        return [own]
    samples = []
    for number in range(1, SAMPLES + 1):
        random = np.random.default_rng(number)
        known = own.arrays if own is not None else (None,) * len(avals)
        drawn = (_drawn(random, *each) for each in zip(avals, known, strict=True))
        samples.append(Given(f"sample {number}", tuple(drawn)))
    return [*([] if own is None else [own]), *samples]


def _physical(aval: Any) -> Any:
    """Return the type that an argument has in a module: typed keys are their key data."""
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(aval.shape, aval.dtype))
    return aval


def _on_host(leaf: Any, aval: Any) -> Array:
    if isinstance(leaf, jax.Array):
        if leaf.is_deleted() or not leaf.is_fully_addressable:
            raise NotEvaluatedError("an argument that cannot be read here")
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
    return np.asarray(leaf, aval.dtype)


def _drawn(random: np.random.Generator, aval: Any, own: Array | None) -> Array:
    shape, dtype = aval.shape, np.dtype(aval.dtype)
    if is_floating(dtype):
        drawn: Array = random.standard_normal(shape)
        if dtype.kind == "c":
            drawn = drawn + 1j * random.standard_normal(shape)
        return drawn.astype(dtype)
    if own is not None and own.size:
        drawn = random.choice(own.reshape(-1), shape)
    else:
        drawn = random.integers(0, 2 if dtype.kind == "b" else 3, shape).astype(dtype)
    return drawn


@jax_defaults()
def evaluator_of(lowered: Lowered) -> Evaluator:
    """Return a program's module, to be evaluated. Raises `NotEvaluatedError`."""
    devices = len(devices_of(lowered.lowered))
    if devices > 1:
        raise NotEvaluatedError(f"it runs on {devices} devices, and the interpreter on one")
    return Evaluator.of(lowered.lowered.compiler_ir())


@jax_defaults()
def results(lowered: Lowered, evaluator: Evaluator, given: Given) -> list[Value]:
    """Evaluate a program on an input, and return its results with their paths.

    The process ends where the interpreter does not have an operation. Raises `NotEvaluatedError`.

    Example::

        results(lowered, evaluator_of(lowered), inputs_of(lowered)[0])[0].array
    """
    found = evaluator.results(list(_operands(lowered, evaluator, given.arrays)))
    paths = [path for path, _ in jax.tree.flatten_with_path(lowered.traced.out_info)[0]]
    if len(paths) != len(found):
        raise NotEvaluatedError("the results of its module are not those of its jaxpr")
    return [
        Value(jax.tree_util.keystr(path), array) for path, array in zip(paths, found, strict=True)
    ]


def _operands(lowered: Lowered, evaluator: Evaluator, arrays: Sequence[Array]) -> Iterator[Array]:
    """Yield what main takes: the captured arrays, and the arguments that the module has kept."""
    made = lowered.lowered
    consts = iter(made.const_args if is_ours(lowered.built.side) else const_args(made))
    kept = iter(kept_arguments(made))
    for marks, type_ in zip(evaluator.marks, evaluator.takes, strict=True):
        if strange := marks & {"jax.token", "jax.global_constant"}:
            raise NotEvaluatedError(f"an argument that is marked {', '.join(sorted(strange))}")
        try:
            yield _constant(next(consts), type_) if "jax.const" in marks else arrays[next(kept)]
        except StopIteration:
            raise NotEvaluatedError("an argument of its module that is not known") from None
    if next(consts, None) is not None or next(kept, None) is not None:
        raise NotEvaluatedError("an argument that its module does not take")


def _constant(value: Any, type_: Any) -> Array:
    is_jax = isinstance(value, jax.Array)
    if is_jax and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.asarray(value).astype(type_.dtype)
