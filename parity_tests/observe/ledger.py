"""The constant ledger: each array that a program captured, and its fate on a side."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import jax

from parity_tests.jaxpr.captured import CapturedValue
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.source_places import code_at
from parity_tests.jaxpr.stock_const_args import stock_const_args
from parity_tests.observe.ledger_fates import (
    ArrayFate,
    HoistedArrays,
    InlinedArrays,
    OptimisedConstants,
)
from parity_tests.observe.stablehlo import ModuleCounts
from reports.rows import CapturedArray
from reports.views.texts import counted

# Larger arrays are told apart by type and order alone: on an accelerator their bytes are far away.
DIGEST_MAX_BYTES = 64 * 1024 * 1024


def ledger(
    closed: Any,
    live: Any,
    module: ModuleCounts,
    *,
    const_args: Sequence[Any] | None = None,
    embed_threshold: int,
    optimised_hlo: str,
) -> tuple[CapturedArray, ...]:
    """Return a row for each array that a closed_jaxpr captured, in the order of their first use.

    `live` is the same without dead code, `module` has the counts of its StableHLO. `const_args` are
    the values of main's const args in order; None stands for the ones that stock JAX passes.
    `embed_threshold` is in bytes. `optimised_hlo` is the text of the compiled program.

    Example::

        live, text = live_part(closed), compiled.as_text()
        ledger(closed, live, module, embed_threshold=32, optimised_hlo=text)
    """
    found = captured_uses(closed)
    if not found:
        return ()
    if const_args is None:
        const_args = stock_const_args(live.jaxpr, embed_threshold=embed_threshold)
    hoisted = HoistedArrays.of(found, const_args, module)
    inlined = InlinedArrays(found, module, embed_threshold=embed_threshold)
    optimised = OptimisedConstants(optimised_hlo)

    @functools.cache  # nearly every array is found
    def alive() -> set[Hashable]:
        return {each.array.identity for each in captured_uses(live) if each.uses}

    def fate(array: CapturedValue) -> ArrayFate:
        as_argument, as_constant = hoisted.fate_of(array), inlined.fate_of(array)
        if as_argument is not None:
            also = f"and inlined {counted(as_constant.copies, 'time')}" if as_constant else ""
            return replace(as_argument, note=also)
        if as_constant is None:
            return ArrayFate("not found" if array.identity in alive() else "unused", 0)
        if as_constant.kind == "inlined" and not optimised.may_have(array):
            return replace(as_constant, kind="folded")
        return as_constant

    return tuple(_row(use, fate(use.array)) for use in found)


def with_written(
    rows: Sequence[CapturedArray], captured: Sequence[CapturedValue]
) -> tuple[CapturedArray, ...]:
    """Mark the rows of arrays that have changed since their digests were read.

    Example::

        with_written(rows, facts.captured)[0].written
    """
    written = {_told_apart_by(each) for each in captured if each.has_changed()}
    return tuple(
        row.model_copy(update={"written": (row.shape, row.dtype, row.sha256) in written})
        for row in rows
    )


def _told_apart_by(array: CapturedValue) -> tuple[object, ...]:
    return array.shape, str(array.value.dtype), array.digest()


def _row(use: CapturedUse, fate: ArrayFate) -> CapturedArray:
    array = use.array
    return CapturedArray(
        file=use.place.file,
        line=use.place.line,
        function=use.place.function,
        shape=array.shape,
        dtype=str(array.value.dtype),
        bytes=array.bytes,
        sharding=_sharding(array.value),
        sha256=array.digest() if is_readable(array.value, array.bytes) else "",
        uses=use.uses,
        fate=fate.kind,
        copies=fate.copies,
        alike=fate.alike,
        note=fate.note,
        code=code_at(use.place.file, use.place.line),
    )


def _sharding(value: Any) -> str:
    if not isinstance(value, jax.Array):
        return ""
    sharding = value.sharding
    if isinstance(sharding, jax.sharding.NamedSharding):
        axes = ", ".join(f"{name}={size}" for name, size in sharding.mesh.shape.items())
        return f"{sharding.spec} over {axes}"
    if isinstance(sharding, jax.sharding.SingleDeviceSharding):
        return ", ".join(map(str, value.devices()))
    return str(sharding)


def is_readable(value: Any, size: int) -> bool:
    """Say whether an array of `size` bytes is read for its digest: it is here, and not large."""
    if size > DIGEST_MAX_BYTES:
        return False
    if not isinstance(value, jax.Array):
        return True
    return value.is_fully_addressable and not value.is_deleted()
