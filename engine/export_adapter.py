"""How a traced function becomes an export: JAX exports it, we say what its constants become.

`jax.export.export` takes whatever traces and lowers as a jitted function does. What it is given
here is such an object around a function of the engine, so every check, wrapper and field of an
export stays JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from engine import jax_internals
from engine.artifacts.hoisted_export import HeldConstant, HoistedExport, Inputs
from engine.configuration.settings import embedded_constants_max_bytes
from engine.ir.jaxprs import ClosedJaxpr, constant_key
from engine.runtime.lowering import lower_traced
from engine.stages import Lowered, Traced


class Exporting(jax.stages.Wrapped):
    """A jitted function as `jax.export.export` sees it; it remembers what was traced.

    With `hoist_constants` the lowered program has the constants as leading inputs, and the tree of
    its arguments begins with them.
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
        """What `jax.export.export` calls first."""
        self.traced = self._jitted.trace(*args, **kwargs)
        if not isinstance(self.traced, Traced):
            raise ValueError(
                "the function to be exported must be the result of engine.jit, or jax.export "
                f"exports it: {self._jitted}"
            )
        return self if self._hoist_constants else self.traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program as traced."""
        return self.traced.jaxpr

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self.traced.fun_name

    def lower(self, **options: Any) -> Lowered:
        """What `jax.export.export` calls second: lower with the constants as inputs.

        Raises ValueError for devices that do not go together, as a call does.
        """
        traced, lo = self.traced, self.traced.lojax
        plan = traced._pipeline.hoist_for_export(
            lo._params["jaxpr"], embedded_constants_max_bytes.value, lo._params["name"].choices
        )
        computation = lower_traced(
            traced._pipeline,
            plan,
            lo,
            lowering_platforms=options["lowering_platforms"],
            lowering_parameters=options["_private_parameters"],
        )
        operands = list(computation.const_args)
        hoisted_by_jax = operands[: len(operands) - plan.num_const_args]
        self.constants = tuple(
            HeldConstant(constant_key(value), value, operand)
            for value, operand in zip([*hoisted_by_jax, *plan.const_args], operands, strict=True)
        )
        infos = [jax_internals.argument_info(jax_internals.typeof(c)) for c in operands]
        args, kwargs = lo.args_info
        return Lowered(computation, (Inputs(infos, args), kwargs), lo.out_tree)


def derivative(
    closed_jaxpr: ClosedJaxpr, exported: jax.export.Exported | HoistedExport
) -> tuple[Callable[..., Any], dict[str, Any], list[Any]]:
    """The reverse derivative of an exported program: a flat function, its jit options and avals.

    It takes the arguments and the cotangents of the results, and returns the cotangents of the
    arguments.
    """
    fun = jaxpr_as_fun(closed_jaxpr)
    n = len(exported.in_avals)

    def fun_vjp(*args_and_cotangents: Any) -> Any:
        _, pullback = jax.vjp(fun, *args_and_cotangents[:n])
        return pullback(list(args_and_cotangents[n:]))

    program = exported.program if isinstance(exported, HoistedExport) else exported
    ins, outs = jax_internals.exported_shardings(program)
    ins = tuple(ins[len(ins) - n :])
    options = {"in_shardings": (*ins, *outs), "out_shardings": ins}
    return (
        fun_vjp,
        options,
        [*exported.in_avals, *map(jax_internals.tangent_aval, exported.out_avals)],
    )
