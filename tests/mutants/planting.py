"""Mutants: a mutant replaces one function of ours, and puts it back."""

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
    """A small fault in a pipeline, and the metric that has to name it.

    `metric` must give a reason that contains `says`; a reason of another metric alone is a miss.
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
    """Register a generator function as a mutant: it plants a fault, yields, and removes it."""

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
    """Replace `function` by `new` in every module of ours that has it, under any name."""
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
    """Replace a method or an attribute by `new`."""
    old = getattr(owner, name)
    setattr(owner, name, new)
    try:
        yield
    finally:
        setattr(owner, name, old)


@contextlib.contextmanager
def rule(table, primitive, new):
    """Replace the rule of a primitive by `new`."""
    old = table[primitive]
    table[primitive] = new
    try:
        yield
    finally:
        table[primitive] = old


def step(side, **steps):
    """Replace functions of a pipeline, by the names of its fields."""
    module = PIPELINES[side]
    return attribute(module, "PIPELINE", dataclasses.replace(module.PIPELINE, **steps))
