"""Proof of a side: evidence in a jaxpr and its module of the mode that was in force."""

from __future__ import annotations

import numpy as np

from parity_tests.jaxpr.captured import CapturedValue
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.observe.stablehlo import ModuleCounts, element_of
from reports.rows import Proof, Side
from reports.views.texts import counted


def prove(
    side: Side,
    jaxpr: JaxprFacts,
    module: ModuleCounts,
    *,
    live_captured: int,
    passed: int | None = None,
) -> Proof:
    """Judge whether the counts of a jaxpr and its module agree with their side.

    `live_captured` is the number of captured arrays that are left when dead code is gone: neither
    JAX nor the engine need pass an array that nothing reads. `passed` is the number of const args
    that are passed, where a side tells. Where a program captures no array above the threshold, both
    modes produce the same, and the statement says so.

    Where arrays are hoisted, simplified was in force, and a single array that stays inlined is no
    evidence against it. The comparison across the modes names it.
    """
    if side.removeprefix("jax-") == "legacy":
        found = _against_legacy(jaxpr, module, live_captured)
    else:
        found = _against_simplified(jaxpr, module)
    if side == "simplified":
        found += _against_one_each(jaxpr, module, live_captured)
    if passed is not None and passed != module.const_args:
        takers = counted(module.const_args, "argument")
        found.append(f"{counted(passed, 'const arg')} passed, and main has {takers} for them")
    return Proof(
        array_literals=jaxpr.array_literals,
        constvars=jaxpr.constvars,
        const_args=module.const_args,
        unique_captured=len(jaxpr.captured),
        inlined_constant_bytes=module.inlined_bytes,
        holds=not found,
        statement=_statement(side, jaxpr, module, found),
    )


def written_since(jaxpr: JaxprFacts, module: ModuleCounts) -> list[CapturedValue]:
    """Return captured NumPy arrays of which a legacy module holds the type and other values.

    JAX keeps the module of a program that was called, and nobody keeps others from writing to the
    array after that. None in a module that is not of legacy.

    Example::

        written_since(counted.facts, counted.module) == []
    """
    if module.const_args or jaxpr.array_literals:
        return []
    types = {(each.shape, each.bytes) for each in module.inlined}
    return [
        each
        for each in jaxpr.captured
        if isinstance(each.value, np.ndarray)
        and (each.shape, each.bytes) in types
        and not _is_inlined(each, module)
    ]


def is_in_form(side: Side, jaxpr: JaxprFacts) -> bool:
    """Say whether a jaxpr, whose module nobody made, is in the form of its side.

    Example::

        is_in_form("jax-legacy", stages.trace(built, None).facts)
    """
    if side.removeprefix("jax-") == "legacy":
        return not jaxpr.array_literals
    return jaxpr.constvars == jaxpr.special_constvars


def _against_legacy(jaxpr: JaxprFacts, module: ModuleCounts, live_captured: int) -> list[str]:
    found = []
    if module.const_args:
        found.append(f"{counted(module.const_args, 'const arg')} where legacy passes none")
    if jaxpr.array_literals:
        found.append(f"{counted(jaxpr.array_literals, 'array literal')} where legacy has none")
    dead = len(jaxpr.captured) - live_captured
    missing = sum(not _is_inlined(array, module) for array in jaxpr.captured)
    if missing > dead:
        found.append(f"{counted(missing, 'captured array')} not inlined, where legacy inlines all")
    return found


def _is_inlined(array: CapturedValue, module: ModuleCounts) -> bool:
    """Say whether a module holds a captured array, by content where MLIR's bindings can read it.

    Typed PRNG keys, arrays that repeat themselves by a stride of zero and elements of less than a
    byte are inlined in another shape or size. They are taken to be inlined.
    """
    strides = getattr(array.value, "strides", ())
    if (
        array.key
        or 0 in strides
        or str(getattr(array.value, "dtype", "")).endswith(("int4", "int2"))
    ):
        return True
    alike = [c for c in module.inlined if (c.shape, c.bytes) == (array.shape, array.bytes)]
    return any(c.digest is None or c.digest == array.digest() for c in alike)


def _against_simplified(jaxpr: JaxprFacts, module: ModuleCounts) -> list[str]:
    found = []
    ordinary = jaxpr.constvars - jaxpr.special_constvars
    if ordinary:
        found.append(f"{counted(ordinary, 'constvar')} where simplified has none")
    inlined = _inlined_captured_bytes(jaxpr, module)
    if inlined:
        found.append(f"{inlined} bytes of captured arrays were inlined, simplified inlines none")
    return found


def _against_one_each(jaxpr: JaxprFacts, module: ModuleCounts, live_captured: int) -> list[str]:
    most = len(jaxpr.captured) + len(jaxpr.small_keys)
    left = sum(_is_left_inlined(array, module) for array in jaxpr.captured)
    found = []
    if not live_captured <= module.const_args + left <= most:
        found.append(
            f"{counted(module.const_args, 'const arg')} for "
            f"{counted(live_captured, 'captured array')} where our simplified passes one each"
        )
    return found


def _is_left_inlined(array: CapturedValue, module: ModuleCounts) -> bool:
    """Whether an array is inlined and no const arg has its type, where others are hoisted."""
    dtype = getattr(array.value, "dtype", None)
    if array.key or dtype is None or not module.const_args:
        return False
    as_argument = (array.shape, element_of(dtype))
    return as_argument not in module.const_arg_types and any(
        (each.shape, each.bytes, each.digest) == (array.shape, array.bytes, array.digest())
        for each in module.inlined
    )


def _has_words_of(keys: list[CapturedValue], array: CapturedValue, module: ModuleCounts) -> bool:
    """Whether an inlined constant is a key, and not the array of its words, which is passed."""
    dtype = getattr(array.value, "dtype", None)
    if dtype is None or (array.shape, element_of(dtype)) not in module.const_arg_types:
        return False
    return any(each.bytes == array.bytes and each.digest() == array.digest() for each in keys)


def _inlined_captured_bytes(jaxpr: JaxprFacts, module: ModuleCounts) -> int:
    """Count the bytes of inlined constants that have the elements of a captured array.

    They are compared by content, because constants that only arise during lowering stay inlined in
    both modes. Typed PRNG keys are left out: stock JAX inlines them in both. Where MLIR's bindings
    cannot read a constant (bfloat16, complex), shape and size are compared.
    """
    if jaxpr.calls_exported:
        return 0  # an exported module may have captured the same arrays, and never hoists
    keys = [array for array in jaxpr.captured if array.key]
    arrays = [
        array
        for array in jaxpr.captured
        if not (array.key or _is_left_inlined(array, module) or _has_words_of(keys, array, module))
    ]
    total = 0
    for constant in module.inlined:
        alike = [a for a in arrays if (a.shape, a.bytes) == (constant.shape, constant.bytes)]
        if alike:
            digest = constant.digest
            if digest is None or any(array.digest() == digest for array in alike):
                total += constant.bytes
    return total


def _statement(side: Side, jaxpr: JaxprFacts, module: ModuleCounts, found: list[str]) -> str:
    if found:
        return f"not {side}: " + "; ".join(found)
    arrays = counted(len(jaxpr.captured), "captured array")
    if not jaxpr.captured:
        return "no captured array is above the threshold, so both modes produce the same"
    if side.endswith("legacy"):
        return f"{arrays}, no const args, {counted(module.inlined_bytes, 'byte')} inlined"
    keys_stay = side == "jax-simplified" and jaxpr.special_constvars
    inlined = "typed PRNG keys alone inlined" if keys_stay else "none inlined"
    return f"{counted(module.const_args, 'const arg')} for {arrays}, {inlined}"
