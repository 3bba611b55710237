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

import jax

from parity_tests.jaxpr import counts

# What tells the two forms apart, by the stage; `in_avals` and shardings leave captured arrays out.
READERS: dict[type, tuple[str, ...]] = {
    jax.stages.Lowered: ("as_text", "compiler_ir", "cost_analysis"),
    jax.stages.Compiled: ("as_text", "cost_analysis", "memory_analysis", "runtime_executable"),
}


@dataclass
class ModuleReads:
    """The traced program of each stage that was made in the block.

    `on_read` is given a function that counts the captured arrays of what is read. Stages are held,
    so that their ids are their own.
    """

    on_read: Callable[[Callable[[], int]], None]
    _traced: dict[int, tuple[Any, Any]] = field(default_factory=dict)

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
            program = stage if traced else self._traced.get(id(stage), (None, None))[1]
            if program is not None:
                self._traced[id(made)] = (made, program)
            return made

        return follow

    def _recording(self, owner: type, name: str) -> Callable[..., Any]:
        original = vars(owner)[name]

        @functools.wraps(original)
        def read(stage: Any, *args: Any, **kwargs: Any) -> Any:
            _, traced = self._traced.get(id(stage), (None, None))
            if traced is not None:
                self.on_read(functools.partial(_captured, traced))
            return original(stage, *args, **kwargs)

        return read


def _captured(traced: Any) -> int:
    threshold: int = jax.config.jax_embedded_constants_max_bytes  # type: ignore[attr-defined]
    return len(counts.count(traced.jaxpr, embed_threshold=threshold).captured)
