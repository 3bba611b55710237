"""Programs that differ in one thing, and programs that are equal by construction, as plain data.

`FAMILIES` has lists of programs of which no two are one computation: the first and each other one
are a pair. Whoever wrote them had not read the rules of the proof. `EQUAL` has pairs that are one.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Program:
    """A function, its arguments, and what is around its tracing; `platforms` are lowered for."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    context: Callable[[], Any] = contextlib.nullcontext
    platforms: tuple[str, ...] | None = None


FAMILIES: dict[str, list[Program]] = {}
ONLY_MODULES: set[str] = set()
# The modules are undecided (callbacks), not to be had on a CPU, or need long to be lowered.
ONLY_JAXPRS = {
    "callbacks-more", "debug", "dot-algorithm", "effects-dead-loop", "expand", "io_callback",
    "pure_callback", "pure_callback-params", "random", "svd", "unary", "binary", "binary-int",
    "dead-carry-chain", "deep-6", "linear_solve-transpose", "nested-scan",
    "scan-two", "captured-keys", "seed", "eigh", "deep-passed-6", "deep-outs-6",
    "deep-constant-6", "literal", "opaque-effects",
    "opaque-effects-order", "loop-in-opaque", "opaque-in-loop", "nested-equal-2", "nested-swapped",
    "scan-three-starts", "while-two", "cond-of-cond", "cond-twice",
}  # fmt: skip

EQUAL: dict[str, tuple[Program, Program]] = {}


def With(fun, *args, **around):
    return Program(fun, args, **around)


def differ(family, args, *funs, **named):
    """Note programs of which no two are one computation."""
    assert family not in FAMILIES
    members = [*funs, *named.values()]
    FAMILIES[family] = [each if isinstance(each, Program) else Program(each, args)
                        for each in members]  # fmt: skip


def differ_in_modules(family, args, *funs):
    """Note programs that differ in what the outermost jit asks, which is no part of a jaxpr."""
    ONLY_MODULES.add(family)
    differ(family, args, *funs)


def equal(name, args, fun, other):
    """Note two programs that are one computation."""
    assert name not in EQUAL
    EQUAL[name] = Program(fun, args), Program(other, args)
