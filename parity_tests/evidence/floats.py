"""Floating-point numbers of any format, as the ladder measures them: parts, magnitudes, ULPs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Say whether a dtype is of floating-point or complex numbers, of any number of bits."""
    # The dtypes of ml_dtypes have kind "V" or "f", and its integers (int4) have no finfo.
    if dtype.kind in "fc":
        return True
    try:
        ml_dtypes.finfo(dtype)
    except (ValueError, TypeError, KeyError):
        return False
    return True


def parts(array: Array) -> Array:
    """Return real numbers along a new last axis: one, or the two parts of complex ones."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    return array[..., np.newaxis]


def bits(dtype: np.dtype[Any]) -> int:
    """Return the bits of one real number; a complex number has two."""
    return dtype.itemsize * (4 if dtype.kind == "c" else 8)


def magnitude(parts: Array) -> Array:
    """Return the magnitudes of real or complex numbers from their parts."""
    return np.abs(parts[..., 0]) if parts.shape[-1] == 1 else np.hypot(parts[..., 0], parts[..., 1])


def ulps(a: Array, b: Array) -> Array:
    """Count the floating-point numbers from `a` to `b`, meaningful where both are finite."""
    low, high = _ordinals(a), _ordinals(b)
    # The subtraction wraps around and is right all the same: the distance fits 64 bits unsigned.
    return np.maximum(low, high).astype(np.uint64) - np.minimum(low, high).astype(np.uint64)


def _ordinals(array: Array) -> Array:
    """Map floating-point numbers to integers in the same order, neighbours to neighbours."""
    if array.dtype.itemsize == 1:
        # Formats of 8 bits and fewer differ in their zeros, NaNs and sign bits; 256 entries do not.
        values = np.arange(256, dtype=np.uint8).view(array.dtype).astype(np.float64)
        finite = np.unique(values[np.isfinite(values)])
        return np.searchsorted(finite, array.astype(np.float64)).astype(np.int64)
    bits = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(-(2 ** (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)  # sign and magnitude: -0.0 and 0.0 are both 0
