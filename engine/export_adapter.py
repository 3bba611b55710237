"""The object that `jax.export.export` sees in place of an engine function.

JAX exports every object that traces and lowers like a jitted function. So JAX keeps all checks,
wrappers and fields of an export, and this adapter decides only what the constants become.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from engine import jax_internals
from engine.artifacts.hoisted_export import HeldConstant, HoistedExport, Inputs
from engine.configuration.settings import embedded_constants_max_bytes
from engine.ir.jaxprs import ClosedJaxpr, constant_key, values_in
from engine.runtime.lowering import lower_traced
from engine.stages import Lowered, Traced


class ExportAdapter(jax.stages.Wrapped):
    """A jitted function as `jax.export.export` sees it; keeps its traced stage and its constants.

    With `hoist_constants` the lowered program takes the constants as leading inputs, and the tree
    of its arguments begins with them.
    """

    def __init__(self, jitted: Any, hoist_constants: bool) -> None:
        self.__wrapped__ = jitted
        self.__name__ = getattr(jitted, "__name__", str(jitted))
        self._jitted = jitted
        self._hoist_constants = hoist_constants
        self.traced: Traced
        self.constants: tuple[HeldConstant, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self._jitted(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function; `jax.export.export` calls this first."""
        self.traced = self._jitted.trace(*args, **kwargs)
        if not isinstance(self.traced, Traced):
            raise ValueError(
                "the function to be exported must be the result of engine.jit, or jax.export "
                f"exports it: {self._jitted}"
            )
        if any(map(jax_internals.is_reference, values_in(self.traced.jaxpr))):
            raise NotImplementedError(
                f"`{self.fun_name}` captures a mutable reference (jax.new_ref), and an export "
                "cannot contain its state; pass the array that it holds as an argument"
            )
        return self if self._hoist_constants else self.traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program as traced."""
        closed_jaxpr: ClosedJaxpr = self.traced.jaxpr
        return closed_jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return str(self.traced.fun_name)

    def lower(
        self,
        *,
        lowering_platforms: tuple[str, ...],
        _private_parameters: jax_internals.LoweringParameters,
    ) -> Lowered:
        """Lower with the constants as inputs; `jax.export.export` calls this second.

        Raises ValueError for incompatible devices, as a call does.
        """
        traced, lojax = self.traced, self.traced.lojax
        params = jax_internals.params_of(lojax)
        plan = traced._pipeline.hoist_for_export(
            params["jaxpr"], embedded_constants_max_bytes.value, params["name"].choices
        )
        computation = lower_traced(
            traced._pipeline,
            plan,
            lojax,
            lowering_platforms=lowering_platforms,
            lowering_parameters=_private_parameters,
        )
        operands = list(computation.const_args)
        hoisted_by_jax = operands[: len(operands) - plan.num_const_args]
        self.constants = tuple(
            HeldConstant(constant_key(value), value, operand)
            for value, operand in zip([*hoisted_by_jax, *plan.const_args], operands, strict=True)
        )
        infos = [jax_internals.argument_info(jax_internals.typeof(c)) for c in operands]
        args, kwargs = lojax.args_info
        return Lowered(computation, (Inputs(infos, args), kwargs), lojax.out_tree)


def derivative(
    closed_jaxpr: ClosedJaxpr, exported: jax.export.Exported | HoistedExport
) -> tuple[Callable[..., Any], dict[str, Any], list[Any]]:
    """Return an exported program's reverse derivative: a flat function, its jit options and avals.

    The function takes the arguments and the cotangents of the results, and returns the cotangents
    of the arguments.
    """
    fun = jaxpr_as_fun(closed_jaxpr)
    num_args = len(exported.in_avals)

    # JAX's own names, which the export shows: as `fun_name`, and in its module.
    def fun_vjp_jax(*args_and_out_cts_flat_jax: Any) -> Any:
        _, pullback = jax.vjp(fun, *args_and_out_cts_flat_jax[:num_args])
        return pullback(list(args_and_out_cts_flat_jax[num_args:]))

    program = exported.program if isinstance(exported, HoistedExport) else exported
    ins, outs = jax_internals.exported_shardings(program)
    ins = tuple(ins[len(ins) - num_args :])  # without the constants, which come first
    options = {"in_shardings": (*ins, *outs), "out_shardings": ins}
    avals = [*exported.in_avals, *map(jax_internals.tangent_aval, exported.out_avals)]
    return fun_vjp_jax, options, avals
