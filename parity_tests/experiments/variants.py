"""Variants of one program: some of its captured arrays are hoisted and the others inlined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

import jax

import engine
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.live_part import live_part
from parity_tests.program import Program


class Variants:
    """A program, its captured arrays above the embed threshold, and what it compiles to.

    `arrays` has them with the lines that use them; arrays that dead code alone reads are left out.
    Raises whatever the program raises when it is built and traced.
    """

    def __init__(self, program: Program) -> None:
        self._fun, self.args, self.kwargs = program.build()
        traced = engine.jit(self._fun, constants="simplified").trace(*self.args, **self.kwargs)
        threshold = engine.config.embedded_constants_max_bytes
        self.arrays: tuple[CapturedUse, ...] = tuple(
            use
            for use in captured_uses(live_part(traced.jaxpr))
            if use.array.bytes > threshold and use.array.shape
        )

    def lower(self, hoisted: Collection[Hashable]) -> Any:
        """Lower the program with the arrays of these identities hoisted and the others inlined.

        What is at or below the embed threshold stays embedded. Each call lowers anew, so that
        compiling what it returns is compiling: a policy of its own is a key of every cache.
        """
        known = {use.array.identity for use in self.arrays}

        def policy(constant: engine.CapturedConstant) -> str | None:
            key = identity(constant.value)
            if key not in known:
                return None
            return "hoist" if key in hoisted else "inline"

        return self._lower(policy)

    def constants(self) -> tuple[engine.CapturedConstant, ...]:
        """Those of `arrays` that a policy is asked about, as it sees them, largest first."""
        known = {use.array.identity for use in self.arrays}
        asked: list[engine.CapturedConstant] = []
        self._lower(asked.append)
        return tuple(constant for constant in asked if identity(constant.value) in known)

    def lower_under(self, threshold: int) -> Any:
        """Lower the program under an embed threshold in bytes; anew at each call, as `lower`."""
        with engine.embedded_constants_max_bytes(threshold):
            return self._lower(lambda constant: None)

    def call(self, compiled: Any) -> Any:
        """Call what was compiled with the program's arguments, and wait for the results."""
        return jax.block_until_ready(compiled(*self.args, **self.kwargs))

    def _lower(self, policy: Callable[[engine.CapturedConstant], str | None]) -> Any:
        jitted = engine.jit(self._fun, constants="simplified", constant_policy=policy)
        return jitted.lower(*self.args, **self.kwargs)
