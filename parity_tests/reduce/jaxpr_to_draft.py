"""A program's jaxpr to a draft, and the value of every variable in it.

`read` evaluates the jaxpr one equation at a time and records the results, so that a result can
stand for an equation that is cut. Bodies of control flow are walked once, with the inputs of their
first turn, to find values for their variables. `read_unevaluated` runs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.extend import core
from jax.extend.core import primitives

from parity_tests.jax_defaults import jax_defaults, with_64_bits
from parity_tests.jaxpr.bodies import Call, Cond, LinearSolve, Scan, While, inner, structure_of
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.interpreter import evaluate
from parity_tests.own_jit import OwnJit
from parity_tests.program import Program
from parity_tests.reduce.draft import FUNCTIONS, SCATTERS, Atom, Body, Draft, Equation, Var
from parity_tests.reduce.held_values import CannotReadError, HeldArrays, HeldValues
from parity_tests.reduce.python_literals import UnwritableError, source_of

_PUBLIC = {
    id(value): name for name, value in vars(primitives).items() if isinstance(value, core.Primitive)
}
# Calls that a draft has under another name, because Python writes them so.
_WRITTEN_AS = {
    **dict.fromkeys(("closed_call", "call", "eval_jaxpr"), "jit"),
    "remat2": "checkpoint",
}


@dataclass(frozen=True)
class Reading:
    """A draft of a program, and what its variables and captured arrays hold, by number."""

    draft: Draft
    store: dict[int, np.ndarray[Any, Any]]


def read(program: Program) -> Reading:
    """Trace a program and make a draft of it.

    An equation that cannot be written is in the draft, and says why. Raises `CannotReadError` where
    an argument or a captured array cannot be written, and whatever the program raises.
    """
    own = program.build_with_jit()
    args, kwargs = own.dynamic
    closed = jax.jit(own.bound).trace(*args, **kwargs).jaxpr
    leaves = jax.tree_util.tree_leaves((args, kwargs))
    if len(leaves) != len(closed.jaxpr.invars):
        raise CannotReadError("the program has arguments that are no arrays; capture them instead")
    held = HeldValues()
    # In 64 bits whatever the setting: nothing in the jaxpr is truncated.
    with with_64_bits(), jax_defaults():
        draft = _draft(closed, leaves, held)
    if own.donates:
        draft = _donating(draft, own, leaves, held)
    return Reading(_with_x64(draft), held.host)


def _donating(draft: Draft, own: OwnJit, leaves: Sequence[Any], held: HeldArrays) -> Draft:
    """Return the draft with what its jit donates, and which arguments are captured as well."""
    traced = jax.jit(own.fun, **own.options).trace(*own.args, **own.kwargs)
    infos = jax.tree.leaves(traced.args_info)
    numbers = [array.number for array in draft.arguments]
    captured = [
        (n, held.captured.get(identity(leaf))) for n, leaf in zip(numbers, leaves, strict=True)
    ]
    return replace(
        draft,
        donated=tuple(n for n, info in zip(numbers, infos, strict=True) if info.donated),
        same=tuple((n, array.number) for n, array in captured if array is not None),
    )


def read_unevaluated(closed_jaxpr: Any, operands: Sequence[Any]) -> tuple[Draft, dict[int, Any]]:
    """Make a draft of a traced program, and return it with the arrays that it has, by number.

    Nothing is evaluated and no array is copied: the program may have effects, and its arrays are
    the user's own. Raises `CannotReadError` as `read` does.
    """
    held = HeldArrays()
    return _with_x64(_draft(closed_jaxpr, operands, held)), held.recorded


def _draft(closed: Any, operands: Sequence[Any], held: HeldArrays) -> Draft:
    inputs, arguments = [], []
    for var, operand in zip(closed.jaxpr.invars, operands, strict=True):
        inputs.append(held.new_var(var))
        arguments.append(held.array(inputs[-1].number, operand, inputs[-1].type))
    body = _Reader(held).body(closed, inputs)
    return Draft(body, tuple(arguments), tuple(held.captured.values()), held.wide)


def _with_x64(draft: Draft) -> Draft:
    """Return the draft with `jax_enable_x64` on where it is on here, or a type has 64 bits."""
    return replace(draft, x64=draft.x64 or bool(jax.config.jax_enable_x64))  # type: ignore[attr-defined]


class _Reader:
    """Reads the bodies of one program; `made_by` has the equation that made a variable."""

    def __init__(self, held: HeldArrays) -> None:
        self.held = held
        self.made_by: dict[int, Equation] = {}

    def body(self, body: Any, inputs: Sequence[Var], closed_over: Sequence[Atom] = ()) -> Body:
        """Read a body; atoms that it closes over stand for its first inputs."""
        atoms = _Atoms(self, self.held)
        outputs = evaluate(body, [*closed_over, *inputs], atoms)
        return Body(tuple(inputs), tuple(atoms.equations), tuple(outputs))


class _Atoms:
    """The domain of one body: a value is an atom of the draft, and equations are collected."""

    def __init__(self, reader: _Reader, held: HeldArrays) -> None:
        self.equations: list[Equation] = []
        self._reader = reader
        self._held = held

    def constant(self, value: Any, aval: Any) -> Atom:
        return self._held.capture(value, aval)

    def unbound(self, var: Any) -> Atom:
        raise CannotReadError("a body has constvars without values")

    def literal(self, literal: Any) -> Atom:
        if isinstance(literal.val, jax.Array) or np.ndim(literal.val):
            return self._held.capture(literal.val, literal.aval)
        return self._held.scalar(literal)

    def equation(self, equation: Any, operands: list[Atom]) -> tuple[Var, ...]:
        results = tuple(self._held.new_var(var) for var in equation.outvars)
        self._held.evaluate(equation, operands, results)
        made = Equation(equation.primitive.name, tuple(operands), results)
        self._reader.made_by.update((var.number, made) for var in results)
        try:
            self.equations.append(self._written(made, equation))
        except UnwritableError as error:
            self.equations.append(replace(made, unwritable=str(error)))
        return results

    def _written(self, made: Equation, equation: Any) -> Equation:
        if equation.effects:
            raise UnwritableError(f"its effects {', '.join(map(str, equation.effects))}")
        match structure_of(equation):
            case Call(body, is_opaque=False):
                _require_plain_call(equation)
                name = _WRITTEN_AS.get(made.primitive, made.primitive)
                call = self._call(name, body, made.operands, made)
                return replace(call, barriers=_barriers(equation))
            case Scan() as loop:
                return self._scan(loop, made, equation)
            case While() as loop:
                return self._while(loop, made)
            case Cond(branches):
                return self._cond(branches, made)
            case LinearSolve() as solve:
                return self._call("jit", *solve.solver(made.operands), made)
        return _first_order(made, equation)

    def _call(self, name: str, body: Any, operands: tuple[Atom, ...], made: Equation) -> Equation:
        inputs = [self._held.new_var(var) for var in inner(body).invars]
        self._held.share(inputs, operands)
        return Equation(name, operands, made.results, bodies=(self._reader.body(body, inputs),))

    def _scan(self, loop: Scan, made: Equation, equation: Any) -> Equation:
        consts, carry, stacked = loop.split(made.operands)
        inputs = [self._held.new_var(var) for var in inner(loop.body).invars[loop.consts :]]
        self._held.share(inputs[: loop.carry], carry)
        self._held.first_turn(inputs[loop.carry :], stacked, loop)
        body = self._reader.body(loop.body, inputs, consts)
        names = ("length", "reverse", "unroll")
        texts = tuple((name, source_of(equation.params[name])) for name in names)
        return Equation("scan", (*carry, *stacked), made.results, texts, (body,), loop.carry)

    def _while(self, loop: While, made: Equation) -> Equation:
        [decides] = inner(loop.cond).outvars
        if decides.aval.shape:
            raise UnwritableError(f"its condition for each of a batch, {decides.aval.str_short()}")
        cond_consts, body_consts, carry = loop.split(made.operands)
        bodies = []
        for body, consts in ((loop.cond, cond_consts), (loop.body, body_consts)):
            inputs = [self._held.new_var(var) for var in inner(body).invars[len(consts) :]]
            self._held.share(inputs, carry)
            bodies.append(self._reader.body(body, inputs, consts))
        return Equation("while", tuple(carry), made.results, (), tuple(bodies), len(carry))

    def _cond(self, branches: tuple[Any, ...], made: Equation) -> Equation:
        index, *operands = made.operands
        bodies = tuple(self._reader.body(branch, (), operands) for branch in branches)
        if len(bodies) == 2 and isinstance(index, Var) and index.number in self._reader.made_by:
            # `lax.cond` takes the predicate that the index was converted from.
            maker = self._reader.made_by[index.number]
            if maker.primitive == "convert_element_type" and maker.operands[0].type.dtype == "bool":
                index = maker.operands[0]
        return Equation("cond", (index,), made.results, (), bodies)


def _require_plain_call(equation: Any) -> None:
    params = equation.params
    if equation.primitive.name == "jit":
        specified = [*params["in_shardings"], *params["out_shardings"]]
        if any(type(each).__name__ != "UnspecifiedValue" for each in specified):
            raise UnwritableError("its shardings")
        if params["compiler_options_kvs"]:
            raise UnwritableError("its compiler options")
    if params.get("policy") is not None:
        raise UnwritableError("its policy")


def _barriers(equation: Any) -> tuple[bool, ...]:
    """Return which operands of a checkpoint JAX puts behind a barrier, where it lowers it."""
    params = equation.params
    if not params.get("differentiated") or not (held := params.get("prevent_cse")):
        return ()
    return held if isinstance(held, tuple) else (True,) * len(equation.invars)


def _first_order(made: Equation, equation: Any) -> Equation:
    if id(equation.primitive) not in _PUBLIC and made.primitive not in FUNCTIONS:
        raise UnwritableError("it is not in jax.extend.core.primitives")
    params = dict(equation.params)
    if made.primitive == "device_put":
        # To no device in particular, the function of JAX does the same.
        if any(params["devices"]) or any(params["srcs"]):
            raise UnwritableError("its device")
        params = {}
    if made.primitive in SCATTERS:
        # Written with the function of `jax.lax`, that makes the body of the update itself.
        params = {k: v for k, v in params.items() if not k.startswith("update_")}
    texts = []
    for key, value in params.items():
        try:
            texts.append((key, source_of(value)))
        except UnwritableError as error:
            raise UnwritableError(f"its parameter {key}, {error}") from error
    return replace(made, params=tuple(texts), multiple=equation.primitive.multiple_results)
