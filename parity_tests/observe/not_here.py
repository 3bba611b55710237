"""Programs that can be proved here and not run: of shapes alone, or for devices that are away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from parity_tests.jax_internals import devices_of
from parity_tests.observe.hazards.devices import abstract_meshes
from parity_tests.observe.hazards.traced_program import stated_places
from parity_tests.observe.observation_row import by_path
from parity_tests.observe.stages import Lowered, Traced
from reports.rows import Numbers
from reports.views.texts import type_of

_MOST_NAMED = 3


class NotHereError(Exception):
    """A program that cannot run here; carries the numbers of what was traced and lowered."""

    def __init__(self, why: str, numbers: Numbers) -> None:
        super().__init__(why)
        self.numbers = numbers


def not_here(lowered: Lowered) -> str:
    """Say why a program cannot run here; "" where nothing is known against it.

    An argument may be a `jax.ShapeDtypeStruct`, which has no values. Or the devices of an abstract
    mesh are not those of the program: JAX lowers it, and XLA cannot compile it. Look-alike: a
    constraint over an abstract mesh, which JAX passes over on one device.

    Example::

        not_here(stages.trace_and_lower(built, memory.rough_peak, None))
    """
    return next(_reasons(lowered), "")


def _reasons(lowered: Lowered) -> Iterator[str]:
    built = lowered.built
    shapes = [
        f"`{path}` ({type_of(leaf)})"
        for path, leaf in by_path(built.fun, built.args, built.kwargs)
        if isinstance(leaf, jax.ShapeDtypeStruct)
    ]
    if shapes:
        named = ", ".join(shapes[:_MOST_NAMED])
        more = f" and {len(shapes) - _MOST_NAMED} more" if len(shapes) > _MOST_NAMED else ""
        is_one = len(shapes) == 1
        noun, what = ("argument", "a shape") if is_one else ("arguments", "shapes")
        yield f"its {noun} {named}{more} {'is' if is_one else 'are'} {what} without values"
    devices = max(len(devices_of(lowered.lowered)), 1)
    for name, mesh in stated_places(lowered.traced.jaxpr):
        if name == "shard_map" and _is_abstract(mesh) and mesh.size != devices:
            over = f"an abstract mesh of {mesh.size} devices"
            yield f"its shard_map is over {over}, and it has {devices}"
    if is_for_an_abstract_mesh(lowered) and not devices_of(lowered.lowered):
        yield "it is for the devices of an abstract mesh, which stands for none"


def is_for_an_abstract_mesh(made: Traced) -> bool:
    """Say whether a program is for devices that an abstract mesh stands for: JAX may refuse them.

    It does so when it lowers, so a jaxpr does not tell.
    """
    built = made.built
    stated = abstract_meshes(built.inputs, built.own.options)
    return bool(stated) or any(_is_abstract(mesh) for _, mesh in stated_places(made.traced.jaxpr))


def _is_abstract(mesh: Any) -> bool:
    return isinstance(mesh, jax.sharding.AbstractMesh)
