"""The stages of a program: Traced, Lowered, Compiled.

They are subclasses of JAX's stages (`jax.stages`), which count const args as arguments. Here
`const_args` lists the const args, and `args_info`, `in_avals`, `input_shardings` and
`input_formats` describe the user's arguments alone. Each metric of a program is read off the stage
that it belongs to.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, cast

import jax

from engine import jax_internals
from engine.configuration.parsing import Side
from engine.ir.lifting import lift
from engine.pipeline import Pipeline
from engine.runtime import watching
from engine.runtime.device_pool import place
from engine.runtime.executable_cache import compile_shared
from engine.runtime.lowering import lower_traced, plan_of
from engine.runtime.watching import Execution
from engine.tracing import tracing_for

# Describes an execution to the watcher; takes operands, the params of jit and compiler options.
ExecutionOf: TypeAlias = Callable[..., Execution]


class Traced(jax.stages.Traced):
    """A function traced for given argument types, ready to be lowered.

    - `jaxpr`: the program as a ClosedJaxpr, in the form of its side.
    - `consts`: the captured values that are constvars of `jaxpr`. The simplified form has them only
      for values that cannot be Literals.
    - `out_info`: a tree of `jax.ShapeDtypeStruct`, the shapes and dtypes of the results.
    - `side`: `"legacy"` or `"simplified"`.

    Example::

        traced = engine.jit(f, constants="simplified").trace(x)
        print(traced.jaxpr)

    Source: `jax.stages.Traced`; JAX's note "Handling of closed-over constants".
    """

    __slots__ = ("_execution_of", "_pipeline", "_with_constvars")

    def __init__(
        self,
        pipeline: Pipeline,
        types: list[Any],
        program: jax_internals.PjitParams,
        source_info: str | None,
        execution_of: ExecutionOf,
    ) -> None:
        super().__init__(
            *(types, program.params, program.in_tree, program.out_tree, program.consts),
            *jax_internals.traced_fields(source_info),
        )
        self._pipeline = pipeline
        self._execution_of = execution_of
        self._with_constvars: Traced | None = None

    if hasattr(jax.stages.Traced, "closure_convert"):  # since jax 0.11.1

        def closure_convert(self) -> tuple[list[Any], Callable[..., Any]]:
            """Return the captured values, and a function that takes them as its first argument.

            JAX returns constvars alone, and so no array of a program in the simplified form.
            """
            if self._with_constvars is None:
                jaxpr = lift(self.jaxpr)
                changed = jaxpr is not self.jaxpr
                self._with_constvars = jax_internals.with_jaxpr(self, jaxpr) if changed else self
            convert: Any = jax.stages.Traced.closure_convert  # type: ignore[attr-defined]
            return cast("tuple[list[Any], Callable[..., Any]]", convert(self._with_constvars))

    @property
    def side(self) -> Side:
        """The side whose form `jaxpr` has, and whose lowering `lower` does."""
        return self._pipeline.side

    @property
    def consts(self) -> list[Any]:
        """The values of the constvars of `jaxpr`."""
        return list(self.jaxpr.consts)

    @property
    def lojax(self) -> Any:
        """JAX's stage that is lowered: the program without primitives that have rules in Python.

        JAX expands such primitives when it is first asked for this stage, and so traces functions
        of the user: they take the form of the program's side.
        """
        if not self.jaxpr.is_high:  # nothing to expand, and entering the contexts takes time
            return super().lojax
        with tracing_for(self._pipeline, self.side):
            return super().lojax

    def lower(
        self,
        *,
        lowering_platforms: tuple[str, ...] | None = None,
        hoist_constants_as_args: bool | None = None,
        _private_parameters: jax_internals.LoweringParameters | None = None,
    ) -> Lowered:
        """Lower to StableHLO.

        `lowering_platforms` are names as in `jax.jit(f).trace(...).lower(...)`.
        `hoist_constants_as_args=False` inlines all constants. By default the simplified pipeline
        hoists them, except when `jax.export` lowers the program. The legacy pipeline never hoists.

        Raises ValueError for incompatible devices, as `jax.jit` does.
        """
        lojax = self.lojax
        params = jax_internals.params_of(lojax)
        lowering_platforms = lowering_platforms or jax_internals.platforms_of_context(params)
        for_export = _private_parameters is not None and _private_parameters.for_export
        if hoist_constants_as_args is None:
            hoist_constants_as_args = not for_export
        plan = plan_of(
            self._pipeline,
            params["jaxpr"],
            jax_internals.params_of(self)["name"].choices,
            hoist=hoist_constants_as_args,
        )
        computation = lower_traced(
            self._pipeline,
            plan,
            lojax,
            lowering_platforms=lowering_platforms,
            lowering_parameters=_private_parameters,
        )
        in_types, out_types = jax_internals.types_beside(lojax)
        lowered = Lowered(
            computation,
            lojax.args_info,
            lojax.out_tree,
            in_types=in_types,
            out_types=out_types,
        )
        if not for_export and watching.watcher() is not None:
            # Not else: it holds the captured arrays, which a program in legacy form has inlined.
            lowered._execution_of = functools.partial(self._execution_of, params=params)
        return lowered


class Lowered(jax.stages.Lowered):
    """A lowered program: StableHLO, and the const args that its main function takes first.

    `as_text()`, `compiler_ir()`, `cost_analysis()` and `compile()` work as in `jax.stages`.

    Example::

        lowered = engine.jit(f, constants="simplified").lower(x)
        [table] = lowered.const_args

    Source: `jax.stages.Lowered`; JAX's note "Handling of closed-over constants", section
    "Compilation and execution".
    """

    __slots__ = ("_execution_of",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._execution_of: Callable[..., Execution] | None = None

    @property
    def const_args(self) -> list[Any]:
        """The constants that come first among the arguments of main, each array once."""
        return list(jax_internals.lowering_of(self).const_args)

    @property
    def num_const_args(self) -> int:
        """The number of const args of main."""
        return len(jax_internals.lowering_of(self).const_args)

    @property
    def in_avals(self) -> Any:
        """The avals of the user's arguments, as a tree."""
        return jax_internals.types_of_arguments(self)

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        device_assignment: tuple[jax.Device, ...] | None = None,
    ) -> Compiled:
        """Compile for the devices that the lowering was made for, or for `device_assignment`."""
        computation = jax_internals.lowering_of(self)
        executable = compile_shared(
            computation, compiler_options=compiler_options, device_assignment=device_assignment
        )
        in_types, out_types = jax_internals.types_beside(self)
        compiled = Compiled(
            executable,
            computation.const_args,
            self.args_info,
            self.out_tree,
            in_types=in_types,
            out_types=out_types,
        )
        if device_assignment is None and self._execution_of is not None:
            compiled._execution_of = functools.partial(
                self._execution_of, compiler_options=compiler_options or {}
            )
        return compiled


class Compiled(jax.stages.Compiled):
    """A compiled program; call it with the user's arguments.

    `as_text()`, `memory_analysis()` (bytes), `cost_analysis()`, `in_avals`, `args_info`,
    `input_shardings` and `output_shardings` work as in `jax.stages`.

    A call raises TypeError or ValueError, as JAX does, where the types, shapes or shardings of the
    arguments are not those compiled for.

    Example::

        compiled = engine.jit(f).lower(x).compile()
        y = compiled(x)

    Source: `jax.stages.Compiled`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self._call  # so the first call finds the method below
        self._execution_of: Callable[..., Execution] | None = None

    # `attrgetter` runs in C and finds the callable that the first call stored in this object. A
    # method `__call__`, as in JAX, would run Python at every call.
    __call__ = property(operator.attrgetter("_call"))
    __signature__ = inspect.signature(lambda *args, **kwargs: None)

    def _call(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Put the const args on the devices, store the callable for all later calls, and call it.

        Other executables of the process share the placed const args. The stored callable holds no
        reference to this object: a cycle would keep the captured arrays until garbage collection.
        """
        captured = self.const_args
        executable = jax_internals.call_params(self).executable
        on_devices = place(executable, captured) if captured else captured
        passed = list(map(jax_internals.with_buffer, captured, on_devices))
        params = jax_internals.replace_const_args(self, passed)

        def call_in_python(*args: Any, **kwargs: Any) -> Any:
            results, _, _ = jax.stages.Compiled.call(params, *args, **kwargs)
            return results

        # Stock JAX has no keys among its const args, and jaxlib takes none (jax 0.10.2).
        has_keys = any(one is not other for one, other in zip(passed, on_devices, strict=True))
        in_c = None if has_keys else executable.create_cpp_call(params)
        call = in_c or call_in_python
        if self._execution_of is not None and watching.watcher() is not None:
            call = _watched(call, self._execution_of, self.in_tree, self.out_tree)
        self._call = call  # type: ignore[method-assign]
        return self._call(*args, **kwargs)

    @property
    def const_args(self) -> list[Any]:
        """The constants that a call passes before the user's arguments, each array once."""
        return list(jax_internals.call_params(self).const_args)


def _watched(
    call: Callable[..., Any], execution_of: Callable[..., Execution], in_tree: Any, out_tree: Any
) -> Callable[..., Any]:
    """Return a call of a compiled program that asks the watcher, as calls of `engine.jit` do."""

    def watched(*args: Any, **kwargs: Any) -> Any:
        watcher = watching.watcher()
        operands, tree = jax.tree.flatten((args, kwargs))
        if watcher is None or tree != in_tree:
            return call(*args, **kwargs)  # of another tree: JAX raises its own error
        execution = execution_of(operands)
        own = replace(execution, run=lambda: jax.tree.leaves(call(*args, **kwargs)), is_stage=True)
        return jax.tree.unflatten(out_tree, watcher(own))

    return watched
