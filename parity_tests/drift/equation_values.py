"""The results of a program's equations on one side, each of them an output of the program.

The program is traced on the side, and its jaxpr is then run on it by an interpreter that returns
every number that an equation gives, those in the bodies of inner `jit` calls included. XLA
compiles another program then: what is an output is not fused away, so a difference may vanish or
stand at another equation. Bodies of loops and branches stay closed: they have a result per turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from parity_tests.evidence.values import Value
from parity_tests.jaxpr.places import NOWHERE, Place, place_of
from parity_tests.observe.calls import Result
from parity_tests.observe.measure import jitted_on
from parity_tests.processes.protocol import EquationValue, EquationValues
from parity_tests.program import Program
from reports.rows import Side

# Of all results together; those after it are left out.
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Recorded:
    """The outputs of the program that returns all results, and the results, by equation."""

    outputs: tuple[Value, ...]
    arrays: tuple[Value, ...]
    equations: EquationValues


def outputs(program: Program, side: Side, *, barriers: bool = False) -> tuple[Value, ...]:
    """Call a program once on a side and return its output leaves.

    With `barriers`, its captured arrays are behind optimization barriers, those in the bodies of
    loops and branches excepted: nothing is computed of them when the program is compiled.

        outputs(parity_tests.targets.load_one("my_model:step"), "jax-legacy")[0].array
    """
    if barriers:
        return record(program, side, barriers=True, keep=False).outputs
    fun, args, kwargs = program.build()
    return Result.read(jitted_on(fun, side)(*args, **kwargs)).arrays


def record(program: Program, side: Side, *, barriers: bool = False, keep: bool = True) -> Recorded:
    """Run a program on a side with the result of every equation among its outputs.

    `barriers` are those of `outputs`, and without `keep` there are no results of equations.
    Results of extended dtypes are left out, and those beyond `MOST_BYTES` counted.

        record(parity_tests.targets.load_one("my_model:step"), "jax-legacy").equations
    """
    fun, args, kwargs = program.build()
    traced = jitted_on(fun, side).trace(*args, **kwargs)
    recorder = _Recorder(barriers, keep)

    def run(*inputs: Any) -> tuple[list[Any], list[Any]]:
        recorder.clear()
        return recorder.closed(traced.jaxpr, inputs), recorder.results

    found, results = jitted_on(run, side)(*jax.tree.leaves((args, kwargs)))
    tree = jax.tree.structure(traced.out_info)
    return Recorded(
        Result.read(jax.tree.unflatten(tree, found)).arrays,
        Result.read(results).arrays,
        EquationValues(equations=tuple(recorder.equations), left_out=recorder.left_out),
    )


@dataclass
class _Recorder:
    """Interprets a jaxpr, and keeps the result of each equation with what it is of."""

    barriers: bool
    keep: bool
    results: list[Any] = field(default_factory=list)
    equations: list[EquationValue] = field(default_factory=list)
    left_out: int = 0
    _bytes: int = 0

    def clear(self) -> None:
        self.results, self.equations, self.left_out, self._bytes = [], [], 0, 0

    def closed(
        self,
        closed: Any,
        inputs: Sequence[Any],
        within: tuple[int, ...] = (),
        place: Place = NOWHERE,
        captured: Sequence[Any] = (),
    ) -> list[Any]:
        """Run a closed_jaxpr; `captured` has for each of its inputs the array, or None."""
        jaxpr = closed.jaxpr
        known = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        values = {var: self._hidden(const) for var, const in known.items()}
        values.update(zip(jaxpr.invars, inputs, strict=True))
        known.update(zip(jaxpr.invars, captured, strict=False))  # those of the program have none

        def read(atom: Any) -> Any:
            return self._hidden(atom.val) if isinstance(atom, core.Literal) else values[atom]

        def constant(atom: Any) -> Any:
            return atom.val if isinstance(atom, core.Literal) else known.get(atom)

        for number, equation in enumerate(jaxpr.eqns):
            operands = [read(atom) for atom in equation.invars]
            position, at = (*within, number), place_of(equation, place)
            if equation.primitive.name == "jit":
                constants = [constant(atom) for atom in equation.invars]
                found = self.closed(equation.params["jaxpr"], operands, position, at, constants)
            else:
                found = list(_bind(equation, operands))
                constants = [constant(atom) for atom in equation.invars]
                self._keep(equation, position, at, found, _written(equation, constants))
            values.update(zip(equation.outvars, found, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _hidden(self, value: Any) -> Any:
        """Put an array behind a barrier; scalars and keys stay as they are."""
        dtype = getattr(value, "dtype", None)
        if not self.barriers or dtype is None or not np.ndim(value) or not _is_number(dtype):
            return value
        return jax.lax.optimization_barrier(value)

    def _keep(
        self,
        equation: Any,
        position: tuple[int, ...],
        place: Place,
        found: Sequence[Any],
        written: str,
    ) -> None:
        if not self.keep:
            return
        saved = []
        for result in found:
            dtype = getattr(result, "dtype", None)
            if dtype is None or not _is_number(dtype):
                continue
            size = result.size * dtype.itemsize
            if self._bytes + size > MOST_BYTES:
                self.left_out += 1
                continue
            self._bytes += size
            saved.append(len(self.results))
            self.results.append(result)
        self.equations.append(
            EquationValue(
                primitive=equation.primitive.name,
                position=position,
                file=place.file,
                line=place.line,
                written=written,
                saved=tuple(saved),
            )
        )


def _bind(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    bound = equation.primitive.get_bind_params(equation.params)
    found = equation.primitive.bind(*operands, **bound)
    return found if equation.primitive.multiple_results else [found]


def _is_number(dtype: Any) -> bool:
    return not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) and (
        jnp.issubdtype(dtype, jnp.number) or jnp.issubdtype(dtype, jnp.bool_)
    )


def _written(equation: Any, constants: Sequence[Any]) -> str:
    """Describe what two modes write alike: the types, and the values of what is no variable.

    Equations with bodies take captured arrays as operands in one mode alone, so of these it is the
    types of the results.
    """
    results = ", ".join(str(var.aval) for var in equation.outvars)
    if any(_has_body(each) for each in equation.params.values()):
        return results
    return f"{', '.join(map(_operand, equation.invars, constants))} -> {results}"


def _has_body(param: Any) -> bool:
    if isinstance(param, (tuple, list)):
        return any(_has_body(each) for each in param)
    return isinstance(param, (core.Jaxpr, core.ClosedJaxpr))


def _operand(atom: Any, constant: Any) -> str:
    if constant is None or jax.dtypes.issubdtype(atom.aval.dtype, jax.dtypes.extended):
        return str(atom.aval)
    bits = np.asarray(constant).astype(atom.aval.dtype)
    if bits.ndim == 0:
        return f"{atom.aval} {bits!s}"
    return f"{atom.aval} with the digest {hashlib.sha256(bits.tobytes()).hexdigest()[:12]}"
