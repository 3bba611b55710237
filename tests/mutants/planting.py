"""What a mutant is, and how it is planted: one function of ours replaced, and put back."""

import contextlib
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import legacy_closedjaxpr.pipeline
import simplified_consts.pipeline
from reports.rows import Side

PACKAGES = ("engine", "legacy_closedjaxpr", "simplified_consts")
PIPELINES: dict[str, Any] = {
    "legacy": legacy_closedjaxpr.pipeline,
    "simplified": simplified_consts.pipeline,
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A small fault in a pipeline, and what has to say so.

    `metric` must name it, in a reason that has `says` in it; another metric alone is a miss.
    """

    name: str
    does: str
    program: str
    side: Side
    metric: str
    says: str
    plant: Callable[[], contextlib.AbstractContextManager[None]]


MUTANTS: dict[str, Mutant] = {}


def mutant(does: str, *, program: str, side: Side, metric: str, says: str = "") -> Callable:
    """Make a generator function that plants a fault, and takes it out again, a mutant."""

    def register(plant: Callable) -> Callable:
        name = plant.__name__.replace("_", " ")
        assert name not in MUTANTS
        MUTANTS[name] = Mutant(
            name, does, program, side, metric, says, contextlib.contextmanager(plant)
        )
        return plant

    return register


@contextlib.contextmanager
def replaced(function, new):
    """Put `new` where any module of ours has `function` under its name."""
    modules = [m for n, m in list(sys.modules.items()) if n.split(".")[0] in PACKAGES]
    found = [(m, name) for m in modules for name, v in list(vars(m).items()) if v is function]
    assert found, function
    for module, name in found:
        setattr(module, name, new)
    try:
        yield
    finally:
        for module, name in found:
            setattr(module, name, function)


@contextlib.contextmanager
def attribute(owner, name, new):
    """Put `new` in the place of a method or an attribute."""
    old = getattr(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextlib.contextmanager
def rule(table, primitive, new):
    """Put `new` in the place of the rule of a primitive."""
    old = table[primitive]
    table[primitive] = new
    try:
        yield
    finally:
        table[primitive] = old


def step(side, **steps):
    """Put other steps into a pipeline."""
    module = PIPELINES[side]
    return attribute(module, "PIPELINE", dataclasses.replace(module.PIPELINE, **steps))
