"""Counts over the optimised HLO of a program and its executable."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from typing import Any

import jax

from parity_tests.proof.executables import number_executable
from parity_tests.proof.numbers import UndecidedError
from reports.rows import ExecutableCounts

# "  ROOT %add.1 = f32[7,7]{1,0} add(%a, %b), metadata=...": the type and the opcode. A tuple type
# may hold comments, "(f32[2]{0}, /*index=1*/s32[])", and no equals sign but in those.
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = (\(.*?\)|\S+) ([a-z][\w-]*)\(", re.MULTILINE)
_SHAPE = re.compile(r"^[a-z]+(\d*)[a-z0-9]*\[([\d,]*)\]")

# What versions of JAX print otherwise of one module: where an instruction comes from, and names.
# The head of a computation repeats its parameters, without the percent sign.
_METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
_HEAD = re.compile(r"^((?:ENTRY )?%\S+) \(.*", re.MULTILINE)
_NAME = re.compile(r"%[\w.-]+")


def printed(compiled: Any) -> str:
    """Return the optimised HLO of a compiled stage of JAX; "" where the backend prints none."""
    return compiled.as_text() or ""


def count(compiled: Any, text: str | None = None, const_args: int = 0) -> ExecutableCounts:
    """Count over a compiled stage of JAX, on one device or several.

    `text` is what it prints, where it has been printed already, and `const_args` says how many
    captured arrays it takes. Sizes are in bytes.
    `serialized_bytes` is None where the executable cannot be serialized, as with callbacks into
    Python.
    """
    text = printed(compiled) if text is None else text
    found = _INSTRUCTION.findall(text)
    names = Counter(opcode for _, opcode in found)
    constants = [_elements_bytes(type_) for type_, opcode in found if opcode == "constant"]
    return ExecutableCounts(
        instructions=len(found),
        fusions=names["fusion"],
        constants=sum(is_array for is_array, _ in constants),
        constant_bytes=sum(size for is_array, size in constants if is_array),
        serialized_bytes=_serialized_bytes(compiled),
        devices=len(compiled.runtime_executable().local_devices()),
        flops=_flops(compiled),
        digest=digest_of(text),
        program=_program(text, const_args),
    )


def _program(text: str, const_args: int) -> str:
    try:
        return number_executable(text, const_args).hex()
    except UndecidedError:
        return ""


def digest_of(text: str) -> str:
    """Return 16 bytes of SHA-256 of an optimised module without metadata and names; "" for none.

    Names count in the order in which they are met. Large constants are not printed.

    Example::

        digest_of("HloModule jit_f\\n\\nENTRY %main.4 (x: f32[]) -> f32[] {...")
    """
    first = _HEAD.search(text)  # tables of source files may stand above it
    if first is None:
        return ""
    plain = _HEAD.sub(r"\1", _METADATA.sub("", text[first.start() :]))
    names: dict[str, str] = {}
    numbered = _NAME.sub(lambda name: names.setdefault(name[0], f"%{len(names)}"), plain)
    about = text.partition("\n")[0]
    return hashlib.sha256(f"{about}\n{numbered}".encode()).hexdigest()[:32]


def _elements_bytes(type_: str) -> tuple[bool, int]:
    """Say whether a type has elements beyond one, and how many bytes they take."""
    match = _SHAPE.match(type_)
    if match is None:
        return False, 0
    bits, dimensions = match.groups()
    elements = math.prod(int(d) for d in dimensions.split(",") if d)
    return dimensions != "", math.ceil(elements * int(bits or 8) / 8)  # pred has no number


def _serialized_bytes(compiled: Any) -> int | None:
    executable = compiled.runtime_executable()
    try:
        if hasattr(executable, "serialize"):
            return len(executable.serialize())
        return len(executable.client.serialize_executable(executable))  # before jaxlib 0.9
    except jax.errors.JaxRuntimeError:
        return None


def _flops(compiled: Any) -> int | None:
    """XLA's count of floating-point operations; None where the backend has no analysis."""
    analysis = compiled.cost_analysis()
    if not isinstance(analysis, dict) or not analysis:
        return None
    # A program without any has no entry for them, and an unknown count is below 0.
    counts = [analysis.get(name, 0.0) for name in ("flops", "transcendentals")]
    return None if min(counts) < 0 else round(sum(counts))
