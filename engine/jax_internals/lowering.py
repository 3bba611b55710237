"""Lowering a jit program whose leading inputs are const args.

To JAX the engine's const args are plain arguments; the returned `Computation` carries their values.
"""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from jax._src import array, config, pjit
from jax._src.interpreters import pxla
from jax._src.sharding_impls import UNSPECIFIED
from jax.experimental.layout import Layout

from engine.jax_internals.const_marks import mark_const_args
from engine.jax_internals.differences import ClosedJaxpr
from engine.jax_internals.literals import form_of_jaxprs
from engine.jax_internals.names import LoweringParameters
from engine.jax_internals.placement import devices_of
from engine.jax_internals.settings import held, jax_flag_in_lowering


class Hoisted(NamedTuple):
    """The const args of a program to lower, and how JAX is to treat its constants.

    - `simplified`: the form of the program. JAX traces while it lowers, to discharge mutable
      references, and must trace in the same form.
    - `says_hoisted`: `hoist_constants_as_args` of the parameters that lowering rules read. With it
      JAX hoists the constants that are left in the program.
    - `leaves_arrays`: whether Literals of arrays may be left in the program, or arise in lowering.
    - `embed_threshold`: in bytes, as in the program's plan.
    - `follow_arguments`: whether a const arg on other devices goes to the arguments' devices.
    """

    const_args: tuple[Any, ...]
    simplified: bool
    says_hoisted: bool
    leaves_arrays: bool
    embed_threshold: int
    follow_arguments: bool


class Computation(pxla.MeshComputation):
    """JAX's lowered program, with the const args of one closure.

    `lowered` contains no value of a const arg, so closures of one program share it and its
    executable.
    """

    def __init__(self, lowered: pxla.MeshComputation, const_args: Sequence[Any]) -> None:
        vars(self).update(vars(lowered))
        self.lowered = lowered
        self.const_args = list(const_args)


# The parameters of a plain lowering, by `says_hoisted`.
_LOWERING_PARAMETERS = {
    hoists: LoweringParameters(hoist_constants_as_args=hoists) for hoists in (False, True)
}

_marked: weakref.WeakSet[pxla.MeshComputation] = weakref.WeakSet()
_marking = threading.RLock()  # reentrant: a finalizer of the user's may call programs


def lower(
    types: Sequence[Any],
    params: dict[str, Any],
    hoisted: Hoisted,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    lowering_parameters: LoweringParameters | None = None,
) -> Computation:
    """Lower a jit program whose leading inputs are `hoisted.const_args`.

    The `const_args` of the returned computation begin with those that JAX hoisted.
    """
    if lowering_parameters is None:
        lowering_parameters = _LOWERING_PARAMETERS[hoisted.says_hoisted]
    elif lowering_parameters.hoist_constants_as_args != hoisted.says_hoisted:
        lowering_parameters = dataclasses.replace(
            lowering_parameters, hoist_constants_as_args=hoisted.says_hoisted
        )
    with held(
        form_of_jaxprs(hoisted.simplified),
        (config.embedded_constants_max_bytes, hoisted.embed_threshold),
        (config.captured_constants_warn_bytes, -1),  # captured_constants.py warns
        *jax_flag_in_lowering(hoisted.leaves_arrays),
    ):
        lowered = pjit._resolve_and_lower(
            [*_const_types(hoisted, types, params), *types],
            # Plain str: JAX caches the name, and a ProgramName would keep the user's policy alive.
            **params | {"name": str(params["name"])},
            lowering_platforms=lowering_platforms,
            lowering_parameters=lowering_parameters,
            pgle_profiler=None,
        )
    if hoisted.const_args or lowered.const_args:
        with _marking:  # another thread may get the same lowering from JAX's cache
            if lowered not in _marked:
                _mark_kept(lowered, len(hoisted.const_args))
                _marked.add(lowered)
    return Computation(lowered, [*lowered.const_args, *hoisted.const_args])


def _mark_kept(lowered: pxla.MeshComputation, num_const_args: int) -> None:
    """Mark the const args that JAX kept as inputs; those that it hoisted itself come before."""
    kept = lowered.compile_args["kept_var_idx"]
    first = len(lowered.const_args)
    end = first + num_const_args
    kept_up_to_end = len(kept.intersection(range(end)))
    count = kept_up_to_end - len(kept.intersection(range(first)))
    references = lowered.compile_args["mut"]  # captured references come last
    after = len(kept) - kept_up_to_end + len(references.in_mut if references else ())
    mark_const_args(lowered.stablehlo(), count, after)


def _const_types(hoisted: Hoisted, types: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Return the types of const args, without placement where one follows arguments elsewhere."""
    if not hoisted.const_args:
        return []
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
        # Sharding and layout have no effect here (jax 0.10.2); reading them is a tenth of lowering.
        return pjit.create_meta_ty(value.aval, None, None, False, False)
    return pjit.convert_to_metaty(value)


def const_operands(params: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the params of jit with `count` unconstrained operands before the others."""
    if not count:
        return params
    return dict(
        params,
        in_shardings=(UNSPECIFIED,) * count + tuple(params["in_shardings"]),
        in_layouts=(None,) * count + tuple(params["in_layouts"]),
        donated_invars=(False,) * count + tuple(params["donated_invars"]),
    )


def options_of(params: dict[str, Any]) -> tuple[str, ...]:
    """Return which options a jit equation was given, but for donation, inlining and its name.

    Example::

        options_of(params) == ("out_shardings",)
    """
    places = ("in_shardings", "out_shardings", "in_layouts", "out_layouts")
    given = [
        each for each in places if any(not (v is None or v is UNSPECIFIED) for v in params[each])
    ]
    others = {"compiler_options": "compiler_options_kvs", "keep_unused": "keep_unused"}
    return (*given, *(name for name, param in others.items() if params[param]))


def stated_shardings(params: dict[str, Any]) -> list[Any]:
    """Return the sharding that a jit equation states for each operand, or None."""
    return [None if each is UNSPECIFIED else each for each in params["in_shardings"]]


def with_layouts_of_arguments(params: dict[str, Any]) -> dict[str, Any]:
    """Return the params of jit for a call; a stage may leave layouts of arguments to the compiler.

    `jax.jit` refuses that where it is called: its arguments have layouts.
    """
    layouts = (None if each is Layout.AUTO else each for each in params["in_layouts"])
    return params | {"in_layouts": tuple(layouts)}


def without_arguments(
    params: dict[str, Any], closed_jaxpr: ClosedJaxpr, name: str
) -> dict[str, Any]:
    """Return the params of jit for a program without arguments; the rest is as in `params`."""
    num_results = len(closed_jaxpr.outvars)
    return params | {
        "jaxpr": closed_jaxpr,
        "name": name,
        "in_shardings": (),
        "in_layouts": (),
        "donated_invars": (),
        "out_shardings": (UNSPECIFIED,) * num_results,
        "out_layouts": (None,) * num_results,
    }
