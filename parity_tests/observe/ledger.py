"""The constant ledger: each array that a program captured, and its fate on a side.

An array is hoisted, a const arg of main, or inlined, a constant of the module. XLA may fold an
inlined array away.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.captured import CapturedValue, identity, sha256_of, words_of
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses, stock_const_args
from parity_tests.jaxpr.source_places import code_at
from parity_tests.observe import stablehlo
from parity_tests.observe.stablehlo import InlinedConstant, ModuleCounts
from reports.rows import CapturedArray, Fate
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
    hoisted = HoistedArrays(found, const_args, module)
    inlined = InlinedArrays(found, module, embed_threshold=embed_threshold)

    @functools.cache  # nearly every array is found
    def alive() -> set[Hashable]:
        return {each.array.identity for each in captured_uses(live) if each.uses}

    @functools.cache
    def optimised() -> Counter[int]:
        return _constants_by_elements(optimised_hlo)

    def fate(array: CapturedValue) -> ArrayFate:
        as_argument, as_constant = hoisted.fate_of(array), inlined.fate_of(array)
        if as_argument is not None:
            also = f"and inlined {counted(as_constant.copies, 'time')}" if as_constant else ""
            return replace(as_argument, note=also)
        if as_constant is None:
            return ArrayFate("not found" if array.identity in alive() else "unused", 0)
        # If no constant has as many elements as the array, XLA folded it.
        if as_constant.kind == "inlined" and not optimised()[math.prod(_physical(array).shape)]:
            return replace(as_constant, kind="folded")
        return as_constant

    return tuple(_row(use, fate(use.array)) for use in found)


def with_written(
    rows: Sequence[CapturedArray], captured: Sequence[CapturedValue]
) -> tuple[CapturedArray, ...]:
    """Mark the rows of arrays that have changed since their digests were read."""
    changed = [each for each in captured if each.has_changed()]
    written = {(each.shape, str(each.value.dtype), each.digest()) for each in changed}
    return tuple(
        row.model_copy(update={"written": (row.shape, row.dtype, row.sha256) in written})
        for row in rows
    )


def _row(use: CapturedUse, fate: ArrayFate) -> CapturedArray:
    array = use.array
    read = {
        "sharding": _sharding(array.value),
        "sha256": array.digest() if is_readable(array.value, array.bytes) else "",
        "code": code_at(use.place.file, use.place.line),
    }
    return row_of(use, fate).model_copy(update=read)


def row_of(use: CapturedUse, fate: ArrayFate) -> CapturedArray:
    """Return the row of an array whose buffer is not looked at: a call may have consumed it.

    Example::

        row_of(use, ArrayFate("hoisted", copies=1)).fate == "hoisted"
    """
    array = use.array
    return CapturedArray(
        file=use.place.file,
        line=use.place.line,
        function=use.place.function,
        shape=array.shape,
        dtype=str(array.value.dtype),
        bytes=array.bytes,
        sharding="",
        sha256="",
        uses=use.uses,
        fate=fate.kind,
        copies=fate.copies,
        alike=fate.alike,
        note=fate.note,
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


# -- fates -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArrayFate:
    """What became of an array, in how many copies."""

    kind: Fate
    copies: int
    alike: int = 1  # captured arrays that share the copies, because nothing tells them apart
    note: str = ""


class HoistedArrays:
    """The const args of main, by the identity of the array where that is known."""

    def __init__(
        self, found: Sequence[CapturedUse], const_args: Sequence[Any], module: ModuleCounts
    ) -> None:
        # They are matched with captured arrays by identity, or else by type.
        arrays = {use.array.identity: use.array for use in found}
        keys = [identity(value) for value in const_args]
        types = [_Type(*each) for each in module.const_arg_types]
        # If lengths or types disagree, `const_args` are not the arrays that were passed.
        agree = len(keys) == len(types) and all(
            key not in arrays or _type_of_const_arg(arrays[key]) == type_
            for key, type_ in zip(keys, types, strict=True)
        )
        if not agree:
            keys = [None] * len(types)
        self._by_identity = Counter(key for key in keys if key in arrays)
        self._others = Counter(
            type_ for key, type_ in zip(keys, types, strict=True) if key not in arrays
        )
        self._unmatched = Counter(
            _type_of_const_arg(array)
            for key, array in arrays.items()
            if key not in self._by_identity
        )

    def fate_of(self, array: CapturedValue) -> ArrayFate | None:
        """Return the fate of an array that is a const arg, else None."""
        if copies := self._by_identity[array.identity]:
            return ArrayFate("hoisted", copies)
        type_ = _type_of_const_arg(array)
        if copies := self._others[type_]:
            return ArrayFate("hoisted", copies, self._unmatched[type_])
        return None


def _type_of_const_arg(array: CapturedValue) -> _Type:
    return _type_of(words_of(array.value))


class InlinedArrays:
    """The constants of a module that have the elements of captured arrays."""

    def __init__(
        self, found: Sequence[CapturedUse], module: ModuleCounts, *, embed_threshold: int
    ) -> None:
        self._embed_threshold = embed_threshold
        self._constants: dict[_Type, list[InlinedConstant]] = {}
        for constant in (*module.inlined, *module.embedded):
            type_ = _Type(constant.shape, constant.element)
            self._constants.setdefault(type_, []).append(constant)
        self._arrays: dict[_Type, list[CapturedValue]] = {}
        for use in found:
            type_ = _type_of(_physical(use.array))
            self._arrays.setdefault(type_, []).append(use.array)

    def fate_of(self, array: CapturedValue) -> ArrayFate | None:
        """Return the fate of an array that is a constant of the module, else None."""
        kind: Fate = "inlined" if array.bytes > self._embed_threshold else "embedded"
        type_ = _type_of(_physical(array))
        if not type_.shape:
            return ArrayFate(kind, 0, note="as a scalar that is broadcast, which is not counted")
        constants = self._constants.get(type_, [])
        if not constants:
            return None
        if any(constant.digest is None for constant in constants) or _is_packed(array):
            return ArrayFate(kind, len(constants), len(self._arrays[type_]), _BY_TYPE)
        digest = _physical_digest(array)
        copies = sum(constant.digest == digest for constant in constants)
        alike = sum(_physical_digest(each) == digest for each in self._arrays[type_])
        return ArrayFate(kind, copies, alike) if copies else None


_BY_TYPE = "told by its type alone, for MLIR's bindings cannot read the elements"


def _is_packed(array: CapturedValue) -> bool:
    return str(getattr(array.value, "dtype", "")).endswith(("int4", "int2"))


def _physical_digest(array: CapturedValue) -> str:
    physical = _physical(array)
    if array.key or physical is array.value:
        return array.digest()
    return sha256_of(np.asarray(physical))


_CONSTANT = re.compile(r"= \w+\[([\d,]*)\]\S* constant\(")


def _constants_by_elements(optimised_hlo: str) -> Counter[int]:
    """Count the constants of an HLO module by their number of elements.

    The type does not help: XLA widens types that a device cannot compute with, as CPUs do bfloat16.
    """
    shapes = (match[1].split(",") for match in _CONSTANT.finditer(optimised_hlo))
    return Counter(math.prod(int(length) for length in shape if length) for shape in shapes)


@dataclass(frozen=True)
class _Type:
    """The type of an array in a module: PRNG keys are words, broadcast axes are left out."""

    shape: tuple[int, ...]
    element: str


def _physical(array: CapturedValue) -> Any:
    if array.key:
        return words_of(array.value)
    strides = getattr(array.value, "strides", ())
    if 0 in strides and array.value.size > 0:
        return array.value[tuple(0 if stride == 0 else slice(None) for stride in strides)]
    return array.value


def _type_of(physical: Any) -> _Type:
    return _Type(tuple(physical.shape), stablehlo.element_of(np.dtype(physical.dtype)))
