"""Bodies: the one table of primitives whose equations have jaxprs among their parameters.

`structure_of` reads the parameters of an equation into a record of its kind: a `Call`, a `Cond`, a
`While`, a `Scan`, a `LinearSolve` or `Held`. No other file knows which parameters these are.
`bodies_of` says for any equation which bodies it has, and which operand each input of a body stands
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import jax
from jax.extend import core

T = TypeVar("T")


@dataclass(frozen=True)
class Body:
    """A jaxpr or closed_jaxpr in an equation, and the operands that its inputs stand for.

    `operands` has a number of an operand for each input, or None for an input that changes from
    turn to turn, such as a carry. It is None as a whole where nothing is known of the inputs.
    `is_call` says that the outputs of the body are the results of the equation.
    """

    jaxpr: Any
    operands: tuple[int | None, ...] | None = None
    is_call: bool = False

    def inputs(self, operands: Sequence[T], unknown: T) -> list[T]:
        """Return what the inputs stand for; `unknown` for those that no operand tells."""
        if self.operands is None:
            return [unknown] * len(inner(self.jaxpr).invars)
        return [unknown if number is None else operands[number] for number in self.operands]


# -- the kinds of equations with bodies ------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A body that is called once with the operands one by one.

    `is_opaque` says that the primitive does more than call its body: a composite may be replaced by
    a backend, a shard_map runs its body on each device.
    """

    body: Any
    operand_count: int
    is_opaque: bool = False

    def bodies(self) -> tuple[Body, ...]:
        """Return the one body."""
        if len(inner(self.body).invars) != self.operand_count:
            return (Body(self.body),)
        return (Body(self.body, tuple(range(self.operand_count)), is_call=True),)


@dataclass(frozen=True)
class Cond:
    """One branch of several is called; the first operand is its number."""

    branches: tuple[Any, ...]

    def bodies(self) -> tuple[Body, ...]:
        """Return the branches."""
        return tuple(
            Body(branch, tuple(range(1, 1 + len(inner(branch).invars)))) for branch in self.branches
        )


@dataclass(frozen=True)
class While:
    """A loop with a condition; its operands are constants of both bodies, then the carry."""

    cond: Any
    body: Any
    cond_consts: int
    body_consts: int

    def bodies(self) -> tuple[Body, ...]:
        """Return the condition and the body."""
        return (
            _with_constants(self.cond, 0, self.cond_consts),
            _with_constants(self.body, self.cond_consts, self.body_consts),
        )

    def split(self, operands: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
        """Split operands into constants of the condition, constants of the body, and carry."""
        start = self.cond_consts + self.body_consts
        return operands[: self.cond_consts], operands[self.cond_consts : start], operands[start:]


@dataclass(frozen=True)
class Scan:
    """A loop over rows; its operands are constants of the body, the carry, and stacked rows."""

    body: Any
    consts: int
    carry: int
    length: int
    reverse: bool

    def bodies(self) -> tuple[Body, ...]:
        """Return the one body."""
        return (_with_constants(self.body, 0, self.consts),)

    def split(self, operands: Sequence[T]) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
        """Split operands into constants, carry and stacked rows."""
        start = self.consts + self.carry
        return operands[: self.consts], operands[self.consts : start], operands[start:]


@dataclass(frozen=True)
class LinearSolve:
    """Four bodies of a solver, each with constants of its own, then the right-hand sides.

    `functions` are matvec, vecmat, solve and transpose_solve, None where one is missing.
    """

    functions: tuple[Any, ...]
    const_lengths: tuple[int, ...]

    def bodies(self) -> tuple[Body, ...]:
        """Return the functions that there are."""
        return tuple(
            _with_constants(function, start, length)
            for function, start, length in zip(
                self.functions, self._starts(), self.const_lengths, strict=True
            )
            if function is not None
        )

    def solver(self, operands: Sequence[T]) -> tuple[Any, tuple[T, ...]]:
        """Return the function that solves, and its operands: constants and right-hand sides."""
        start, length = self._starts()[2], self.const_lengths[2]
        right_hand_sides = operands[sum(self.const_lengths) :]
        return self.functions[2], (*operands[start : start + length], *right_hand_sides)

    def _starts(self) -> list[int]:
        return [sum(self.const_lengths[:n]) for n in range(len(self.const_lengths))]


@dataclass(frozen=True)
class Held:
    """Bodies that a hijax primitive holds for rules of its own, which may not call them."""

    held: tuple[Any, ...]

    def bodies(self) -> tuple[Body, ...]:
        """Return the bodies."""
        return tuple(map(Body, self.held))


Structure: TypeAlias = Call | Cond | While | Scan | LinearSolve | Held


def _with_constants(body: Any, start: int, count: int) -> Body:
    changing = len(inner(body).invars) - count
    return Body(body, (*range(start, start + count), *[None] * changing))


# Parameters that count the operands that stand for constants of a body.
CONST_COUNTS = ("num_consts", "cond_nconsts", "body_nconsts")
# From 0.11.0 on a scan has a tree in their place: the constants, the carry and the rows.
_TREE_OF_SCAN = "ft_in"


def const_count(params: Mapping[str, Any]) -> int:
    """Return how many operands stand for constants of bodies, as the parameters count them."""
    counts = [params[name] for name in CONST_COUNTS if isinstance(params.get(name), int)]
    if _TREE_OF_SCAN in params:
        counts.append(len(params[_TREE_OF_SCAN].unpack()[0]))
    return sum(counts)


# -- the table (jax 0.8.0 to 0.12.0.1) -------------------------------------------------------------


def _call(param: str, *, is_opaque: bool = False) -> Callable[[Any], Call]:
    return lambda equation: Call(equation.params[param], len(equation.invars), is_opaque)


def _composite(equation: Any) -> Call:
    params = equation.params
    body = params["call_jaxpr"] if "call_jaxpr" in params else params["jaxpr"]  # from 0.11.2 on
    return Call(body, len(equation.invars), is_opaque=True)


def _cond(equation: Any) -> Cond:
    return Cond(tuple(equation.params["branches"]))


def _while(equation: Any) -> While:
    params = equation.params
    return While(
        params["cond_jaxpr"], params["body_jaxpr"], params["cond_nconsts"], params["body_nconsts"]
    )


def _scan(equation: Any) -> Scan:
    params = equation.params
    if _TREE_OF_SCAN in params:
        consts, carry, _ = map(len, params[_TREE_OF_SCAN].unpack())
    else:
        consts, carry = params["num_consts"], params["num_carry"]
    return Scan(params["jaxpr"], consts, carry, params["length"], params["reverse"])


def _linear_solve(equation: Any) -> LinearSolve:
    return LinearSolve(tuple(equation.params["jaxprs"]), tuple(equation.params["const_lengths"]))


_HIJAX = "call_hi_primitive"
# JAX's hijax primitives that call the one body that they hold, or that a traced stage of theirs
# holds (jax 0.12.0.1): with `jax_custom_jvp3`, `jax_custom_vjp3` and `jax_remat3` functions with
# rules for derivatives and checkpointed ones are such primitives.
_CALL_THEIR_BODY = {"CustomJVPTraced", "CustomVJPTraced", "Fusible", "OptRemat", "RematTraced"}


def _hijax(equation: Any) -> Call | Held | None:
    """Read a hijax primitive, the one param: an object that may hold a body or a traced stage."""
    [primitive] = equation.params.values()
    held = vars(primitive).values()
    found = [value if is_body(value) else getattr(value, "jaxpr", None) for value in held]
    bodies = tuple(value for value in found if is_body(value))
    if _is_of_jax(primitive) and type(primitive).__name__ in _CALL_THEIR_BODY and len(bodies) == 1:
        operands = len(equation.invars)
        return Call(bodies[0], operands, is_opaque=len(inner(bodies[0]).invars) != operands)
    return Held(bodies) if bodies else None


def _is_of_jax(primitive: Any) -> bool:
    return type(primitive).__module__.partition(".")[0] == "jax"


_TABLE: dict[str, Callable[[Any], Structure | None]] = {
    "jit": _call("jaxpr"),
    "closed_call": _call("call_jaxpr"),
    "call": _call("call_jaxpr"),
    "eval_jaxpr": _call("call_jaxpr"),  # both of them from 0.11.1 on
    "checkpoint": _call("jaxpr"),
    "remat2": _call("jaxpr"),
    "custom_jvp_call": _call("call_jaxpr"),
    "custom_vjp_call": _call("call_jaxpr"),
    "custom_vmap_call": _call("call", is_opaque=True),
    "remat_opt": _call("fwd_jaxpr"),  # of `custom_vjp`, with `optimize_remat`
    "composite": _composite,
    "xla_metadata_call": _call("jaxpr"),  # from 0.11.0 on
    "shard_map": _call("jaxpr", is_opaque=True),
    "cond": _cond,
    "while": _while,
    "scan": _scan,
    "custom_linear_solve": _linear_solve,
    _HIJAX: _hijax,
}

HAVE_BODIES = frozenset(_TABLE)  # primitives whose equations `structure_of` reads


def structure_of(equation: Any) -> Structure | None:
    """Read the bodies of an equation and their operands; None for a primitive not in the table.

    A primitive whose parameters a later release of JAX has renamed counts as one of these.
    """
    read = _TABLE.get(equation.primitive.name)
    try:
        return None if read is None else read(equation)
    except KeyError:
        return None


def bodies_of(equation: Any) -> tuple[Body, ...]:
    """Return the bodies of an equation, with the operands that their inputs stand for.

    Of a primitive that is not in the table, every body is found, and nothing is known of its
    inputs.

    Example::

        [body] = bodies_of(equation_of_a_scan)
        body.operands == (0, None, None)
    """
    structure = structure_of(equation)
    if structure is None:
        return tuple(map(Body, bodies_in(equation.params.values())))
    return structure.bodies()


def bodies_seen_by_jax(equation: Any) -> tuple[Body, ...]:
    """Return the bodies of an equation in which JAX looks for constants.

    Of a primitive that is not in the table these are its params, and the items of tuples among
    them: JAX hoists nothing of what lies deeper (`jaxprs_in_params`, jax 0.10.2).
    """
    if structure_of(equation) is not None:
        return bodies_of(equation)
    params = equation.params.values()
    items = [item for value in params for item in (value if isinstance(value, tuple) else (value,))]
    return tuple(Body(each) for each in items if is_body(each))


# -- any body --------------------------------------------------------------------------------------


def folded(body: Any, of: Callable[[Any, Callable[[Any], T]], T]) -> T:
    """Return what `of` makes of a jaxpr; it is given the jaxpr, and what folds a body in it.

    Each jaxpr is asked for once, because shared bodies can nest deeply.

    Example::

        folded(closed, lambda jaxpr, inside: len(jaxpr.eqns)) == 3
    """
    return _folded(of, {}, body)


def _folded(of: Callable[[Any, Callable[[Any], T]], T], known: dict[int, T], body: Any) -> T:
    jaxpr = inner(body)
    if id(jaxpr) not in known:
        known[id(jaxpr)] = of(jaxpr, partial(_folded, of, known))
    return known[id(jaxpr)]


def inner(body: Any) -> Any:
    """Return the jaxpr of a body, which may be closed."""
    return body.jaxpr if isinstance(body, core.ClosedJaxpr) else body


def constants_of(body: Any) -> dict[Any, Any]:
    """Return the values of the constvars of a body; a body that is not closed has none.

    A tracer is no value: it stands for an operand (from 0.11.0 on each jaxpr holds what it
    captured, tracers of the function around it too).
    """
    if not isinstance(body, core.ClosedJaxpr):
        return {}
    values = zip(body.jaxpr.constvars, body.consts, strict=True)
    return {var: value for var, value in values if not isinstance(value, jax.core.Tracer)}


_BODIES = (core.Jaxpr, core.ClosedJaxpr)


def is_body(value: Any) -> bool:
    """Say whether a value of a parameter is a body."""
    return isinstance(value, _BODIES)


def bodies_in(values: Any) -> Iterator[Any]:
    """Yield every jaxpr and closed_jaxpr in values of parameters."""
    for value in values:
        if isinstance(value, _BODIES):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from bodies_in(value)
        elif isinstance(value, dict):
            yield from bodies_in(value.values())
