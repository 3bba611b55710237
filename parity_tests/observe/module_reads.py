"""Reads of lowered modules and compiled programs: methods that record, for the time of a block.

Captured arrays are constants of a module in legacy and arguments of its main function in
simplified. The tester lowers in one process for each form, so nothing is compared here: what a
module has in each form follows from the arrays that its function captures.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax

from parity_tests.jaxpr import counts
from parity_tests.observe.jit_on_side import stock_embed_threshold

# What tells the two forms apart, by the stage; `in_avals` and shardings leave captured arrays out.
READERS: dict[type, tuple[str, ...]] = {
    jax.stages.Lowered: ("as_text", "compiler_ir", "cost_analysis"),
    jax.stages.Compiled: ("as_text", "cost_analysis", "memory_analysis", "runtime_executable"),
}


@dataclass
class ModuleReads:
    """The captured arrays of each stage that was made in the block; `on_read` is told how many.

    Stages are not held: what a program lets go of is gone, in the block as elsewhere.
    """

    on_read: Callable[[int], None]
    _captured: WeakKeyDictionary[Any, int] = field(default_factory=WeakKeyDictionary)

    def replacements(self) -> Iterator[tuple[type, str, Any]]:
        """Yield what stands in the place of JAX's methods: the class, the name and the method."""
        yield jax.stages.Traced, "lower", self._following(jax.stages.Traced, "lower", traced=True)
        yield jax.stages.Lowered, "compile", self._following(jax.stages.Lowered, "compile")
        for owner, names in READERS.items():
            for name in names:
                yield owner, name, self._recording(owner, name)

    def _following(self, owner: type, name: str, *, traced: bool = False) -> Callable[..., Any]:
        original = vars(owner)[name]

        @functools.wraps(original)
        def follow(stage: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(stage, *args, **kwargs)
            captured = _captured(stage) if traced else self._captured.get(stage)
            if captured is not None:
                self._captured[made] = captured
            return made

        return follow

    def _recording(self, owner: type, name: str) -> Callable[..., Any]:
        original = vars(owner)[name]

        @functools.wraps(original)
        def read(stage: Any, *args: Any, **kwargs: Any) -> Any:
            captured = self._captured.get(stage)
            if captured is not None:
                self.on_read(captured)
            return original(stage, *args, **kwargs)

        return read


def _captured(traced: Any) -> int:
    return len(counts.count(traced.jaxpr, embed_threshold=stock_embed_threshold()).captured)
