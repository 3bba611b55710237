"""What jaxprs are made of: variables, Literals, avals, references, dead code."""

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

from engine.jax_internals.differences import is_reference_type


def new_var(aval: Any) -> core.Var:
    """A fresh Var of the given aval."""
    return core.Var(aval)


def literal(value: np.ndarray, aval: Any) -> core.Literal:
    """A Literal of an array, as JAX's tracer makes it: of its type whatever the mode of x64 is."""
    return core.Literal(of_its_own_type(value, aval), aval)


def of_its_own_type(value: np.ndarray, aval: Any = None) -> np.ndarray:
    """A view of a NumPy array that JAX takes to be of its dtype whatever the mode of x64 is."""
    return _literals.TypedNdArray(value, aval)


def typeof(value: Any) -> Any:
    """The aval of a constant, without its sharding's mesh being resolved."""
    if type(value) is array.ArrayImpl and type(value.sharding) is jax.sharding.SingleDeviceSharding:
        return value.aval  # what JAX finds as well, by way of a cache of all avals and shardings
    return core.typeof(value)


_PLAIN_ARRAYS = (array.ArrayImpl, np.ndarray)


def nbytes(value: Any) -> int:
    """The bytes of a captured value; 0 of a number of Python, and of what is being traced."""
    if type(value) is array.ArrayImpl:  # nearly all are, and each is asked about several times
        return _nbytes(value.aval)
    return 0 if is_tracer(value) else getattr(value, "nbytes", 0)


@functools.lru_cache(maxsize=4096)
def _nbytes(aval: Any) -> int:
    return aval.size * aval.dtype.itemsize


def is_plain_array(value: Any) -> bool:
    """Whether a value is an array of JAX or NumPy: neither traced nor a reference."""
    return type(value) in _PLAIN_ARRAYS


def is_reference(value: Any) -> bool:
    """Whether a captured value is a mutable array reference: state, and so never a constant."""
    if is_plain_array(value):  # to ask JAX for the type of each takes a tenth of lowering
        return False
    return isinstance(value, core.Ref) or is_reference_type(core.typeof(value))


def is_tracer(value: Any) -> bool:
    """Whether a value is being traced."""
    return isinstance(value, core.Tracer)


# Of params of equations: what JAX interns, or compares by all that it is (jax 0.10.2).
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
    """A function in the place of a rule for derivatives, for a program that is only lowered.

    JAX wraps such rules anew where it removes dead equations, and calls none (jax 0.10.2).
    """

    def rule_of_a_program_that_is_only_lowered(*_: Any, **__: Any) -> Any:
        raise AssertionError("lowering calls no rule for derivatives")

    if not isinstance(rule, _lu.WrappedFun):
        return None if rule is None else rule_of_a_program_that_is_only_lowered
    debug_info = rule.debug_info._replace(result_paths=None)
    return _lu.wrap_init(rule_of_a_program_that_is_only_lowered, debug_info=debug_info)


def is_plain_equation(eqn: core.JaxprEqn) -> bool:
    """Whether an equation is about arrays in the memory of the device that it is computed on.

    Not: references, tokens, shapes that are not numbers, manual axes, host memory, computing on the
    host, metadata for XLA, and inner jits with shardings or layouts of their own.
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
    """Let objects of a class stand in jaxprs as constants whose type is their `aval`."""
    core.pytype_aval_mappings[stand_in] = lambda value: value.aval


def live_part(closed_jaxpr: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """The same program without the equations that nothing depends on; all inputs stay.

    JAX prunes once more while it lowers; this pass comes first so that an array which only dead
    equations use is never hoisted.
    """
    jaxpr = closed_jaxpr.jaxpr
    live, _ = _partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    return core.ClosedJaxpr(live, closed_jaxpr.consts)


def prunes_operands(primitive: core.Primitive) -> bool:
    """Whether JAX's pass over dead code has a rule of its own for the equations of a primitive."""
    return primitive in _partial_eval.dce_rules


def argument_names(closed_jaxpr: core.ClosedJaxpr) -> Sequence[str]:
    """The names of the arguments of a program, for messages."""
    return closed_jaxpr.jaxpr.debug_info.safe_arg_names(len(closed_jaxpr.in_avals))
