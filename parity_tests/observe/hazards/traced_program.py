"""A program as stock JAX traces it after the flip: what every detector of a hazard reads."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, Sharding

from parity_tests.jax_internals import context_mesh, devices_in_order
from parity_tests.jaxpr.bodies import CONST_COUNTS, bodies_in, bodies_of, inner
from parity_tests.jaxpr.captured import captured_value
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.donating_jits import DonatingJit, donating_jits
from parity_tests.jaxpr.interpreter import Domain, evaluate
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.observe.calls import without_addresses
from parity_tests.observe.hazards.reads import BothForms, in_form
from parity_tests.observe.jit_on_side import (
    STOCK_JIT,
    expanded,
    expanded_on_leaves,
    stock_embed_threshold,
    traced_as_it_takes,
)
from parity_tests.observe.reads.recorder import Reads, left_in
from parity_tests.observe.reads.recording import reads_reaching, recording
from parity_tests.own_jit import OwnJit
from parity_tests.program import Program
from parity_tests.proof.encodings import encoded
from parity_tests.proof.numbers import number
from reports.rows import Hazard, HazardKind
from reports.views.texts import type_of

_GUARDS = {
    "host to device": "jax_transfer_guard_host_to_device",
    "device to device": "jax_transfer_guard_device_to_device",
}


_DEFAULT_DEVICE = "jax_default_device"


class Argument(NamedTuple):
    """A leaf of a program's arguments: whether it is donated, and the sharding its jit states."""

    value: Any
    is_donated: bool = False
    stated: Any = None

    @property
    def sharding(self) -> Any:
        """The sharding in which JAX passes it; None where nothing decides that."""
        if self.stated is not None or not is_committed(self.value):
            return self.stated
        return self.value.sharding


@dataclass(frozen=True)
class TracedProgram:
    """A program in simplified form, as JAX lowers it; `uses` are of arrays that stock JAX hoists.

    `arguments` are the leaves of its example arguments, static ones left out. `donating` are jits
    within a program that has none of its own. `result` is the tree of its results, `options` are
    those of its own `jax.jit`. `embed_threshold` is in bytes. `guards` are the user's transfer
    guards, by direction, `mesh` is the one in context, `default_device` is where JAX runs what
    nothing places. `function` keeps alive what holds its arrays.
    """

    function: Any
    closed: Any
    uses: tuple[CapturedUse, ...]
    arguments: tuple[Argument, ...]
    donating: tuple[DonatingJit, ...]
    result: Any
    options: Mapping[str, Any]
    embed_threshold: int
    guards: Mapping[str, str | None]
    mesh: Any
    default_device: Any

    def is_same_as(self, other: TracedProgram) -> bool:
        """Say whether two traces are one program: equations, results, donations and options.

        An option may change the compiled program alone, as `keep_unused` its arguments.
        """
        return (
            self.result == other.result
            and self.options == other.options
            and [each.is_donated for each in self.arguments]
            == [each.is_donated for each in other.arguments]
            and is_same_program(self.closed, other.closed)
        )

    @cached_property
    def kept(self) -> tuple[Argument, ...]:
        """The arguments that JAX passes: it drops those that nothing reads; all if not known."""
        invars = self.closed.jaxpr.invars
        if self.options.get("keep_unused") or len(self.arguments) != len(invars):
            return self.arguments
        read = {id(atom) for equation in self.closed.jaxpr.eqns for atom in equation.invars}
        read.update(map(id, self.closed.jaxpr.outvars))
        pairs = zip(self.arguments, invars, strict=True)
        return tuple(argument for argument, var in pairs if id(var) in read)

    @cached_property
    def places(self) -> tuple[tuple[str, Any], ...]:
        """What its equations state, as `stated_places` yields it."""
        return tuple(stated_places(self.closed))

    @property
    def consumed(self) -> list[Any]:
        """The arrays that a call consumes: donated ones that JAX passes."""
        return [each.value for each in self.kept if each.is_donated]


def traced_in_forms(
    program: Program, reads_file: Path | None = None
) -> tuple[TracedProgram | None, BothForms]:
    """Trace a program as it is written, in the form that the flip brings.

    One that reads jaxprs or the flag is traced in legacy form as well; what it read is the second
    result. Where reads may explain that it raises in simplified form, the first result is None.
    Otherwise raises whatever the program raises. `reads_file` takes each read in simplified form as
    it is made, since that form may end the process.
    """
    at_import = tuple(reads_reaching(program.target))
    with recording() as in_build:
        built = program.build_as_written()
    traced: TracedProgram | None = None
    stopped: BaseException | None = None
    with (
        left_in(reads_file) as leave,
        recording(leave) as simplified,
        in_form(simplified=True),
    ):
        # The trace may raise whatever a program may; what was read until then may explain it.
        try:
            traced = _traced(*(program.build_as_written() if in_build else built))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            stopped = error
    if simplified:
        with recording() as legacy, in_form(simplified=False):
            today = _traced(*(program.build_as_written() if in_build else built))
        changes = traced is None or not today.is_same_as(traced)
        return traced, BothForms(legacy, simplified, changes, at_import)
    if stopped is not None and not at_import:
        raise stopped
    return traced, BothForms(at_import=at_import)


def read_before_its_end(program: Program, simplified: Reads) -> BothForms:
    """Trace a program in legacy form alone, since simplified form ended the process that traced it.

    `simplified` has what it had read there.
    """
    at_import = tuple(reads_reaching(program.target))
    with recording() as legacy, in_form(simplified=False):
        _traced(*program.build_as_written())
    return BothForms(legacy, simplified, changes=True, at_import=at_import)


def _traced(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedProgram:
    """Trace a function. A `jax.jit` of its own keeps its options: some arguments are donated."""
    own = OwnJit.of(fun, args, kwargs)
    own, _, traced = traced_as_it_takes(own, STOCK_JIT(own.fun, **own.options), STOCK_JIT)
    return traced_program(own, traced)


def traced_program(own: OwnJit, traced: Any) -> TracedProgram:
    """Return the record of a program that stock JAX has traced in simplified form."""
    infos = jax.tree.leaves(traced.args_info, is_leaf=lambda node: hasattr(node, "donated"))
    arguments = tuple(
        Argument(leaf, info.donated, stated)
        for (leaf, stated), info in zip(own.leaves(), infos, strict=True)
    )
    leaves = tuple(each.value for each in arguments)
    return program_of_form(
        own.fun,
        expanded(traced),
        jax.tree.structure(traced.out_info),
        arguments,
        own.options,
        () if own.is_own else tuple(donating_jits(expanded_on_leaves(traced), leaves)),
        context_mesh(own.info),
    )


def program_of_form(
    function: Any,
    closed_jaxpr: Any,
    result: Any,
    arguments: tuple[Argument, ...],
    options: Mapping[str, Any],
    donating: tuple[DonatingJit, ...],
    mesh: Any,
) -> TracedProgram:
    """Return the record of a program by its simplified form as it was traced, with dead code.

    Example::

        program_of_form(f, closed_jaxpr, result, (Argument(x),), {}, (), context_mesh())
    """
    # JAX removes dead code together with the arguments that only this reads.
    closed = closed_jaxpr if options.get("keep_unused") else live_part(closed_jaxpr)
    return TracedProgram(
        function,
        closed,
        hoisted_uses(closed),
        arguments,
        donating,
        result,
        options,
        stock_embed_threshold(),
        transfer_guards(),
        mesh,
        default_device(),
    )


def hoisted_uses(closed: Any) -> tuple[CapturedUse, ...]:
    """Return the captured arrays of a closed_jaxpr without dead code that stock JAX hoists."""
    embed_threshold = stock_embed_threshold()
    return tuple(
        use
        for use in captured_uses(closed)
        if use.array.bytes > embed_threshold and use.array.shape and not use.array.key
    )


# -- what several detectors need -------------------------------------------------------------------


def is_committed(value: Any) -> bool:
    """Say whether a value is a `jax.Array` that is committed to its devices, or stands for one."""
    if isinstance(value, jax.ShapeDtypeStruct):
        return value.sharding is not None
    return isinstance(value, jax.Array) and value.committed


def devices_of(stated: Any) -> tuple[Any, ...]:
    """Return the devices of a sharding or mesh in order; () for an abstract mesh or an empty one.

    Example::

        devices_of(x.sharding) == (jax.devices()[0],)
    """
    mesh = getattr(stated, "mesh", stated)
    if isinstance(mesh, Mesh):
        return () if mesh.empty else tuple(mesh.devices.flat)
    is_known = isinstance(stated, Sharding) and not isinstance(mesh, AbstractMesh)
    return devices_in_order(stated) if is_known else ()


STATES_A_MESH = {"shard_map": "mesh", "sharding_constraint": "sharding"}
_PLACES_OF = {
    **{name: (param,) for name, param in STATES_A_MESH.items()},
    "device_put": ("devices",),
    "jit": ("in_shardings", "out_shardings"),
}


def stated_places(body: Any, seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the mesh, sharding or memory that each equation states, those in bodies included.

    They decide on which devices the whole program runs, and commit its outputs. A `device_put` to a
    device states none. An abstract mesh takes the devices of the arguments. Each jaxpr is read
    once, and none that is in `seen`.
    """
    seen, jaxpr = set() if seen is None else seen, inner(body)
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        for param in _PLACES_OF.get(name, ()):
            stated = equation.params[param]
            for each in stated if isinstance(stated, tuple) else (stated,):
                if isinstance(each, (AbstractMesh, Mesh, Sharding)) or _is_memory(each):
                    yield name, getattr(each, "mesh", each)
        for each in bodies_of(equation):
            yield from stated_places(each.jaxpr, seen)


def _is_memory(stated: Any) -> bool:
    return type(stated).__name__ in ("MemorySpace", "TransferToMemoryKind")  # the latter in 0.7.0


def transfer_guards() -> dict[str, str | None]:
    """Return the transfer guards in force, by direction."""
    return {way: getattr(jax.config, name) for way, name in _GUARDS.items()}


def default_device() -> Any:
    """Return the device on which JAX runs what nothing places."""
    chosen = getattr(jax.config, _DEFAULT_DEVICE)
    if chosen is None or isinstance(chosen, str):
        return jax.local_devices(backend=chosen)[0]
    return chosen


def named(devices: Iterable[Any]) -> str:
    """Return the names of devices, for a message."""
    return ", ".join(map(str, devices))


def hazard_of(kind: HazardKind, use: CapturedUse, what: str, fix: str) -> Hazard:
    """Return the row of a hazard that one captured array brings."""
    array = use.array
    owner = "NumPy array" if isinstance(array.value, np.ndarray) else "jax.Array"
    return Hazard(
        kind=kind,
        file=use.place.file,
        line=use.place.line,
        array=f"{owner} {type_of(array.value)}",
        what=what,
        fix=fix,
    )


# -- whether two jaxprs are one program, whichever form their captured arrays have -----------------
# In legacy a captured array is a constvar and leads the operands of each body that uses it; in
# simplified it stands in Literals. Neither counts here: an operand is a captured value, or the
# result of an earlier equation.

# Parameters that count the operands that hold captured arrays, or the operands one by one.
_COUNTS = (*CONST_COUNTS, "const_lengths")
_SIMPLE = (bool, int, float, str, type(None))


def is_same_program(left: Any, right: Any) -> bool:
    """Say whether two closed_jaxprs compute the same by the same equations, but for dead code."""
    return _described(left) == _described(right)


def _described(closed: Any) -> list[Hashable]:
    live = live_part(closed)
    walk = _Walk()
    inputs = [walk.new() for _ in live.jaxpr.invars]
    outputs = evaluate(live, inputs, walk)
    return [*walk.equations, *outputs]


class _Walk(Domain[Hashable]):
    """Describes the equations in their order; a value is a number, a captured value its digest."""

    def __init__(self) -> None:
        self.equations: list[Hashable] = []
        self._count = 0

    def new(self) -> Hashable:
        self._count += 1
        return self._count

    def constant(self, value: Any, aval: Any) -> Hashable:
        array = captured_value(value)
        text = repr(value) if array is None else array.digest()
        scalar = array is None and hasattr(value, "item")  # 2.0 of Python and of NumPy alike
        return ("constant", str(aval.dtype), repr(value.item()) if scalar else text)

    def unbound(self, var: Any) -> Hashable:
        return ("unbound", str(var.aval))

    def equation(self, equation: Any, operands: list[Hashable]) -> Sequence[Hashable]:
        bodies = bodies_of(equation)
        # An operand that only hands a captured array to a body is not there in the other form. A
        # first carry, or what a scatter adds, is there in both.
        handed = {number for body in bodies for number in body.operands or ()}
        shown = [
            each
            for number, each in enumerate(operands)
            if not (number in handed and isinstance(each, tuple))
        ]
        self.equations.append((equation.primitive.name, tuple(shown), self._params(equation)))
        for body in bodies:
            # New numbers for the inputs of a body that no captured value stands for.
            inputs = [
                each if isinstance(each, tuple) else self.new() for each in body.inputs(operands, 0)
            ]
            self.equations.append(("outputs", *evaluate(body.jaxpr, inputs, self)))
        results = [self.new() for _ in equation.outvars]
        self.equations.append(tuple(str(var.aval) for var in equation.outvars))
        return results

    def _params(self, equation: Any) -> tuple[Hashable, ...]:
        has_bodies = any(True for _ in bodies_in(equation.params.values()))
        kept = {
            name: value
            for name, value in equation.params.items()
            if name not in _COUNTS and (not has_bodies or isinstance(value, _SIMPLE))
        }
        return tuple(f"{name}={_said(kept[name])}" for name in sorted(kept))


def _said(value: Any) -> str:
    """Return what a param says; functions are told apart by their code, as far as that is known."""
    text = repr(value)
    without = without_addresses(text)
    if without == text:
        return text
    try:
        return f"{without} {number(encoded(value)).hex()}"
    except Exception:  # noqa: BLE001 - it has no rule, or is the user's and raises what it likes
        return without
