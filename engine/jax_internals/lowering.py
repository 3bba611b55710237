"""Lowering a jit program whose leading inputs are const args."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._src import array, config, core, pjit
from jax._src.interpreters import pxla
from jax._src.sharding_impls import UNSPECIFIED

from engine.jax_internals.const_marks import mark_const_args
from engine.jax_internals.names import LoweringParameters
from engine.jax_internals.placement import devices_of
from engine.jax_internals.settings import simplified_jaxprs


class Hoisted(NamedTuple):
    """Const args that lead the inputs of a program, and whether JAX is to hoist what is left.

    `simplified` is the form of the program: JAX traces anew while it lowers (to discharge mutable
    references), and its rules expect bodies without constvars in the form that has none.
    """

    const_args: tuple[Any, ...]
    simplified: bool
    jax_hoists_the_rest: bool
    max_bytes: int
    follow_arguments: bool  # whether a const arg on other devices goes where the arguments are


class Computation(pxla.MeshComputation):
    """What JAX lowered, with the const args of one closure.

    JAX lowers a program once, so closures of one program may share `lowered`, and what is compiled
    of it: no value of a const arg of theirs is in there.
    """

    def __init__(self, lowered: pxla.MeshComputation, const_args: Sequence[Any]) -> None:
        vars(self).update(vars(lowered))
        self.lowered = lowered
        self.const_args = list(const_args)


# Those of a plain lowering, by whether JAX hoists what is left.
_LOWERING_PARAMETERS = {
    hoists: LoweringParameters(hoist_constants_as_args=hoists) for hoists in (False, True)
}


_finished: weakref.WeakSet[pxla.MeshComputation] = weakref.WeakSet()


_finishing = threading.RLock()  # collecting garbage may run code of the user, which calls programs


def lower(
    types: Sequence[Any],
    params: dict,
    hoisted: Hoisted,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    lowering_parameters: LoweringParameters | None = None,
) -> Computation:
    """Lower a jit program whose leading inputs are `hoisted.const_args`.

    The returned computation carries all const args in `const_args`, those that JAX hoisted first.
    """
    if lowering_parameters is None:
        lowering_parameters = _LOWERING_PARAMETERS[hoisted.jax_hoists_the_rest]
    elif lowering_parameters.hoist_constants_as_args != hoisted.jax_hoists_the_rest:
        lowering_parameters = dataclasses.replace(
            lowering_parameters, hoist_constants_as_args=hoisted.jax_hoists_the_rest
        )
    with (
        simplified_jaxprs(hoisted.simplified),
        config.embedded_constants_max_bytes(hoisted.max_bytes),
        config.captured_constants_warn_bytes(-1),  # captured_constants.py warns, in both modes
    ):
        lowered = pjit._resolve_and_lower(
            [*_const_types(hoisted, types, params), *types],
            # A plain name: JAX keeps it as long as a program that is kept for others to come.
            **params | {"name": str(params["name"])},
            lowering_platforms=lowering_platforms,
            lowering_parameters=lowering_parameters,
            pgle_profiler=None,
        )
    if hoisted.const_args:
        with _finishing:  # JAX caches what it lowered: it may be another thread's
            if lowered not in _finished:
                _finish(lowered, len(hoisted.const_args))
                _finished.add(lowered)
    return Computation(lowered, [*lowered.const_args, *hoisted.const_args])


def _finish(lowered: pxla.MeshComputation, num_const_args: int) -> None:
    """Mark those of so many const args that JAX kept; those that it hoisted itself come first."""
    kept = lowered.compile_args["kept_var_idx"]
    first = len(lowered.const_args)
    end = first + num_const_args
    up_to_end = len(kept.intersection(range(end)))
    references = lowered.compile_args["mut"]  # those that are captured come last
    after = len(kept) - up_to_end + len(references.in_mut if references else ())
    count = up_to_end - len(kept.intersection(range(first)))
    mark_const_args(lowered.stablehlo(), count, after)


def _const_types(hoisted: Hoisted, types: Sequence[Any], params: dict) -> list:
    """The types of const args; one that lies on other devices than the program runs on follows."""
    const_types = list(map(_const_type, hoisted.const_args))
    if not hoisted.follow_arguments or all(t.sharding is None for t in const_types):
        return const_types
    devices, is_decided = devices_of(types, params, len(const_types))
    if devices is None or not is_decided:
        return const_types
    return [
        t
        if t.sharding is None or t.sharding._device_assignment == devices
        else t.replace(sharding=None, format=None, committed=False)
        for t in const_types
    ]


def _const_type(value: Any) -> Any:
    if type(value) is array.ArrayImpl and not value._committed and value.sharding.num_devices == 1:
        # Its sharding and layout decide nothing (jax 0.10.2), and to ask takes a tenth of lowering.
        return pjit.create_meta_ty(value.aval, None, None, False, False)
    return pjit.convert_to_metaty(value)


def const_operands(params: dict, count: int) -> dict:
    """The params of jit with `count` unconstrained operands put before the others."""
    return dict(
        params,
        in_shardings=(UNSPECIFIED,) * count + tuple(params["in_shardings"]),
        in_layouts=(None,) * count + tuple(params["in_layouts"]),
        donated_invars=(False,) * count + tuple(params["donated_invars"]),
    )


def without_arguments(params: dict, closed_jaxpr: core.ClosedJaxpr, name: str) -> dict:
    """The params of jit for a program that only returns, beside the program of `params`."""
    none: dict[str, tuple] = {"in_shardings": (), "in_layouts": (), "donated_invars": ()}
    count = len(closed_jaxpr.jaxpr.outvars)
    return params | none | {
        "jaxpr": closed_jaxpr,
        "name": name,
        "out_shardings": (UNSPECIFIED,) * count,
        "out_layouts": (None,) * count,
    }  # fmt: skip
