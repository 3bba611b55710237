"""Sources: values in the parameters of equations, as Python source that stock JAX reads."""

from __future__ import annotations

import enum
import math
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax import lax
from jax.extend import random as jax_random

# Names that the written file imports: jax, lax, np, ml_dtypes, random (jax.extend.random).
_IMPLS = ("threefry_prng_impl", "rbg_prng_impl", "unsafe_rbg_prng_impl")


class UnwritableError(ValueError):
    """A value has no source that stock JAX alone could read; the message names the value."""


def source_of(value: Any) -> str:
    """Return the Python source of a value in the parameters of an equation.

    Raises `UnwritableError`.

    Example::

        source_of(lax.Precision.HIGHEST) == "lax.Precision.HIGHEST"
    """
    if value is None or isinstance(value, (bool, str)):
        return repr(value)
    if isinstance(value, jax.sharding.NamedSharding) and value.mesh.empty:
        return "None"  # outside of a mesh both say nothing
    if isinstance(value, jax.memory.Space):
        return f"jax.memory.Space.{value.name}"
    if isinstance(value, enum.Enum):
        return f"{_public_class(value)}.{value.name}"
    if isinstance(value, (int, float, complex, np.generic)):
        return scalar_source(value)
    if isinstance(value, np.dtype):
        return dtype_source(value.name)
    for name in _IMPLS:
        if value is getattr(jax_random, name):
            return f"random.{name}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _call(value, value._fields)
    if isinstance(value, (tuple, list)):
        items = [source_of(item) for item in value]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if getattr(lax, type(value).__name__, None) is type(value):
        return _call(value, [n for n in vars(value) if not n.startswith("_")])
    raise UnwritableError(f"{type(value).__name__} {str(value)[:60]}")


def scalar_source(value: Any, dtype: str = "") -> str:
    """Return the source of a scalar: of NumPy where a dtype is given or known, else of Python.

    Example::

        scalar_source(0.5, "bfloat16") == "ml_dtypes.bfloat16(0.5)"
    """
    name = dtype or (value.dtype.name if isinstance(value, np.generic) else "")
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, (np.generic, ml_dtypes.bfloat16)) or not isinstance(
        plain, (bool, int, float, complex)
    ):
        plain = float(plain)
    text = repr(plain)
    if isinstance(plain, float) and not math.isfinite(plain):
        text = f'"{plain}"' if name else f'float("{plain}")'
    elif isinstance(plain, complex) and not (
        math.isfinite(plain.real) and math.isfinite(plain.imag)
    ):
        text = f'complex("{text.strip("()")}")'
    return f"{scalar_type(name)}({text})" if name else text


def scalar_type(name: str) -> str:
    """Return the source of the scalar type of a dtype: "np.float32", "ml_dtypes.int4"."""
    if name == "bool":
        return "np.bool_"
    return f"{'np' if hasattr(np, name) else 'ml_dtypes'}.{name}"


def dtype_source(name: str) -> str:
    """Return the source of a dtype. Raises `UnwritableError` for a dtype of JAX alone."""
    if not hasattr(np, name) and not hasattr(ml_dtypes, name) and name != "bool":
        raise UnwritableError(f"the dtype {name}")
    return f"np.dtype({scalar_type(name)})"


def impl_name(dtype: Any) -> str:
    """Return the name of the implementation of a dtype of PRNG keys, as `jax.random.key` takes it.

    Raises `UnwritableError` for an implementation of the user's own.
    """
    for name in ("threefry2x32", "rbg", "unsafe_rbg"):
        if jax.eval_shape(lambda name=name: jax.random.key(0, impl=name)).dtype == dtype:
            return name
    raise UnwritableError(f"PRNG keys of {dtype}")


def _public_class(value: Any) -> str:
    name = type(value).__name__
    if getattr(lax, name, None) is not type(value):
        raise UnwritableError(f"{name} {value}")
    return f"lax.{name}"


def _call(value: Any, fields: Any) -> str:
    arguments = ", ".join(f"{name}={source_of(getattr(value, name))}" for name in fields)
    return f"{_public_class(value)}({arguments})"
