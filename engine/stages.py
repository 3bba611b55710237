"""The stages of a program: Traced, Lowered, Compiled.

They are JAX's stages (`jax.stages`) with const args that are counted once: an object of these
classes is accepted wherever one of JAX's is. Each metric of a program is read off the stage that it
belongs to. The arguments that a stage describes (`args_info`, `in_avals`, `input_shardings`,
`input_formats`) are those of the user; the const args are in `const_args` and nowhere else.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.parsing import Side
from engine.pipeline import Pipeline
from engine.runtime.device_pool import place
from engine.runtime.executable_cache import compile_shared
from engine.runtime.lowering import lower_traced, plan_of


class Traced(jax.stages.Traced):
    """A function traced for given argument types; ready to be lowered.

    - `jaxpr`: the program as a ClosedJaxpr, in the form of its side.
    - `consts`: the captured values that are constvars of that jaxpr (none in the simplified form,
      apart from values that cannot be Literals).
    - `out_info`: a tree of `jax.ShapeDtypeStruct`, the shapes and dtypes of the results.
    - `side`: `"legacy"` or `"simplified"`.

    Example::

        traced = engine.jit(f, constants="simplified").trace(x)
        print(traced.jaxpr)

    Source: `jax.stages.Traced`; the constants note (seed 000).
    """

    __slots__ = ("_pipeline",)

    def __init__(self, pipeline: Pipeline, types: list, program: jax_internals.PjitParams) -> None:
        super().__init__(types, program.params, program.in_tree, program.out_tree, program.consts)
        self._pipeline = pipeline

    @property
    def side(self) -> Side:
        """The side whose form `jaxpr` has and whose lowering `lower` is."""
        return self._pipeline.side

    @property
    def consts(self) -> list[Any]:
        """The values of the constvars of `jaxpr`."""
        return list(self.jaxpr.consts)

    def lower(
        self,
        *,
        lowering_platforms: tuple[str, ...] | None = None,
        hoist_constants_as_args: bool | None = None,
        _private_parameters: jax_internals.LoweringParameters | None = None,
    ) -> Lowered:
        """Lower to StableHLO.

        `lowering_platforms` are names as in `jax.jit(f).trace(...).lower(...)`.
        `hoist_constants_as_args=False` inlines all constants; by default the simplified pipeline
        hoists them, except when `jax.export` is what lowers. The legacy pipeline never hoists.

        Raises ValueError for devices that do not go together, as `jax.jit` does.
        """
        lo = self.lojax
        lowering_platforms = lowering_platforms or jax_internals.platforms_of_context(lo._params)
        for_export = _private_parameters is not None and _private_parameters.for_export
        if hoist_constants_as_args is None:
            hoist_constants_as_args = not for_export
        plan = plan_of(
            self._pipeline,
            lo._params["jaxpr"],
            self._params["name"].choices,
            hoist=hoist_constants_as_args,
        )
        computation = lower_traced(
            self._pipeline,
            plan,
            lo,
            lowering_platforms=lowering_platforms,
            lowering_parameters=_private_parameters,
        )
        return Lowered(
            computation, lo.args_info, lo.out_tree, in_types=lo._in_types, out_types=lo._out_types
        )


class Lowered(jax.stages.Lowered):
    """A lowered program: StableHLO, and the const args that its main function takes first.

    `as_text()`, `compiler_ir()`, `cost_analysis()` and `compile()` are those of `jax.stages`.

    Example::

        lowered = engine.jit(f, constants="simplified").lower(x)
        [table] = lowered.const_args

    Source: `jax.stages.Lowered`; the constants note (seed 000), "Compilation and execution".
    """

    __slots__ = ()

    @property
    def const_args(self) -> list[Any]:
        """The constants that lead the arguments of main, each array once."""
        return list(self._lowering.const_args)

    @property
    def num_const_args(self) -> int:
        """How many const args lead the arguments of main."""
        return len(self._lowering.const_args)

    @property
    def in_avals(self) -> Any:
        """The avals of the arguments of the user, as a tree."""
        # JAX's own property counts const args as arguments and fails on them (jax 0.10.2).
        return jax.tree.map(lambda info: info._aval, self.args_info)

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        device_assignment: tuple[jax.Device, ...] | None = None,
    ) -> Compiled:
        """Compile for the devices that the lowering was made for, or for `device_assignment`."""
        executable = compile_shared(
            self._lowering, compiler_options=compiler_options, device_assignment=device_assignment
        )
        return Compiled(
            executable,
            self._lowering.const_args,
            self.args_info,
            self.out_tree,
            self._no_kwargs,
            self._in_types,
            self._out_types,
        )


class Compiled(jax.stages.Compiled):
    """A compiled program; call it with the arguments of the user.

    `as_text()`, `memory_analysis()` (bytes), `cost_analysis()`, `in_avals`, `args_info`,
    `input_shardings` and `output_shardings` are those of `jax.stages`.

    Example::

        compiled = engine.jit(f).lower(x).compile()
        y = compiled(x)

    Raises TypeError or ValueError for arguments of other types, shapes or shardings than compiled
    for, as JAX does. Source: `jax.stages.Compiled`.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        del self._call  # until the first call it is the method below

    # The interpreter looks up what to call in each object, all in C. With a `__call__` in Python,
    # which is what JAX has, every call would run a Python function.
    __call__ = property(operator.attrgetter("_call"))
    __signature__ = inspect.signature(lambda *args, **kwargs: None)

    def _call(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Bring the const args to the devices, where other executables of the process find them.

        What calls from then on holds no reference to this object, so that whatever is captured
        goes with it and does not wait for the garbage collector.
        """
        captured = self.const_args
        on_devices = place(self._params.executable, captured) if captured else captured
        # JAX would check the raw data of a PRNG key against the type of the key, since stock JAX
        # never has one among its const args (jax 0.10.2).
        is_key = [jax.dtypes.issubdtype(const.dtype, jax.dtypes.extended) for const in captured]
        self._params = params = self._params._replace(
            const_args=[
                const if key else array
                for const, array, key in zip(captured, on_devices, is_key, strict=True)
            ]
        )

        def call_in_python(*args: Any, **kwargs: Any) -> Any:
            results, _, _ = jax.stages.Compiled.call(params, *args, **kwargs)
            return results

        in_c = None if any(is_key) else params.executable.create_cpp_call(params)
        self._call = in_c or call_in_python  # type: ignore[method-assign]
        return self._call(*args, **kwargs)

    @property
    def const_args(self) -> list[Any]:
        """The constants that are passed before the arguments of the user, each array once."""
        return list(self._params.const_args)
