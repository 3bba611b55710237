"""Variants of one program: some of its captured arrays are hoisted and the others inlined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

import jax

import engine
from engine.configuration.parsing import Precompute
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.program import Program


class Variants:
    """A program and its captured arrays above the embed threshold, to compile in variants.

    `arrays` has the arrays with the lines that use them; arrays that dead code alone reads are left
    out. Raises whatever the program raises when it is built and traced.
    """

    def __init__(self, program: Program) -> None:
        self._fun, self.args, self.kwargs = program.build()
        traced = engine.jit(self._fun, constants="simplified").trace(*self.args, **self.kwargs)
        embed_threshold = engine.config.embedded_constants_max_bytes
        self.arrays: tuple[CapturedUse, ...] = tuple(
            use
            for use in captured_uses(live_part(traced.jaxpr))
            if use.array.bytes > embed_threshold and use.array.shape
        )

    def lower(self, hoisted: Collection[Hashable]) -> Any:
        """Lower the program with the arrays of these identities hoisted and the others inlined.

        Arrays at or below the embed threshold stay embedded. Each call lowers anew and has a policy
        of its own, which is a key of every cache; so the result is really compiled.
        """
        known = {use.array.identity for use in self.arrays}

        def policy(constant: engine.CapturedConstant) -> str | None:
            key = identity(constant.value)
            if key not in known:
                return None
            return "hoist" if key in hoisted else "inline"

        return self._lower(policy)

    def constants(self, *, inlined: bool = False) -> tuple[engine.CapturedConstant, ...]:
        """Return the `arrays` that a policy is asked about, as it sees them, largest first.

        The program is lowered for that with all of them hoisted, or `inlined`.
        """
        known = {use.array.identity for use in self.arrays}
        asked: list[engine.CapturedConstant] = []

        def policy(constant: engine.CapturedConstant) -> str | None:
            asked.append(constant)
            return "inline" if inlined else None

        self._lower(policy)
        return tuple(constant for constant in asked if identity(constant.value) in known)

    def lower_under(self, embed_threshold: int) -> Any:
        """Lower the program under an embed threshold in bytes; anew at each call, as `lower`."""
        return self._hoisted(embed_threshold, "off")

    def lower_with_preamble(self, embed_threshold: int | None = None) -> Any:
        """Lower the program with all arrays hoisted and a preamble, which has run then.

        Without an embed threshold, the one in force stays. The first time alone takes as long as
        the preamble takes to compile and to run: later programs share its results.
        """
        lowered = self._hoisted(embed_threshold, "auto")
        jax.block_until_ready(lowered.const_args)
        return lowered

    def _hoisted(self, embed_threshold: int | None, precompute: Precompute) -> Any:
        if embed_threshold is None:
            return self._lower(lambda constant: None, precompute)
        with engine.embedded_constants_max_bytes(embed_threshold):
            return self._lower(lambda constant: None, precompute)

    @jax.disable_jit(False)  # as a measurement
    def call(self, compiled: Any) -> Any:
        """Call a compiled variant with the program's arguments, and wait for the results."""
        return jax.block_until_ready(compiled(*self.args, **self.kwargs))

    def _lower(
        self,
        policy: Callable[[engine.CapturedConstant], str | None],
        precompute_constants: Precompute = "off",
    ) -> Any:
        jitted = engine.jit(
            self._fun,
            constants="simplified",
            constant_policy=policy,
            precompute_constants=precompute_constants,
        )
        return jitted.lower(*self.args, **self.kwargs)
