"""Reads of jaxprs, lowered modules and compiled programs: properties and methods that record.

Captured arrays are constants of a module in legacy and arguments of its main function in
simplified. The tester lowers in one process for each form, so modules are not compared: what a
module has in each form follows from the arrays that its function captures.
"""

from __future__ import annotations

import functools
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import jax
from jax.extend import core

from parity_tests.jaxpr import counts
from parity_tests.jaxpr.bodies import const_count
from parity_tests.observe.environment import FLAG
from parity_tests.observe.jit_on_side import stock_embed_threshold
from parity_tests.observe.reads.recorder import Reads, Seen, Subject, is_machinery

_ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object in a text: another one in each trace
# What tells the two forms apart, by the stage; `in_avals` and shardings leave captured arrays out.
READERS: dict[type, tuple[str, ...]] = {
    jax.stages.Lowered: ("as_text", "compiler_ir", "cost_analysis"),
    jax.stages.Compiled: ("as_text", "cost_analysis", "memory_analysis", "runtime_executable"),
}


def replacements(reads: Reads) -> Iterator[tuple[type, str, Any]]:
    """Yield what stands in the place of JAX's own: the class, the name, and what records."""
    for owner, name, subject in _attributes():
        yield owner, name, _recorder(owner, name, subject, reads)
    yield from _texts(reads)
    yield from _ModuleReads(reads).replacements()


def _attributes() -> list[tuple[type, str, Subject]]:
    # A later JAX makes `ClosedJaxpr` another name of `Jaxpr`: each is replaced once.
    found: dict[tuple[type, str], Subject] = {}
    for owner in (core.ClosedJaxpr, core.Jaxpr):
        for name in ("consts", "constvars", "invars", "outvars"):
            found[owner, name] = name
        found[owner, "literals"] = "consts"  # its older name
        found[owner, "in_avals"] = "invars"
        found[owner, "eqns"] = "equations"
    found[core.JaxprEqn, "invars"] = "operands"
    found[core.JaxprEqn, "params"] = "params"
    return [
        (owner, name, subject)
        for (owner, name), subject in found.items()
        if hasattr(vars(owner).get(name), "__get__")
    ]


def _recorder(owner: type, name: str, subject: Subject, reads: Reads) -> property:
    original: Any = vars(owner)[name]

    def read(self: Any) -> Any:
        value = original.__get__(self)
        # JAX reads more than anybody: what it reads is not even looked at.
        if not is_machinery(sys._getframe(1).f_code.co_filename):
            reads.note(subject, _seen(value))
        return value

    # A slot is written to as well.
    return property(read, getattr(original, "__set__", None))


def _seen(value: Any) -> Seen:
    if isinstance(value, dict):  # parameters, of which some count the operands of bodies
        return Seen(const_count(value))
    return Seen(len(value), sum(map(_is_array_literal, value)))


def _is_array_literal(atom: Any) -> bool:
    return isinstance(atom, core.Literal) and bool(getattr(atom.aval, "shape", ()))


def _texts(reads: Reads) -> list[tuple[type, str, Any]]:
    return [
        (owner, name, _printer(vars(owner)[name], reads))
        for owner in {core.ClosedJaxpr: None, core.Jaxpr: None, core.JaxprEqn: None}
        for name in ("__str__", "__repr__", "pretty_print")
        if name in vars(owner)
    ]


def _printer(original: Any, reads: Reads) -> Callable[..., str]:
    def printed(self: Any, *args: Any, **kwargs: Any) -> str:
        text: str = original(self, *args, **kwargs)
        if not is_machinery(sys._getframe(1).f_code.co_filename):
            reads.note("text", Seen(zlib.crc32(_ADDRESS.sub("", text).encode())))
        return text

    return printed


@dataclass
class _ModuleReads:
    """The captured arrays of each stage that was made in the block.

    Stages are not held: what a program lets go of is gone, in the block as elsewhere.
    """

    reads: Reads
    _captured: WeakKeyDictionary[Any, int] = field(default_factory=WeakKeyDictionary)
    # JAX's own property: the one that records would take our read for one of the program.
    _flag: Any = field(default_factory=lambda: vars(type(jax.config)).get(FLAG))

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
                is_passed = self._flag is not None and self._flag.__get__(jax.config)
                self.reads.note("module", Seen(captured if is_passed else 0))
            return original(stage, *args, **kwargs)

        return read


def _captured(traced: Any) -> int:
    return len(counts.count(traced.jaxpr, embed_threshold=stock_embed_threshold()).captured)
