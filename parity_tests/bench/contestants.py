"""The contestants: five ways to run one function of constants and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from reports.rows import Side
from reports.rows.bench import Contestant

# Each side of ours, and stock JAX in the same mode.
SAME_MODE: tuple[tuple[Contestant, Contestant], ...] = (
    ("legacy", "jax-legacy"),
    ("simplified", "jax-simplified"),
)


@dataclass(frozen=True)
class Bound:
    """A jitted function and the arguments that it is called with."""

    jitted: Any
    args: tuple[Any, ...]

    def __call__(self) -> Any:
        """Call the function."""
        return self.jitted(*self.args)


def side_of(contestant: Contestant) -> Side:
    """Return the side of a contestant's process: stock JAX for the manual way."""
    return "jax-legacy" if contestant == "manual" else contestant


def jit(contestant: Contestant, fun: Callable[..., Any], **options: Any) -> Any:
    """Jit a function as a contestant does; the engine is imported for our own sides alone."""
    if contestant in ("legacy", "simplified"):
        import engine

        return engine.jit(fun, constants=contestant, **options)
    return jax.jit(fun, **options)


def forget_programs(contestant: Contestant) -> None:
    """Clear the cache in which our sides find equal programs, so that the next one is new."""
    if contestant in ("legacy", "simplified"):
        from engine.runtime import executable_cache

        executable_cache.forget()


def bind(
    contestant: Contestant,
    fun: Callable[..., Any],
    constants: Sequence[Any],
    args: Sequence[Any],
    **options: Any,
) -> Bound:
    """Jit `fun(constants, *args)` with its constants captured; the manual way passes them instead.

    `options` are passed to the jit.

    Example::

        bind("manual", lambda constants, x: x + constants[0], [table], (x,))()
    """
    if contestant == "manual":
        return Bound(jax.jit(fun, **options), (tuple(constants), *args))
    captured = tuple(constants)

    def program(*args: Any) -> Any:
        return fun(captured, *args)

    return Bound(jit(contestant, program, **options), tuple(args))
