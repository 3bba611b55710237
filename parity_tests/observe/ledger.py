"""The constant ledger: each array that a program captured, and what a side made of it."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.captured import CapturedValue, identity
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.stock_const_args import stock_const_args
from parity_tests.observe import stablehlo
from parity_tests.observe.stablehlo import InlinedConstant, ModuleCounts
from reports.rows import CapturedArray, Fate
from reports.views.texts import counted

# Arrays above are told apart by type and order alone: on an accelerator their bytes are far away.
DIGEST_MAX_BYTES = 64 * 1024 * 1024


def ledger(
    closed: Any,
    live: Any,
    module: ModuleCounts,
    *,
    const_args: Sequence[Any] | None = None,
    threshold: int,
    optimised_hlo: Callable[[], str],
) -> tuple[CapturedArray, ...]:
    """Return a row for each array that a closed_jaxpr captured, in the order of their first use.

    `live` is the same without dead code, `module` the counts of what it was lowered to.
    `const_args` are the values of main's const args in order where the side tells them; where it is
    None, they are what stock JAX passes. `threshold` in bytes is the embed threshold.
    `optimised_hlo` is asked for the text of the compiled program where something was inlined.

        ledger(closed, live_part(closed), module, threshold=32, optimised_hlo=compiled.as_text)
    """
    found = captured_uses(closed)
    if not found:
        return ()
    alive = {each.array.identity for each in captured_uses(live) if each.uses}
    if const_args is None:
        const_args = stock_const_args(live.jaxpr, threshold=threshold)
    hoisted = _Hoisted.of(found, const_args, module)
    inlined = _Inlined(found, module, threshold=threshold)
    elements: Counter[int] | None = None
    rows = []
    for use in found:
        as_argument, as_constant = hoisted.fate(use.array), inlined.fate(use.array)
        if as_argument is not None:
            also = f"and inlined {counted(as_constant.copies, 'time')}" if as_constant else ""
            fate = replace(as_argument, note=also)
        elif as_constant is None:
            is_dead = use.array.identity not in alive
            fate = _Fate("unused" if is_dead else "not found", 0)
        else:
            fate = as_constant
            if fate.kind == "inlined":
                if elements is None:
                    elements = _constants_by_elements(optimised_hlo())
                if not elements[_size(use.array)]:
                    fate = replace(fate, kind="folded")
        rows.append(_row(use, fate))
    return tuple(rows)


@dataclass(frozen=True)
class _Fate:
    kind: Fate
    copies: int
    alike: int = 1  # the captured arrays that the copies are of, as they cannot be told apart
    note: str = ""


@dataclass(frozen=True)
class _Type:
    """What stands in a module for an array: PRNG keys are words, broadcast axes are left out."""

    shape: tuple[int, ...]
    element: str


def _physical(array: CapturedValue) -> Any:
    if array.key:
        return jax.random.key_data(array.value)
    strides = getattr(array.value, "strides", ())
    if 0 in strides and array.value.size > 0:
        return array.value[tuple(0 if stride == 0 else slice(None) for stride in strides)]
    return array.value


def _type_of(physical: Any) -> _Type:
    return _Type(tuple(physical.shape), stablehlo.element_of(np.dtype(physical.dtype)))


def _size(array: CapturedValue) -> int:
    return int(np.prod(_physical(array).shape, dtype=np.int64))


class _Hoisted:
    """The const args of main, by the identity of the array where that is known."""

    def __init__(
        self, by_identity: Counter[Hashable], others: Counter[_Type], unmatched: Counter[_Type]
    ) -> None:
        self._by_identity = by_identity
        self._others = others
        self._unmatched = unmatched

    @classmethod
    def of(
        cls, found: Sequence[CapturedUse], const_args: Sequence[Any], module: ModuleCounts
    ) -> _Hoisted:
        arrays = {use.array.identity: use.array for use in found}
        keys = [identity(value) for value in const_args]
        types = [_Type(*each) for each in module.const_arg_types]
        # Lengths and types must agree, or else `const_args` are not what was passed.
        agree = len(keys) == len(types) and all(
            key not in arrays or _type_of_const_arg(arrays[key]) == type_
            for key, type_ in zip(keys, types, strict=True)
        )
        if not agree:
            keys = [None] * len(types)
        by_identity = Counter(key for key in keys if key in arrays)
        others = Counter(type_ for key, type_ in zip(keys, types, strict=True) if key not in arrays)
        unmatched = Counter(
            _type_of_const_arg(array) for key, array in arrays.items() if key not in by_identity
        )
        return cls(by_identity, others, unmatched)

    def fate(self, array: CapturedValue) -> _Fate | None:
        if copies := self._by_identity[array.identity]:
            return _Fate("hoisted", copies)
        type_ = _type_of_const_arg(array)
        if copies := self._others[type_]:
            return _Fate("hoisted", copies, self._unmatched[type_])
        return None


def _type_of_const_arg(array: CapturedValue) -> _Type:
    return _type_of(jax.random.key_data(array.value) if array.key else array.value)


class _Inlined:
    """The constants of a module that hold what the captured arrays hold."""

    def __init__(
        self, found: Sequence[CapturedUse], module: ModuleCounts, *, threshold: int
    ) -> None:
        self._threshold = threshold
        self._constants: dict[_Type, list[InlinedConstant]] = {}
        for constant in (*module.inlined, *module.embedded):
            type_ = _Type(constant.shape, constant.element)
            self._constants.setdefault(type_, []).append(constant)
        self._arrays: dict[_Type, list[CapturedValue]] = {}
        for use in found:
            type_ = _type_of(_physical(use.array))
            self._arrays.setdefault(type_, []).append(use.array)

    def fate(self, array: CapturedValue) -> _Fate | None:
        kind: Fate = "inlined" if array.bytes > self._threshold else "embedded"
        type_ = _type_of(_physical(array))
        if not type_.shape:
            return _Fate(kind, 0, note="as a scalar that is broadcast, which is not counted")
        constants = self._constants.get(type_, [])
        if not constants:
            return None
        if any(constant.digest is None for constant in constants) or _is_packed(array):
            return _Fate(kind, len(constants), len(self._arrays[type_]), _BY_TYPE)
        digest = _physical_digest(array)
        copies = sum(constant.digest == digest for constant in constants)
        alike = sum(_physical_digest(each) == digest for each in self._arrays[type_])
        return _Fate(kind, copies, alike) if copies else None


_BY_TYPE = "told by its type alone, for MLIR's bindings cannot read the elements"


def _is_packed(array: CapturedValue) -> bool:
    return str(getattr(array.value, "dtype", "")).endswith(("int4", "int2"))


def _physical_digest(array: CapturedValue) -> str:
    physical = _physical(array)
    if array.key or physical is array.value:
        return array.digest()
    return hashlib.sha256(np.ascontiguousarray(physical).tobytes()).hexdigest()


_CONSTANT = re.compile(r"= \w+\[([\d,]*)\]\S* constant\(")


def _constants_by_elements(optimised_hlo: str) -> Counter[int]:
    """Count the constants of an HLO module by their number of elements.

    Not by their type too: XLA widens what a device cannot compute with, as CPUs do bfloat16.
    """
    shapes = (match[1].split(",") for match in _CONSTANT.finditer(optimised_hlo))
    return Counter(math.prod(int(length) for length in shape if length) for shape in shapes)


def _row(use: CapturedUse, fate: _Fate) -> CapturedArray:
    array = use.array
    return CapturedArray(
        file=use.place.file,
        line=use.place.line,
        function=use.place.function,
        shape=array.shape,
        dtype=str(array.value.dtype),
        bytes=array.bytes,
        sharding=_sharding(array.value),
        sha256=array.digest() if _is_readable(array) else "",
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


def _is_readable(array: CapturedValue) -> bool:
    if array.bytes > DIGEST_MAX_BYTES:
        return False
    if not isinstance(array.value, jax.Array):
        return True
    return array.value.is_fully_addressable and not array.value.is_deleted()
