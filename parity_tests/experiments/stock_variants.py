"""Variants of one program on stock JAX: some of its captured arrays are arguments.

Stock JAX has no policies. After its flip it passes captured arrays as arguments. So a variant on
jax-legacy that takes an array as an argument shows what becomes of the program when the array is
hoisted: where the argument may lie, who may donate it, whether it may be transferred.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from parity_tests.jaxpr.bodies import bodies_of
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.interpreter import Domain, bind, evaluate
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.observe.jit_on_side import STOCK_JIT, expanded_on_leaves, stock_embed_threshold
from parity_tests.program import Program


@dataclass(frozen=True)
class _Staged:
    """A stage of a variant, and the arrays that it takes as its first argument."""

    stage: Any
    handed: tuple[Any, ...]

    def compile(self) -> _Staged:
        return _Staged(self.stage.compile(), self.handed)


class StockVariants:
    """As `Variants`, for a process of jax-legacy: a hoisted array is an argument.

    Options of the program's own `jax.jit` are kept. Raises whatever the program raises when it is
    built and traced.
    """

    def __init__(self, program: Program) -> None:
        self._own = program.build_with_jit()
        traced = STOCK_JIT(self._own.fun, **self._own.options).trace(
            *self._own.args, **self._own.kwargs
        )
        self._closed = expanded_on_leaves(traced)
        infos = jax.tree.leaves(traced.lower().args_info)
        self._donated = tuple(n for n, info in enumerate(infos, 1) if info.donated)
        self.arrays: tuple[CapturedUse, ...] = tuple(
            use
            for use in captured_uses(live_part(self._closed))
            if use.array.bytes > stock_embed_threshold() and use.array.shape
        )

    def lower(self, hoisted: Collection[Hashable]) -> _Staged:
        """Lower the program with the arrays of these identities as arguments."""
        chosen = [use.array for use in self.arrays if use.array.identity in hoisted]

        def run(handed: tuple[Any, ...], *leaves: Any) -> list[Any]:
            instead = {each.identity: new for each, new in zip(chosen, handed, strict=True)}
            return evaluate(self._closed, list(leaves), _Handing(instead))

        handed = tuple(each.value for each in chosen)
        jitted = STOCK_JIT(run, donate_argnums=self._donated)
        return _Staged(jitted.lower(handed, *jax.tree.leaves(self._own.dynamic)), handed)

    def call(self, compiled: _Staged) -> Any:
        """Call a compiled variant with the program's arguments, and wait for the results.

        Donated arguments are copied, because the call consumes them. A captured array that is
        donated, too, is handed over as the same copy.
        """
        leaves = jax.tree.leaves(self._own.dynamic)
        fresh = jax.tree.leaves(self._own.fresh_dynamic())
        copies = {id(leaf): copy for leaf, copy in zip(leaves, fresh, strict=True)}
        handed = tuple(copies.get(id(each), each) for each in compiled.handed)
        return jax.block_until_ready(compiled.stage(handed, *fresh))


@dataclass(frozen=True)
class _Handing(Domain[Any]):
    """The domain that reads other values instead of captured ones, in bodies of `jit` as well."""

    instead: Mapping[Hashable, Any]

    def constant(self, value: Any, aval: Any) -> Any:
        return self.instead.get(identity(value), value)

    def equation(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        if equation.primitive.name == "jit":
            [body] = bodies_of(equation)
            return evaluate(body.jaxpr, operands, self)
        return bind(equation, operands)
