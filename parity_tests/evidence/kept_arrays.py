"""Arrays that are kept in a report itself: small ones whole, of large ones every n-th element."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np

from parity_tests.evidence.values import dtype_named
from reports.rows.effects import KeptArray

MOST_BYTES = 2**14  # of one array, before it is compressed


def keep(array: np.ndarray[Any, Any]) -> KeptArray:
    """Keep an array.

    Example::

        values(keep(np.arange(3))).tolist() == [0, 1, 2]
    """
    step = max(1, math.ceil(array.nbytes / MOST_BYTES))
    flat = np.ascontiguousarray(array).reshape(-1)[::step]
    return KeptArray(
        dtype=str(array.dtype),
        shape=array.shape,
        kept=flat.size,
        step=step,
        data=base64.b64encode(zlib.compress(flat.tobytes())).decode("ascii"),
    )


def values(kept: KeptArray) -> np.ndarray[Any, Any]:
    """Return the elements that were kept: in the shape of the array where all of them were."""
    raw = zlib.decompress(base64.b64decode(kept.data))
    flat = np.frombuffer(raw, np.uint8).view(dtype_named(kept.dtype))
    return flat.reshape(kept.shape) if kept.step == 1 else flat
