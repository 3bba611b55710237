"""The results of a program's equations on one side, each of them an output of the program.

The program is traced on the side. Its jaxpr is then interpreted on the same side, and every number
that an equation gives is returned, also in the bodies of inner `jit` calls. XLA compiles another
program then: it fuses no output away, so a difference may vanish or stand at another equation.
Bodies of loops and branches are not entered: their equations have a result for each turn.

Each equation is marked by whether one output depends on it. A result depends on all operands of its
equation, also where that has a body, and equations with effects depend on each other.

XLA computes or rewrites equations of which it knows an operand. The results of those that constants
go into can be had alone: a program with fewer outputs compiles in less time.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.evidence.values import Value
from parity_tests.jaxpr.bodies import bodies_of
from parity_tests.jaxpr.interpreter import Domain, bind, evaluate
from parity_tests.jaxpr.source_places import NOWHERE, Place, place_of
from parity_tests.observe.calls import Result
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.processes.protocol import EquationValue, EquationValues, Rerun, XlaOptions
from parity_tests.program import Program
from reports.rows import Side

# The most bytes of all results together; later results are left out.
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class EquationResults:
    """The outputs of the program that returns all results, and the results, by equation.

    `staging` are the seconds of the processors that JAX took to trace, lower and compile it.
    """

    outputs: tuple[Value, ...]
    arrays: tuple[Value, ...]
    equations: EquationValues
    staging: float


@dataclass
class _Staging:
    """What JAX takes of the processors to trace, lower and compile, in seconds."""

    seconds: float = 0.0

    def traced(self, jitted: Any, *args: Any, **kwargs: Any) -> Any:
        with self._counted():
            return jitted.trace(*args, **kwargs)

    def compiled(self, jitted: Any, xla: XlaOptions, *args: Any, **kwargs: Any) -> Any:
        with self._counted():
            # Options of this compilation alone: XLA_FLAGS would take a process for each set.
            return jitted.lower(*args, **kwargs).compile(compiler_options=xla or None)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.seconds += time.process_time() - begun


@jax.disable_jit(False)  # as a measurement
def run(program: Program, side: Side, order: Rerun) -> EquationResults:
    """Call a program once on a side, compiled with XLA's options.

    With barriers, its captured arrays are behind optimization barriers, so that XLA computes
    nothing of them when it compiles; arrays in the bodies of loops and branches are not. As
    arguments, no compiler knows the values of the same arrays. Of the equations that are asked for,
    results of extended dtypes are left out; results beyond `MOST_BYTES` are left out and counted.
    """
    fun, args, kwargs = program.build()
    jitted, staging = jitted_on(fun, side), _Staging()
    if order.equations == "none" and not (order.barriers or order.as_arguments):
        if order.xla:
            result = staging.compiled(jitted, order.xla, *args, **kwargs)(*args, **kwargs)
        else:  # as the user calls it; what JAX takes is not told apart
            result = jitted(*args, **kwargs)
        return EquationResults(Result.read(result).arrays, (), EquationValues(), staging.seconds)
    traced = staging.traced(jitted, *args, **kwargs)
    results = _Results(order)
    hidden = _Handed() if order.as_arguments else _behind_a_barrier if order.barriers else _as_it_is
    returns_outputs = order.equations != "constants"
    asked = _numbers_of(order.output, traced.out_info)

    def interpreted(handed: Sequence[Any], *inputs: Any) -> tuple[list[Any], list[Any]]:
        results.clear()
        if isinstance(hidden, _Handed):
            hidden.arguments = handed
        operands = [_Operand(each) for each in inputs]
        found = evaluate(traced.jaxpr, operands, _Recording(results, hidden))
        results.mark([found[number] for number in asked])
        return [output.traced for output in found if returns_outputs], results.arrays

    leaves = jax.tree.leaves((args, kwargs))
    handed: Sequence[Any] = ()
    if isinstance(hidden, _Handed):
        jax.eval_shape(partial(interpreted, ()), *leaves)
        handed = hidden.delivered_by(side)
    compiled = staging.compiled(jitted_on(interpreted, side), order.xla, handed, *leaves)
    found, arrays = compiled(handed, *leaves)
    tree = jax.tree.structure(traced.out_info if returns_outputs else [])
    return EquationResults(
        Result.read(jax.tree.unflatten(tree, found)).arrays,
        Result.read(arrays).arrays,
        EquationValues(equations=tuple(results.equations), left_out=results.left_out),
        staging.seconds,
    )


@dataclass
class _Results:
    """The results of equations that were kept, with the equation that each is of."""

    order: Rerun
    arrays: list[Any] = field(default_factory=list)
    equations: list[EquationValue] = field(default_factory=list)
    left_out: int = 0
    _bytes: int = 0
    # For each equation that was run, the equations that it depends on; the first stands for all
    # that have effects, each of which may depend on each other one.
    _sources: list[set[int]] = field(default_factory=lambda: [set()])
    _numbers: list[int] = field(default_factory=list)  # of the equations that are kept

    def takes(self, has_constant: bool) -> bool:
        """Say whether the results of an equation are kept."""
        asked = self.order.equations
        return asked == "all" or (asked == "constants" and has_constant)

    def clear(self) -> None:
        self.arrays, self.equations, self.left_out, self._bytes = [], [], 0, 0
        self._sources, self._numbers = [set()], []

    def ran(self, equation: Any, operands: Sequence[_Operand]) -> int:
        """Return the number of an equation that was run; its results need all operands."""
        sources = {each.made_by for each in operands if each.made_by is not None}
        number = len(self._sources)
        self._sources.append(sources)
        if equation.effects or any(_is_reference(each.aval) for each in equation.invars):
            sources.add(_EFFECTS)
            self._sources[_EFFECTS].add(number)
        return number

    def mark(self, outputs: Sequence[_Operand]) -> None:
        """Mark the equations that are kept by whether one of the outputs depends on them."""
        needed: set[int] = set()
        more = {each.made_by for each in outputs if each.made_by is not None}
        while more:
            needed |= more
            more = set().union(*(self._sources[each] for each in more)) - needed
        self.equations = [
            each.model_copy(update={"is_needed": number in needed})
            for each, number in zip(self.equations, self._numbers, strict=True)
        ]

    def add(
        self,
        equation: Any,
        number: int,
        position: tuple[int, ...],
        place: Place,
        written: str,
        results: Sequence[Any],
    ) -> None:
        self._numbers.append(number)
        self.equations.append(
            EquationValue(
                primitive=equation.primitive.name,
                position=position,
                file=place.file,
                line=place.line,
                written=written,
                saved=tuple(self._saved(results)),
            )
        )

    def _saved(self, results: Sequence[Any]) -> Iterator[int]:
        for result in results:
            dtype = getattr(result, "dtype", None)
            if dtype is None or not _is_number(dtype) or _is_reference(jax.typeof(result)):
                continue
            size = result.size * dtype.itemsize
            if self._bytes + size > MOST_BYTES:
                self.left_out += 1
                continue
            self._bytes += size
            yield len(self.arrays)
            self.arrays.append(result)


_EFFECTS = 0


def _numbers_of(output: str, outputs: Any) -> list[int]:
    """Return the numbers of the outputs at a path; of all where there is none."""
    flat, _ = jax.tree_util.tree_flatten_with_path(outputs)
    found = [n for n, (path, _) in enumerate(flat) if jax.tree_util.keystr(path) == output]
    return found or list(range(len(flat)))


class _Operand(NamedTuple):
    """A value as the program is traced, and the captured array or scalar that it is, or None.

    It is known where constants alone decide it, and `is_array` where it is one or is made of one.
    Scalars alone do not count: every mode inlines them. `made_by` is the number of the equation
    that it is a result of.
    """

    traced: Any
    constant: Any = None
    is_known: bool = False
    is_array: bool = False
    made_by: int | None = None


@dataclass
class _Recording(Domain[_Operand]):
    """The domain of one body: it runs each equation and keeps the results.

    Bodies of `jit` are entered, each with a recording of its own. `within` has the numbers of the
    equations around the body, from the outside in, and `place` the line of the innermost.
    """

    results: _Results
    hidden: Callable[[Any], Any]
    within: tuple[int, ...] = ()
    place: Place = NOWHERE
    _count: int = 0

    def constant(self, value: Any, aval: Any) -> _Operand:
        if _is_reference(aval):  # what it holds may change from equation to equation
            return _Operand(value)
        return _Operand(self._hidden(value), value, is_known=True, is_array=_has_axes(aval))

    def equation(self, equation: Any, operands: list[_Operand]) -> list[_Operand]:
        position, place = (*self.within, self._count), place_of(equation, self.place)
        self._count += 1
        if equation.primitive.name == "jit":
            [body] = bodies_of(equation)
            inside = _Recording(self.results, self.hidden, position, place)
            outputs = evaluate(body.jaxpr, operands, inside)
            return [output._replace(constant=None) for output in outputs]
        found = bind(equation, [operand.traced for operand in operands])
        number = self.results.ran(equation, operands)
        # Arrays that a body captures are operands in one mode alone, so all with bodies count.
        has_constant = bool(bodies_of(equation)) or any(
            operand.is_known and operand.is_array for operand in operands
        )
        if self.results.takes(has_constant):
            written = _written(equation, [operand.constant for operand in operands])
            self.results.add(equation, number, position, place, written, found)
        is_known = not equation.effects and all(operand.is_known for operand in operands)
        return [
            _Operand(result, None, is_known, has_constant or _has_axes(var.aval), number)
            for var, result in zip(equation.outvars, found, strict=True)
        ]

    def _hidden(self, value: Any) -> Any:
        """Hide an array; scalars and keys stay as they are."""
        dtype = getattr(value, "dtype", None)
        if dtype is None or not np.ndim(value) or not _is_number(dtype):
            return value
        return self.hidden(value)


def _as_it_is(value: Any) -> Any:
    return value


def _behind_a_barrier(value: Any) -> Any:
    return jax.lax.optimization_barrier(value)


class _Handed:
    """Captured arrays as arguments: one trace meets them, and the next one takes the arguments."""

    def __init__(self) -> None:
        self.arguments: Sequence[Any] = ()
        self._met: list[Any] = []
        self._places: dict[int, int] = {}  # the arrays are held in `_met`, so ids are their own

    def __call__(self, value: Any) -> Any:
        if self.arguments:
            return self.arguments[self._places[id(value)]]
        self._places.setdefault(id(value), len(self._met))
        self._met.append(value)
        return value

    def delivered_by(self, side: Side) -> Sequence[Any]:
        """Return the arrays that were met; none where the side gives a program other bits of them.

        Then the side's way to capture is at fault, and arguments would hide the fault.
        """
        met = tuple(self._met)
        given = jitted_on(lambda: met, side)() if met else ()
        same = (_bits(a) == _bits(b) for a, b in zip(met, given, strict=True))
        return met if all(same) else ()


def _has_axes(aval: Any) -> bool:
    return getattr(aval, "ndim", 0) > 0  # a token has none


def _is_reference(aval: Any) -> bool:
    """Say whether a type is that of `jax.new_ref`, which no program returns."""
    return hasattr(aval, "inner_aval")


def _bits(array: Any) -> bytes:
    return np.asarray(array).tobytes()


def _is_number(dtype: Any) -> bool:
    return not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) and (
        jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
    )


def _written(equation: Any, constants: Sequence[Any]) -> str:
    """Describe an equation in words that both modes share: types, and the values of constants.

    Equations with bodies take captured arrays as operands in one mode alone, so only the types of
    their results are told.
    """
    results = ", ".join(str(var.aval) for var in equation.outvars)
    if bodies_of(equation):
        return results
    return f"{', '.join(map(_operand, equation.invars, constants))} -> {results}"


def _operand(atom: Any, constant: Any) -> str:
    if constant is None or jax.dtypes.issubdtype(atom.aval.dtype, jax.dtypes.extended):
        return str(atom.aval)
    bits = np.asarray(constant).astype(atom.aval.dtype)
    if bits.ndim == 0:
        return f"{atom.aval} {bits!s}"
    return f"{atom.aval} with the digest {hashlib.sha256(bits.tobytes()).hexdigest()[:12]}"
