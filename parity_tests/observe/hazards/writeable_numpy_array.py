"""Hazard: a captured NumPy array that can be written to after the program was traced.

Legacy has inlined the value at tracing. Stock simplified on a CPU may compute in the memory of the
array itself, and then sees what is written. Look-alikes: an array that is read-only, or that nobody
but the program holds, because it was made while the function was traced.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from parity_tests.advice import advice
from parity_tests.jaxpr.stock_const_args import stock_const_args
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured NumPy arrays that somebody can write to."""
    views = _views(stock_const_args(traced.closed.jaxpr, embed_threshold=traced.embed_threshold))
    for use in traced.uses:
        if isinstance(use.array.value, np.ndarray) and _can_be_written_to(use.array.value, views):
            yield hazard_of(
                "writeable NumPy array",
                use,
                "if the array is written to after the first call, legacy keeps the value that was "
                "traced, and stock simplified on a CPU computes with the new one where the array's "
                "memory happens to be 64-byte aligned: silently, and not in every run",
                advice("capture a copy"),
            )


def _views(values: Iterable[Any]) -> Counter[int]:
    """Count the views that the program holds, for each array that a captured one is a view of."""
    links = {}
    for value in values:
        while isinstance(value, np.ndarray):
            links[id(value)] = value
            value = value.base
    return Counter(id(array.base) for array in links.values())


def _can_be_written_to(array: np.ndarray[Any, Any], views: Mapping[int, int]) -> bool:
    """Say whether the user holds a writeable array on the memory that a captured array uses.

    JAX captures a view of the user's array. An array that only this view refers to was made during
    the trace, like `np.ones(9)` inside the traced function, and nobody can write to it any more.
    """
    base: Any = array.base
    if base is None:
        return bool(array.flags.writeable)
    while isinstance(base, np.ndarray):
        # The loop's own variable and the argument are two references more.
        if base.flags.writeable and sys.getrefcount(base) > views[id(base)] + 2:
            return True
        base = base.base
    return base is not None and _is_writeable_buffer(base)


def _is_writeable_buffer(base: Any) -> bool:
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False  # memory of JAX, which nobody writes to
