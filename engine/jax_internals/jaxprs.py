"""Parts of jaxprs: variables, Literals, avals, references, dead code."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.experimental.layout
import numpy as np
from jax._src import array, core, dtypes, pjit
from jax._src import linear_util as _lu
from jax._src import literals as _literals
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.random import prng as _prng
from jax._src.sharding_impls import UNSPECIFIED

from engine.jax_internals.bodies import closed_over, open_part
from engine.jax_internals.differences import ClosedJaxpr, is_reference_type


def new_var(aval: Any) -> core.Var:
    """Make a fresh Var of the given aval."""
    return core.Var(aval)


def literal(value: np.ndarray, aval: Any) -> core.Literal:
    """Make a Literal of an array as JAX's tracer does: it keeps its dtype with and without x64."""
    return core.Literal(of_its_own_type(value, aval), aval)


def of_its_own_type(value: np.ndarray, aval: Any = None) -> np.ndarray:
    """Return a view of a NumPy array whose dtype JAX keeps, with and without x64."""
    return _literals.TypedNdArray(value, aval)


def keep_aval(copy: np.ndarray, value: np.ndarray) -> None:
    """Give a copy of an array the aval that JAX put on the array, where it did: NumPy drops it.

    The aval has the mesh of a sharded array that the array was made after, as JAX's zeros are.
    """
    if isinstance(value, _literals.TypedNdArray):
        copy._aval = value._aval  # type: ignore[attr-defined]


def typeof(value: Any) -> Any:
    """Return the aval of a constant; the mesh of its sharding is not resolved."""
    if type(value) is array.ArrayImpl and type(value.sharding) is jax.sharding.SingleDeviceSharding:
        return value.aval  # the answer of `core.typeof`, without its look-up in a cache
    return core.typeof(value)


_PLAIN_ARRAYS = frozenset({array.ArrayImpl, np.ndarray})


def nbytes(value: Any) -> int:
    """Return the size of a captured value in bytes; 0 for Python numbers and for tracers."""
    if type(value) is array.ArrayImpl:  # nearly always; called several times for each value
        return _nbytes(value.aval)
    return 0 if is_tracer(value) else getattr(value, "nbytes", 0)


@functools.lru_cache(maxsize=4096)
def _nbytes(aval: Any) -> int:
    nbytes: int = aval.size * aval.dtype.itemsize
    return nbytes


def is_plain_array(value: Any) -> bool:
    """Say whether a value is an array of JAX or NumPy: neither traced nor a reference."""
    return type(value) in _PLAIN_ARRAYS


def are_plain_arrays(values: Sequence[Any]) -> bool:
    """Say whether all values are arrays of JAX or NumPy."""
    return _PLAIN_ARRAYS.issuperset(map(type, values))


def is_reference(value: Any) -> bool:
    """Say whether a captured value is a mutable array reference: state, and so never a constant."""
    if is_plain_array(value):  # `core.typeof` for each value takes a tenth of lowering
        return False
    return isinstance(value, core.Ref) or is_reference_type(core.typeof(value))


def is_tracer(value: Any) -> bool:
    """Say whether a value is being traced."""
    return isinstance(value, core.Tracer)


# Types of params of equations that JAX interns, or compares by their whole value (jax 0.10.2).
COMPARED_BY_EQUALITY = (
    type(UNSPECIFIED),
    jax.sharding.Mesh,
    jax.sharding.AbstractMesh,
    jax.sharding.PartitionSpec,
    jax.sharding.NamedSharding,
    jax.sharding.SingleDeviceSharding,
    jax.experimental.layout.Layout,
    core.ShapedArray,
    dtypes.ExtendedDType,
    _prng.PRNGImpl,
)


def stand_in_for(rule: Any) -> Any:
    """Make a function to replace a rule for derivatives in a program that is only lowered.

    JAX wraps such rules when it removes dead equations, but never calls them (jax 0.10.2).
    """

    def rule_of_a_program_that_is_only_lowered(*_: Any, **__: Any) -> Any:
        raise AssertionError("lowering calls no rule for derivatives")

    if not isinstance(rule, _lu.WrappedFun):
        return None if rule is None else rule_of_a_program_that_is_only_lowered
    debug_info = rule.debug_info._replace(result_paths=None)
    return _lu.wrap_init(rule_of_a_program_that_is_only_lowered, debug_info=debug_info)


def is_plain_equation(eqn: core.JaxprEqn) -> bool:
    """Say whether an equation only takes and returns arrays in the memory of its own device.

    False with references, tokens, dimension variables in shapes, manual axes, host memory,
    computing on the host, metadata for XLA, and for inner jits with shardings or layouts.
    """
    if eqn.ctx.compute_type is not None or eqn.ctx.xla_metadata:
        return False
    if eqn.primitive is pjit.jit_p:
        constrained = [
            *eqn.params["in_shardings"], *eqn.params["out_shardings"],
            *eqn.params["in_layouts"], *eqn.params["out_layouts"],
        ]  # fmt: skip
        if any(c is not None and c is not UNSPECIFIED for c in constrained):
            return False
    return all(_is_plain_aval(atom.aval) for atom in (*eqn.invars, *eqn.outvars))


def _is_plain_aval(aval: Any) -> bool:
    return (
        type(aval) is core.ShapedArray
        and all(isinstance(size, int) for size in aval.shape)
        and aval.memory_space == core.MemorySpace.Device
        and aval.manual_axis_type == core.empty_mat
    )


def give_type_to(stand_in: type) -> None:
    """Let objects of a class be constants of jaxprs; their `aval` is their type."""
    core.pytype_aval_mappings[stand_in] = lambda value: value.aval


def live_part(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return the same program without dead equations; all inputs stay.

    JAX prunes again while it lowers. This pass comes first, so that an array which only dead
    equations use is never hoisted.
    """
    jaxpr = open_part(closed_jaxpr)
    names = jaxpr.debug_info.arg_names
    if names is not None and len(names) != len(jaxpr.invars):
        # The body of a `custom_jvp` that was called with static arguments by keyword names these,
        # too, and JAX's pass asserts that it does not (0.10.2 to 0.12.0.1).
        jaxpr = jaxpr.replace(debug_info=jaxpr.debug_info._replace(arg_names=None))
    live, _ = _partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    return closed_over(live, closed_jaxpr.consts)


def prunes_operands(primitive: core.Primitive) -> bool:
    """Say whether JAX's dead code elimination has a rule for a primitive."""
    return primitive in _partial_eval.dce_rules


def argument_names(closed_jaxpr: ClosedJaxpr) -> list[str]:
    """Return the names of the arguments of a program, for messages."""
    return list(closed_jaxpr.debug_info.safe_arg_names(len(closed_jaxpr.in_avals)))
