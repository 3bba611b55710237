"""Held values: the value of every variable and captured array of a draft, by number.

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
from parity_tests.reduce.draft import Array, Atom, CapturedRef, Scalar, Type, Var
from parity_tests.reduce.python_literals import UnwritableError, impl_name, scalar_source

# Larger arrays are not kept on the host: ones stand for them.
LARGEST = 64 * 2**20


class CannotReadError(ValueError):
    """A program has no draft; the message says what stands in the way, and what to do."""


class HeldValues:
    """What each number of a draft holds; `captured` has the captured arrays by their identity.

    `host` has the values that go into the file. `wide` says that a type has 64 bits.
    """

    def __init__(self) -> None:
        self.captured: dict[Any, Array] = {}
        self.host: dict[int, np.ndarray[Any, Any]] = {}
        self.wide = False
        self._numbers = itertools.count()
        self._values: dict[int, Any] = {}
        self._scalars: dict[Scalar, Any] = {}
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

    def of(self, atom: Atom) -> Any:
        """Return what an atom holds, to compute with."""
        return self._scalars[atom] if isinstance(atom, Scalar) else self._values[atom.number]

    def hold(self, variables: Sequence[Var], values: Sequence[Any]) -> None:
        """Let variables hold values."""
        for var, value in zip(variables, values, strict=True):
            is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
            self._keep(var.number, value, _impl(value.dtype) if is_key else "")

    def share(self, inputs: Sequence[Var], atoms: Sequence[Atom]) -> None:
        """Let inputs of a body hold what their operands hold."""
        self.hold(inputs, [self.of(atom) for atom in atoms])

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
        # A weakly typed one of default width is a Python scalar; any other says its dtype.
        plain = type_.weak and type_.dtype in ("float32", "int32", "bool", "complex64")
        number = np.asarray(literal.val).astype(literal.aval.dtype)[()]
        text = scalar_source(number.item()) if plain else scalar_source(number, type_.dtype)
        scalar = Scalar(text, type_)
        self._scalars[scalar] = jnp.asarray(number)
        return scalar

    def array(self, number: int, value: Any, type_: Type) -> Array:
        """Record an argument or a captured array. Raises `CannotReadError`."""
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
                impl = _impl(value.dtype)
        self._keep(number, value, impl)
        made_by = "jax" if isinstance(value, jax.Array) else "numpy"
        return Array(number, type_, made_by, device, impl)  # type: ignore[arg-type]

    def _keep(self, number: int, value: Any, impl: str = "") -> None:
        host = np.asarray(jax.random.key_data(value) if impl else value)
        plain = jnp.asarray(host)  # uncommitted, so that placement never stops an evaluation
        self._values[number] = jax.random.wrap_key_data(plain, impl=impl) if impl else plain
        if host.nbytes <= LARGEST:
            self.host[number] = host


def _impl(dtype: Any) -> str:
    try:
        return impl_name(dtype)
    except UnwritableError as error:
        raise CannotReadError(f"{error} cannot be written: use a key of JAX's own") from error
