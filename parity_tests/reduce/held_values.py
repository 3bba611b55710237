"""What the numbers of a draft stand for: its arrays, and on request the value of every variable.

A value that is computed with is on the default device and uncommitted. A value that goes into the
file is a NumPy array on the host; of PRNG keys, the key data.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.interpreter import bind
from parity_tests.reduce.draft import Array, Atom, CapturedRef, Scalar, Type, Var
from parity_tests.reduce.python_literals import UnwritableError, impl_name, scalar_source

# Larger arrays are not kept on the host: ones stand for them.
LARGEST = 64 * 2**20


class CannotReadError(ValueError):
    """A program has no draft; the message says what stands in the way, and what to do."""


class HeldArrays:
    """The arguments and captured arrays of a draft; nothing is evaluated.

    `captured` has the captured arrays by their identity, `recorded` the values of all arrays by
    number, as JAX has them. `wide` says that a type has 64 bits.
    """

    def __init__(self) -> None:
        self.captured: dict[Any, Array] = {}
        self.recorded: dict[int, Any] = {}
        self.wide = False
        self._numbers = itertools.count()
        self._alive: list[Any] = []  # keeps the ids of captured arrays from being used again

    # -- variables ---------------------------------------------------------------------------------

    def new_var(self, var: Any) -> Var:
        """Return a variable of the draft, with a new number, for one of a jaxpr."""
        return Var(next(self._numbers), self._type(var.aval))

    def _type(self, aval: Any) -> Type:
        dtype = getattr(aval, "dtype", None)
        if dtype is None or not hasattr(aval, "shape"):
            raise CannotReadError(f"{aval} is no array: take mutable references and tokens out")
        self.wide |= str(dtype) in ("int64", "uint64", "float64", "complex128")
        return Type(tuple(aval.shape), str(dtype), bool(getattr(aval, "weak_type", False)))

    def evaluate(self, equation: Any, operands: Sequence[Atom], results: Sequence[Var]) -> None:
        """Let the results of an equation hold what it computes."""

    def share(self, inputs: Sequence[Var], atoms: Sequence[Atom]) -> None:
        """Let inputs of a body hold what their operands hold."""

    def first_turn(self, inputs: Sequence[Var], stacked: Sequence[Atom], scan: Any) -> None:
        """Let inputs of a scan's body hold the rows of the first turn."""

    # -- arrays and scalars ------------------------------------------------------------------------

    def capture(self, value: Any, aval: Any) -> CapturedRef:
        """Return the captured array of a value, which is one array wherever it is captured."""
        key = identity(value)
        if key not in self.captured:
            self._alive.append(value)
            self.captured[key] = self.array(next(self._numbers), value, self._type(aval))
        return CapturedRef(self.captured[key].number, self.captured[key].type)

    def scalar(self, literal: Any) -> Scalar:
        """Return the scalar of a Literal, as Python source."""
        type_ = self._type(literal.aval)
        _check_elements(literal.aval.dtype)
        # A weakly typed one of default width is a Python scalar; any other says its dtype.
        plain = type_.weak and type_.dtype in ("float32", "int32", "bool", "complex64")
        number = np.asarray(literal.val).astype(literal.aval.dtype)[()]
        text = scalar_source(number.item()) if plain else scalar_source(number, type_.dtype)
        scalar = Scalar(text, type_)
        self._hold_scalar(scalar, number)
        return scalar

    def array(self, number: int, value: Any, type_: Type) -> Array:
        """Record an argument or a captured array. Raises `CannotReadError`."""
        if not hasattr(value, "dtype"):
            self._keep(number, np.asarray(value))
            return Array(number, type_, "scalar")
        impl, device = "", None
        _check_elements(value.dtype)
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
                impl = _impl(value.dtype)
        self._keep(number, value, impl)
        made_by = "jax" if isinstance(value, jax.Array) else "numpy"
        return Array(number, type_, made_by, device, impl)  # type: ignore[arg-type]

    def _keep(self, number: int, value: Any, impl: str = "") -> None:
        self.recorded[number] = value

    def _hold_scalar(self, scalar: Scalar, number: Any) -> None:
        pass


class HeldValues(HeldArrays):
    """What each number of a draft holds; `host` has the values that go into the file."""

    def __init__(self) -> None:
        super().__init__()
        self.host: dict[int, np.ndarray[Any, Any]] = {}
        self._values: dict[int, Any] = {}
        self._scalars: dict[Scalar, Any] = {}

    def evaluate(self, equation: Any, operands: Sequence[Atom], results: Sequence[Var]) -> None:
        """Let the results of an equation hold what it computes."""
        self._hold(results, bind(equation, [self._of(each) for each in operands]))

    def share(self, inputs: Sequence[Var], atoms: Sequence[Atom]) -> None:
        """Let inputs of a body hold what their operands hold."""
        self._hold(inputs, [self._of(atom) for atom in atoms])

    def first_turn(self, inputs: Sequence[Var], stacked: Sequence[Atom], scan: Any) -> None:
        """Let inputs of a scan's body hold the rows of the first turn; it must have one."""
        if scan.length == 0:
            raise UnwritableError("its length of zero")
        first = -1 if scan.reverse else 0
        self._hold(inputs, [self._of(atom)[first] for atom in stacked])

    def _of(self, atom: Atom) -> Any:
        return self._scalars[atom] if isinstance(atom, Scalar) else self._values[atom.number]

    def _hold(self, variables: Sequence[Var], values: Sequence[Any]) -> None:
        for var, value in zip(variables, values, strict=True):
            is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
            self._keep(var.number, value, _impl(value.dtype) if is_key else "")

    def _keep(self, number: int, value: Any, impl: str = "") -> None:
        host = np.asarray(jax.random.key_data(value) if impl else value)
        plain = jnp.asarray(host)  # uncommitted, so that placement never stops an evaluation
        self._values[number] = jax.random.wrap_key_data(plain, impl=impl) if impl else plain
        if host.nbytes <= LARGEST:
            self.host[number] = host

    def _hold_scalar(self, scalar: Scalar, number: Any) -> None:
        self._scalars[scalar] = jnp.asarray(number)


def _check_elements(dtype: Any) -> None:
    if dtype == jax.dtypes.float0:
        raise CannotReadError("an array of float0 has no elements to write: leave it out")


def _impl(dtype: Any) -> str:
    try:
        return impl_name(dtype)
    except UnwritableError as error:
        raise CannotReadError(f"{error} cannot be written: use a key of JAX's own") from error
