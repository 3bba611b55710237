"""A program as stock JAX traces it after the flip: what every detector of a hazard reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax

from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.live_part import live_part
from parity_tests.observe.jit_on_side import STOCK_JIT
from parity_tests.program import Program, is_jitted
from reports.rows import Hazard, HazardKind

_FLAG = "jax_use_simplified_jaxpr_constants"


@dataclass(frozen=True)
class TracedProgram:
    """A program in simplified form, without dead code; `uses` are of arrays that stock JAX hoists.

    `arguments` are the leaves of its example arguments, `donated` the donated ones among them.
    `embed_threshold` is in bytes. `function` keeps alive what holds its arrays.
    """

    function: Any
    closed: Any
    uses: tuple[CapturedUse, ...]
    arguments: tuple[Any, ...]
    donated: tuple[Any, ...]
    embed_threshold: int

    def committed_devices(self) -> set[Any]:
        """Return the devices of the first committed argument, else of the first captured array."""
        values = (*self.arguments, *(use.array.value for use in self.uses))
        return next((value.devices() for value in values if is_committed(value)), set())


def traced_after_flip(program: Program) -> TracedProgram:
    """Trace a program as it is written, in the form that the flip brings.

    A `jax.jit` of its own keeps its options, because these say which arguments are donated.
    """
    fun, args, kwargs = program.build_as_written()
    jitted: Any = fun if is_jitted(fun) else STOCK_JIT(fun)
    embed_threshold: int = jax.config.jax_embedded_constants_max_bytes  # type: ignore[attr-defined]
    with _simplified_form():
        traced = jitted.trace(*args, **kwargs)
    closed = live_part(traced.jaxpr)
    uses = tuple(
        use
        for use in captured_uses(closed)
        if use.array.bytes > embed_threshold and use.array.shape and not use.array.key
    )
    leaves = tuple(jax.tree.leaves((args, kwargs)))
    return TracedProgram(
        fun, closed, uses, leaves, _donated(leaves, traced.args_info), embed_threshold
    )


@contextmanager
def _simplified_form() -> Iterator[None]:
    """Trace in simplified form, whichever side this process was started for.

    The flag at run time gives the right jaxpr and the wrong module; nothing is lowered here.
    """
    before = jax.config.jax_use_simplified_jaxpr_constants  # type: ignore[attr-defined]
    jax.config.update(_FLAG, True)
    try:
        yield
    finally:
        jax.config.update(_FLAG, before)


def _donated(leaves: tuple[Any, ...], args_info: Any) -> tuple[Any, ...]:
    infos = jax.tree.leaves(args_info, is_leaf=lambda node: hasattr(node, "donated"))
    if len(infos) != len(leaves):
        # Static arguments have no info. They are hashable, which arrays are not.
        leaves = tuple(leaf for leaf in leaves if hasattr(leaf, "dtype"))
    if len(infos) != len(leaves):
        return ()
    return tuple(leaf for leaf, info in zip(leaves, infos, strict=True) if info.donated)


# -- what several detectors need -------------------------------------------------------------------


def is_committed(value: Any) -> bool:
    """Say whether a value is a `jax.Array` that is committed to its devices."""
    return isinstance(value, jax.Array) and bool(getattr(value, "committed", False))


def named(devices: set[Any]) -> str:
    """Return the names of devices, for a message."""
    return ", ".join(sorted(map(str, devices)))


def hazard_of(kind: HazardKind, use: CapturedUse, what: str, fix: str) -> Hazard:
    """Return the row of a hazard that one captured array brings."""
    array = use.array
    owner = "jax.Array" if isinstance(array.value, jax.Array) else "NumPy array"
    shape = ",".join(map(str, array.shape))
    return Hazard(
        kind=kind,
        file=use.place.file,
        line=use.place.line,
        array=f"{owner} {array.value.dtype}[{shape}]",
        what=what,
        fix=fix,
    )
