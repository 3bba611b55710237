"""Check the const args of our simplified side against the arrays that the program captured.

Stock JAX shows its const args in no stage, so only our own side is checked.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import jax
import numpy as np

from parity_tests.evidence import placement
from parity_tests.jaxpr.captured import digest_of
from parity_tests.jaxpr.counts import JaxprFacts
from reports.rows import Check
from reports.rows.check_names import BUFFERS, SHARDINGS, VALUES
from reports.views.texts import counted


def check(
    const_args: list[Any], facts: JaxprFacts, donated: Collection[Any] = ()
) -> tuple[Check, ...]:
    """Check values, buffers and shardings of the const args of a lowered program.

    Each must have the elements of a captured array. Arrays on one device are passed without a copy
    if their layout allows it, and arrays on several devices keep their sharding. `donated` has the
    shapes and dtypes of donated arguments: a captured array of such a type is copied, because it
    could be passed as that argument.
    """
    captured = [each.value for each in (*facts.captured, *facts.small_keys)]
    held = {_content(value) for value in captured}
    strange = [each for each in const_args if _content(each) not in held]
    count = f"{counted(len(const_args), 'const arg')} passed"
    return (
        Check(
            name=VALUES,
            holds=not strange,
            statement=f"{count}, of which {len(strange)} hold what no captured array holds",
        ),
        _buffers(
            const_args,
            [each for each in captured if (tuple(each.shape), each.dtype) not in donated],
        ),
        _shardings(const_args, captured),
    )


def _buffers(const_args: list[Any], captured: list[Any]) -> Check:
    pointers = {_pointer(value) for value in captured} - {None}
    copied = len(pointers - {_pointer(value) for value in const_args})
    # Arrays that dead code alone reads are not passed, and so are not missing.
    missing = copied - max(0, len(captured) - len(const_args))
    return Check(
        name=BUFFERS,
        holds=missing <= 0,
        statement=f"{max(0, missing)} of {counted(len(pointers), 'captured buffer')} are copied",
    )


def _shardings(const_args: list[Any], captured: list[Any]) -> Check:
    over_many, passed = (
        {placement.sharding_of(each) for each in values if placement.devices_of(each) > 1}
        for values in (captured, const_args)
    )
    lost = over_many - passed if len(const_args) == len(captured) else passed - over_many
    return Check(
        name=SHARDINGS,
        holds=not lost,
        statement=f"{counted(len(lost), 'sharding')} of captured arrays over several devices lost"
        if lost
        else "arrays over several devices keep their shardings",
    )


def _content(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape), str(value.dtype), digest_of(value)


def _pointer(value: Any) -> int | None:
    """Return the address of the array's one buffer; None for NumPy's, keys, shards, own layouts."""
    if not isinstance(value, jax.Array) or jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        return None
    if placement.devices_of(value) > 1 or not value.size:
        return None
    layout = value.format.layout  # type: ignore[attr-defined]
    if layout is not None and tuple(layout.major_to_minor) != tuple(range(np.ndim(value))):
        return None
    return value.unsafe_buffer_pointer()
