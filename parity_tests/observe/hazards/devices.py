"""Hazards of captured arrays by where they are: on which devices, committed or not, how sharded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core
from jax.sharding import AbstractMesh, AxisType, PartitionSpec, Sharding, SingleDeviceSharding

from parity_tests.advice import advice
from parity_tests.jaxpr.bodies import bodies_of, folded, inner
from parity_tests.observe.hazards.traced_program import (
    STATES_A_MESH,
    TracedProgram,
    devices_of,
    hazard_of,
    is_committed,
    named,
)
from parity_tests.own_jit import sharding_in
from reports.rows import Hazard


def incompatible_devices(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured arrays that are committed to other devices than those the program runs on.

    Arguments, options, equations and a mesh in context say where it runs. Legacy inlines the value
    there. Stock simplified passes the array as an argument, and JAX refuses a program that is on
    several devices, or on the same ones in another order. Look-alikes: a captured array that is not
    committed, which JAX moves, or one on the devices of the program.
    """
    others = list(_stated_after(traced))
    sizes = _abstract_sizes(traced)
    for use in traced.uses:
        if is_committed(use.array.value):
            own = devices_of(use.array.value.sharding)
            if size := next((each for each in sizes if each != len(own)), 0):
                yield hazard_of(
                    "incompatible devices",
                    use,
                    f"the array is committed to {named(own)}, and the program is for an abstract "
                    f"mesh of {size} devices: legacy inlines its value, stock simplified refuses "
                    "to lower the program (AbstractMesh size does not match)",
                    advice("not committed"),
                )
            apart = next((told for told in others if told[1] and told[1] != own), None)
            if apart is not None:
                yield hazard_of(
                    "incompatible devices",
                    use,
                    f"the array is committed to {named(own)}, and {apart[0]} {named(apart[1])}: "
                    "legacy inlines its value where the program runs, stock simplified refuses the "
                    "call (incompatible devices)",
                    advice("same devices" if len(own) == 1 else "same mesh"),
                )


def _abstract_sizes(traced: TracedProgram) -> list[int]:
    """Return the sizes of the abstract meshes that a captured array is held against."""
    values = [each.value for each in traced.arguments]
    return [each.size for each in abstract_meshes(values, traced.options)]


def _stated_after(traced: TracedProgram) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield what says where stock simplified runs a program, and the devices."""
    for told, stated in _stated_before(traced):
        yield told, devices_of(stated)
    for use in traced.uses:
        if is_committed(use.array.value):
            yield _COMMITTED, devices_of(use.array.value.sharding)


_COMMITTED = "the arguments or other captured arrays are committed to"


def _stated_before(traced: TracedProgram) -> Iterator[tuple[str, Any]]:
    """Yield what commits the outputs in legacy: by what, and a sharding, a mesh or a memory.

    Source: jax `_src/interpreters/pxla.py`, 0.12.
    """
    device = _own_device(traced.options)
    if device is not None and (traced.kept or inner(traced.closed).outvars):
        yield "its jit is for", SingleDeviceSharding(device)
    for each in traced.kept if device is None else ():  # which the jit moves there
        if each.sharding is not None:
            yield _COMMITTED if each.stated is None else "its in_shardings state", each.sharding
    if traced.mesh is not None and not traced.mesh.empty:
        yield "the mesh in context has", traced.mesh
    for each in filter(_is_stated, _of_outputs(traced)):
        yield "its out_shardings state", each
    for name, stated in traced.places:
        if not isinstance(stated, AbstractMesh):
            yield f"a {name} runs on", stated


def _own_device(options: Mapping[str, Any]) -> Any:
    """Return the device that options of `jax.jit` name, or the first of their backend."""
    backend = options.get("backend")
    return options.get("device") if backend is None else jax.local_devices(backend=backend)[0]


def runs_on(traced: TracedProgram) -> tuple[Any, ...]:
    """Return the devices that a program runs on in stock simplified, in order.

    Those of an abstract mesh are not known, and none, as where nothing says it.
    """
    return next((devices for _, devices in _stated_after(traced) if devices), ())


def abstract_meshes(arguments: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """Return the abstract meshes of the leaves of arguments, and of options of `jax.jit`.

    JAX holds these against a captured array, and not those of a constraint or a `shard_map`.
    """
    stated = [getattr(each, "sharding", None) for each in arguments]
    for name in ("in_shardings", "out_shardings"):
        stated += map(sharding_in, jax.tree.leaves(options.get(name)))
    meshes = [getattr(each, "mesh", None) for each in stated]
    return [each for each in meshes if isinstance(each, AbstractMesh)]


_FORBIDS = ("disallow", "disallow_explicit")


def implicit_transfer(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured arrays that a call moves to a device, which the user's transfer guard forbids.

    Legacy has inlined the value. Stock simplified passes an array of NumPy's, or one that lies on
    another device, as an argument of the first call: an implicit transfer. Look-alikes: an array of
    JAX's on the device of the call, or a guard that only logs, or a guard that is in force when
    arrays are made and not when the program is called.
    """
    devices = runs_on(traced) or (traced.default_device,)
    for use in traced.uses:
        value = use.array.value
        if isinstance(value, np.ndarray):
            where, fix = "host to device", advice("on the device")
        elif not is_committed(value) and value.devices() != set(devices):
            where, fix = "device to device", "capture jax.device_put(a, device of the arguments)"
        else:
            continue
        if traced.guards[where] in _FORBIDS:
            yield hazard_of(
                "implicit transfer",
                use,
                f"the transfer guard forbids transfers from {where}: legacy has inlined the value, "
                "stock simplified transfers the array when it is first called, and fails",
                fix,
            )


def placement_of_outputs(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured arrays that change the device, commitment or sharding of the outputs.

    In legacy the arguments, the options, the equations and a mesh in context decide where outputs
    are. In stock simplified a captured array is an argument too: it commits the outputs if nothing
    else does, and may shard them, as XLA may one that is not committed and is used with what is
    sharded. Look-alikes: any other array that is not committed, or one that is replicated beside
    committed arguments; a program that states a sharding, is called in a mesh or returns nothing.
    """
    stated_outputs = _of_outputs(traced)
    if not inner(traced.closed).outvars or (
        stated_outputs and all(map(_is_stated, stated_outputs))
    ):
        return
    stated = [each for _, each in _stated_before(traced)]
    before = next(filter(None, map(devices_of, stated)), ())
    captured = [use for use in traced.uses if is_committed(use.array.value)]
    anchor = before or (devices_of(captured[0].array.value.sharding) if captured else ())
    sizes = _abstract_sizes(traced)
    for use in captured:
        value = use.array.value
        if devices_of(value.sharding) != anchor or any(each != len(anchor) for each in sizes):
            continue  # JAX refuses the program
        if not before and sizes:
            yield hazard_of(
                "placement of outputs",
                use,
                "the program is for an abstract mesh and this array is committed: legacy lowers it "
                f"for any devices, stock simplified for {named(anchor)} alone",
                advice("not committed"),
            ).model_copy(update={"commits_outputs": True})
        elif not before and (not stated or anchor != (traced.default_device,)):
            yield hazard_of(
                "placement of outputs",
                use,
                "no argument that is read is committed to a device and this array is: legacy "
                f"returns {'' if stated else 'un'}committed outputs on the default device, stock "
                f"simplified outputs that are committed to {named(anchor)}",
                advice("not committed" if len(value.devices()) == 1 else "sharded outputs"),
            ).model_copy(update={"commits_outputs": True})
        elif not value.sharding.is_fully_replicated and may_shard_outputs(traced.closed, value):
            yield hazard_of(
                "placement of outputs",
                use,
                f"the array is sharded over {named(anchor)}: legacy inlines all of it "
                "on every device, stock simplified keeps its sharding, which the outputs may take "
                "over",
                advice("sharded outputs"),
            )
    for use in traced.uses if len(before) > 1 else ():
        if not is_committed(use.array.value) and _may_be_divided(traced, use.array.value):
            yield hazard_of(
                "placement of outputs",
                use,
                "the array is not committed, and is used with what is sharded: legacy inlines all "
                "of it on every device, stock simplified leaves its sharding to XLA, which outputs "
                "that are not sharded otherwise may take over",
                advice("sharded outputs"),
            )


def _of_outputs(traced: TracedProgram) -> list[Any]:
    """Return what its jit states of outputs, None where it leaves one open; [] without outputs."""
    stated = traced.options.get("out_shardings") if inner(traced.closed).outvars else ()
    leaves = jax.tree.leaves(stated, is_leaf=lambda each: each is None)
    return [sharding_in(each) for each in leaves]


def _is_stated(option: Any) -> bool:
    return isinstance(option, (PartitionSpec, Sharding))  # the former of the mesh in context


# -- where the sharding of a captured array goes ---------------------------------------------------


def _may_be_divided(traced: TracedProgram, value: Any) -> bool:
    """Say whether XLA may shard a captured array that is not committed, and an output with it."""
    body = inner(traced.closed)
    own = tuple(_divides(each.sharding) for each in traced.arguments)
    stated = _sharded_outputs(body, _STATED, own, {})
    found = _sharded_outputs(body, value, (), {})
    meets = any(name in STATES_A_MESH for name, _ in traced.places) or any(
        one and two for one, two in zip(stated, found, strict=True)
    )
    return meets and any(
        is_found and not is_stated and not _is_of_explicit_mesh(atom.aval)
        for atom, is_stated, is_found in zip(body.outvars, stated, found, strict=True)
    )


def _divides(sharding: Any) -> bool:
    """Say whether a sharding, or a spec of the mesh in context, divides an array."""
    if isinstance(sharding, PartitionSpec):
        return any(sharding)
    return isinstance(sharding, Sharding) and not sharding.is_fully_replicated


_STATED = object()  # stands for what equations state, where the way of its sharding is asked for


def may_shard_outputs(body: Any, value: Any) -> bool:
    """Say whether an output may take over the sharding of a captured array.

    None does where each use of the array ends in a `shard_map` or a constraint, which state the
    shardings of their results, or in outputs whose types state them. XLA hands a sharding on to the
    other operands too.
    """
    found = _sharded_outputs(inner(body), value, (), {})
    reached = zip(inner(body).outvars, found, strict=True)
    return any(is_reached and not _is_of_explicit_mesh(atom.aval) for atom, is_reached in reached)


def _is_of_explicit_mesh(aval: Any) -> bool:
    """Say whether a type states its sharding: all axes of its mesh are explicit."""
    mesh: Any = getattr(getattr(aval, "sharding", None), "mesh", None)
    return mesh is not None and set(mesh.axis_types) == {AxisType.Explicit}


def _sharded_outputs(
    body: Any, value: Any, given: tuple[bool, ...], known: dict[Any, list[bool]]
) -> list[bool]:
    """Say for each output of a body whether it may take over the sharding; `given` is of inputs.

    `known` has what was said of other bodies.
    """
    if (id(body), given) in known:
        return known[id(body), given]
    reached = {var for var, is_reached in zip(body.invars, given, strict=False) if is_reached}
    equations = [each for each in body.eqns if not _states_all(each)]
    if value is _STATED:
        reached.update(var for each in body.eqns if _states_all(each) for var in each.outvars)
    computed = {var for each in body.eqns for var in each.outvars if getattr(var.aval, "shape", ())}

    def is_reached(atom: Any) -> bool:
        return atom.val is value if isinstance(atom, core.Literal) else atom in reached

    def go_on(equation: Any) -> None:
        operands = tuple(is_reached(atom) for atom in equation.invars)
        bodies = [inner(each.jaxpr) for each in bodies_of(equation)]
        if len(bodies) == 1 and len(bodies[0].invars) == len(operands):
            results = _sharded_outputs(bodies[0], value, operands, known)
        else:  # a branch, whose first operand is an index; any result may depend on any operand
            is_so = any(operands) or any(_mentions(each, value) for each in bodies)
            results = [is_so] * len(equation.outvars)
        if len(results) != len(equation.outvars) or equation.primitive.name in ("scan", "while"):
            results = [any(results)] * len(equation.outvars)
        found = (var for var, is_so in zip(equation.outvars, results, strict=True) if is_so)
        reached.update(computed.intersection(found))

    def go_back(equation: Any) -> None:
        atoms = [
            each
            for each in (*equation.invars, *equation.outvars)
            if getattr(each.aval, "shape", ())
        ]
        if any(map(is_reached, atoms)) or any(
            _mentions(inner(each.jaxpr), value) for each in bodies_of(equation)
        ):
            operands = (each for each in equation.invars if not isinstance(each, core.Literal))
            reached.update(computed.intersection(operands))

    count = -1
    while count != len(reached):
        count = len(reached)
        for each in equations:
            go_on(each)
        for each in reversed(equations):
            go_back(each)
    known[id(body), given] = [is_reached(atom) for atom in body.outvars]
    return known[id(body), given]


def _states_all(equation: Any) -> bool:
    """Say whether an equation states the shardings of its results on each axis of a mesh."""
    name, params = equation.primitive.name, equation.params
    if name == "shard_map":
        return set(params.get("newly_manual_axes", ())) == set(params["mesh"].axis_names)
    return name == "sharding_constraint" and not params["unconstrained_dims"]


def _mentions(body: Any, value: Any) -> bool:
    """Say whether a body uses a captured array anywhere but in what states its shardings."""

    def is_value(atom: Any) -> bool:
        return isinstance(atom, core.Literal) and atom.val is value

    def mentions(jaxpr: Any, inside: Callable[[Any], bool]) -> bool:
        return any(map(is_value, jaxpr.outvars)) or any(
            any(map(is_value, equation.invars))
            or any(inside(each.jaxpr) for each in bodies_of(equation))
            for equation in jaxpr.eqns
            if not _states_all(equation)
        )

    return folded(body, mentions)
