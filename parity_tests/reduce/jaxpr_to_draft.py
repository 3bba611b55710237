"""Reading: a program's jaxpr to a draft, and what every variable of it holds.

The jaxpr is evaluated one equation at a time, and the results are recorded, so that an equation can
be replaced by what it returned. Bodies of control flow are walked once, with the inputs of their
first turn, for what their variables may hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.extend.core import primitives

from parity_tests.jaxpr.bodies import constants_of, inner
from parity_tests.jaxpr.counts import identity
from parity_tests.program import Program
from parity_tests.reduce.draft import (
    Array,
    Atom,
    Body,
    Captured,
    Draft,
    Equation,
    Scalar,
    Type,
    Var,
)
from parity_tests.reduce.python_source import UnwritableError, impl_name, scalar_source, source_of

# Larger arrays are not recorded: ones stand for them.
LARGEST = 64 * 2**20

_PUBLIC = {
    id(value): name for name, value in vars(primitives).items() if isinstance(value, core.Primitive)
}
# Each primitive with a body that is called with its operands, by the parameter that has the body.
_CALLS = {
    "jit": ("jit", "jaxpr"),
    "closed_call": ("jit", "call_jaxpr"),
    "core_call": ("jit", "call_jaxpr"),
    "remat2": ("checkpoint", "jaxpr"),
    "checkpoint": ("checkpoint", "jaxpr"),
    "custom_jvp_call": ("custom_jvp_call", "call_jaxpr"),
    "custom_vjp_call": ("custom_vjp_call", "call_jaxpr"),
}
_SCATTERS = frozenset({"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"})


class CannotReadError(ValueError):
    """A program has no draft; the message says what of it, and what to do."""


@dataclass(frozen=True)
class Reading:
    """A draft of a program, and what its variables and captured arrays hold, by number."""

    draft: Draft
    store: dict[int, np.ndarray[Any, Any]]


def read(program: Program) -> Reading:
    """Trace a program and make a draft of it.

    An equation that cannot be written is in the draft, and says why. Raises `CannotReadError` where
    an argument or a captured array cannot, and whatever the program raises.
    """
    fun, args, kwargs = program.build()
    closed = jax.jit(fun).trace(*args, **kwargs).jaxpr
    leaves = jax.tree_util.tree_leaves((args, kwargs))
    if len(leaves) != len(closed.jaxpr.invars):
        raise CannotReadError("the program has arguments that are no arrays; capture them instead")
    reader = _Reader()
    # Beyond 32 bits, whatever the setting, so that nothing is truncated that is in the jaxpr.
    with jax.enable_x64(True):
        inputs = []
        for var, leaf in zip(closed.jaxpr.invars, leaves, strict=True):
            inputs.append(reader.new_var(var))
            reader.arguments.append(reader.array(inputs[-1].number, leaf, inputs[-1].type))
        body = reader.body(closed, inputs, {})
    x64 = bool(jax.config.jax_enable_x64) or reader.wide  # type: ignore[attr-defined]
    draft = Draft(body, tuple(reader.arguments), tuple(reader.captured.values()), x64)
    return Reading(draft, reader.store)


_Env = dict[Any, Atom]


class _Reader:
    def __init__(self) -> None:
        self.arguments: list[Array] = []
        self.captured: dict[Any, Array] = {}
        self.store: dict[int, np.ndarray[Any, Any]] = {}
        self.wide = False
        self._numbers = itertools.count()
        self._values: dict[int, Any] = {}  # what is being computed with, on the default device
        self._scalars: dict[Scalar, Any] = {}
        self._made: dict[int, Equation] = {}  # the equation that made a variable
        self._held: list[Any] = []  # keeps the identities of captured arrays their own

    # -- variables and arrays ----------------------------------------------------------------------

    def new_var(self, var: Any) -> Var:
        return Var(next(self._numbers), self._type(var.aval))

    def _type(self, aval: Any) -> Type:
        dtype = getattr(aval, "dtype", None)
        if dtype is None or not hasattr(aval, "shape"):
            raise CannotReadError(f"{aval} is no array: take mutable references and tokens out")
        self.wide |= str(dtype) in ("int64", "uint64", "float64", "complex128")
        return Type(tuple(aval.shape), str(dtype), bool(getattr(aval, "weak_type", False)))

    def array(self, number: int, value: Any, type_: Type) -> Array:
        """Record an argument or a captured array."""
        if not hasattr(value, "dtype"):
            self._keep(number, np.asarray(value))
            return Array(number, type_, "scalar")
        impl, device = "", None
        if isinstance(value, jax.Array):
            if len(value.sharding.device_set) > 1 or not value.is_fully_addressable:
                raise CannotReadError(
                    f"an array over {len(value.sharding.device_set)} devices cannot be written to "
                    "a file for any machine: put it on one device, and see whether the difference "
                    "is still there"
                )
            if value.committed:
                [device] = [jax.devices().index(each) for each in value.sharding.device_set]
            if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
                impl = self._impl(value.dtype)
        self._keep(number, value, impl)
        made_by = "jax" if isinstance(value, jax.Array) else "numpy"
        return Array(number, type_, made_by, device, impl)  # type: ignore[arg-type]

    def _impl(self, dtype: Any) -> str:
        try:
            return impl_name(dtype)
        except UnwritableError as error:
            raise CannotReadError(f"{error} cannot be written: use a key of JAX's own") from error

    def _keep(self, number: int, value: Any, impl: str = "") -> None:
        """Record what a number holds, and put it on the default device to go on with."""
        host = np.asarray(jax.random.key_data(value) if impl else value)
        plain = jnp.asarray(host)  # uncommitted, so that placement never stops an evaluation
        self._values[number] = jax.random.wrap_key_data(plain, impl=impl) if impl else plain
        if host.nbytes <= LARGEST:
            self.store[number] = host

    def _capture(self, value: Any, aval: Any) -> Captured:
        key = identity(value)
        if key not in self.captured:
            self._held.append(value)
            self.captured[key] = self.array(next(self._numbers), value, self._type(aval))
        return Captured(self.captured[key].number, self.captured[key].type)

    # -- bodies and equations ----------------------------------------------------------------------

    def body(self, body: Any, inputs: Sequence[Var], env: _Env, skip: int = 0) -> Body:
        """Read a body; `env` has what its first `skip` inputs stand for, if it closes over them."""
        jaxpr = inner(body)
        env = {**env, **dict(zip(jaxpr.invars[skip:], inputs, strict=True))}
        for var, value in constants_of(body).items():
            env[var] = self._capture(value, var.aval)
        if len(jaxpr.constvars) != len(constants_of(body)):
            raise CannotReadError("a body has constvars without values")
        equations = tuple(self._equation(each, env) for each in jaxpr.eqns)
        return Body(tuple(inputs), equations, tuple(self._atom(v, env) for v in jaxpr.outvars))

    def _atom(self, atom: Any, env: _Env) -> Atom:
        if not isinstance(atom, core.Literal):
            return env[atom]
        value = atom.val
        if isinstance(value, jax.Array) or np.ndim(value):
            return self._capture(value, atom.aval)
        type_ = self._type(atom.aval)
        # A weakly typed one of default width is a Python scalar; any other says its dtype.
        plain = type_.weak and type_.dtype in ("float32", "int32", "bool", "complex64")
        number = np.asarray(value).astype(atom.aval.dtype)[()]  # type: ignore[attr-defined]
        text = scalar_source(number.item()) if plain else scalar_source(number, type_.dtype)
        scalar = Scalar(text, type_)
        self._scalars[scalar] = jnp.asarray(number)
        return scalar

    def _value(self, atom: Atom) -> Any:
        return self._scalars[atom] if isinstance(atom, Scalar) else self._values[atom.number]

    def _equation(self, equation: Any, env: _Env) -> Equation:
        name, params = equation.primitive.name, equation.params
        operands = tuple(self._atom(each, env) for each in equation.invars)
        results = tuple(self.new_var(var) for var in equation.outvars)
        self._record(results, self._bind(equation, [self._value(each) for each in operands]))
        env.update(zip(equation.outvars, results, strict=True))
        made = Equation(name, operands, results)
        self._made.update((var.number, made) for var in results)
        try:
            if equation.effects:
                raise UnwritableError(f"its effects {', '.join(map(str, equation.effects))}")
            if name in _CALLS:
                return self._call(made, *_CALLS[name], params)
            if name in _CONTROL_FLOW:
                return _CONTROL_FLOW[name](self, made, equation, env)
            return self._first_order(made, equation)
        except UnwritableError as error:
            return Equation(name, operands, results, unwritable=str(error))

    def _bind(self, equation: Any, given: list[Any]) -> Sequence[Any]:
        bound = equation.primitive.get_bind_params(equation.params)
        results = equation.primitive.bind(*given, **bound)
        return results if equation.primitive.multiple_results else [results]

    def _record(self, variables: Sequence[Var], values: Sequence[Any]) -> None:
        for var, value in zip(variables, values, strict=True):
            is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
            self._keep(var.number, value, self._impl(value.dtype) if is_key else "")

    def _first_order(self, made: Equation, equation: Any) -> Equation:
        public = _PUBLIC.get(id(equation.primitive))
        if public is None:
            raise UnwritableError("it is not in jax.extend.core.primitives")
        params = dict(equation.params)
        if made.primitive in _SCATTERS:
            # Written with the function of `jax.lax`, that makes the body of the update itself.
            params = {k: v for k, v in params.items() if not k.startswith("update_")}
        texts = []
        for key, value in params.items():
            try:
                texts.append((key, source_of(value)))
            except UnwritableError as error:
                raise UnwritableError(f"its parameter {key}, {error}") from error
        multiple = equation.primitive.multiple_results
        return replace(made, params=tuple(texts), multiple=multiple)

    def _call(self, made: Equation, kind: str, param: str, params: dict[str, Any]) -> Equation:
        if kind == "jit" and param == "jaxpr":
            specified = [*params["in_shardings"], *params["out_shardings"]]
            if any(type(each).__name__ != "UnspecifiedValue" for each in specified):
                raise UnwritableError("its shardings")
            if params["compiler_options_kvs"]:
                raise UnwritableError("its compiler options")
        if params.get("policy") is not None:
            raise UnwritableError("its policy")
        inputs = [self.new_var(var) for var in inner(params[param]).invars]
        self._share(inputs, made.operands)
        # A body that is called reads its inputs alone.
        body = self.body(params[param], inputs, {})
        return Equation(kind, made.operands, made.results, bodies=(body,))

    def _share(self, inputs: Sequence[Var], atoms: Sequence[Atom]) -> None:
        """Give inputs of a body what their operands hold."""
        self._record(inputs, [self._value(atom) for atom in atoms])

    def scan(self, made: Equation, equation: Any, env: _Env) -> Equation:
        params, consts = equation.params, equation.params["num_consts"]
        carried = params["num_carry"]
        jaxpr = inner(params["jaxpr"])
        operands = made.operands[consts:]
        inputs = [self.new_var(var) for var in jaxpr.invars[consts:]]
        self._share(inputs[:carried], operands[:carried])
        first = -1 if params["reverse"] else 0
        if params["length"] == 0:
            raise UnwritableError("its length of zero")
        for var, atom in zip(inputs[carried:], operands[carried:], strict=True):
            self._record([var], [self._value(atom)[first]])
        closed_over = dict(zip(jaxpr.invars[:consts], made.operands[:consts], strict=True))
        body = self.body(params["jaxpr"], inputs, closed_over, skip=consts)
        texts = tuple((name, source_of(params[name])) for name in ("length", "reverse", "unroll"))
        return Equation("scan", operands, made.results, texts, (body,), carried)

    def while_(self, made: Equation, equation: Any, env: _Env) -> Equation:
        params = equation.params
        of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
        operands = made.operands[of_cond + of_body :]
        bodies = []
        for name, start, count in (("cond", 0, of_cond), ("body", of_cond, of_body)):
            jaxpr = inner(params[f"{name}_jaxpr"])
            inputs = [self.new_var(var) for var in jaxpr.invars[count:]]
            self._share(inputs, operands)
            given = made.operands[start : start + count]
            closed_over = dict(zip(jaxpr.invars[:count], given, strict=True))
            bodies.append(self.body(params[f"{name}_jaxpr"], inputs, closed_over, skip=count))
        return Equation("while", operands, made.results, (), tuple(bodies), len(operands))

    def cond(self, made: Equation, equation: Any, env: _Env) -> Equation:
        index, *operands = made.operands
        bodies = []
        for branch in equation.params["branches"]:
            jaxpr = inner(branch)
            closed_over = dict(zip(jaxpr.invars, operands, strict=True))
            bodies.append(self.body(branch, (), closed_over, skip=len(operands)))
        if len(bodies) == 2 and isinstance(index, Var) and index.number in self._made:
            # `lax.cond` takes the predicate that the index was converted from.
            maker = self._made[index.number]
            if maker.primitive == "convert_element_type" and maker.operands[0].type.dtype == "bool":
                index = maker.operands[0]
        return Equation("cond", (index,), made.results, (), tuple(bodies))

    def linear_solve(self, made: Equation, equation: Any, env: _Env) -> Equation:
        """Forward, it is its solver called with the right-hand sides."""
        lengths, body = equation.params["const_lengths"], equation.params["jaxprs"].solve
        start = lengths.matvec + lengths.vecmat
        given = made.operands[start : start + lengths.solve]
        operands = (*given, *made.operands[sum(lengths) :])
        inputs = [self.new_var(var) for var in inner(body).invars]
        self._share(inputs, operands)
        return Equation("jit", operands, made.results, bodies=(self.body(body, inputs, {}),))


_CONTROL_FLOW: dict[str, Callable[[_Reader, Equation, Any, _Env], Equation]] = {
    "scan": _Reader.scan,
    "while": _Reader.while_,
    "cond": _Reader.cond,
    "custom_linear_solve": _Reader.linear_solve,
}
