"""Counts over a lowered StableHLO module, read off its operations rather than its text."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from parity_tests.jaxpr.captured import sha256_of

_MOST_PRINTED = 8  # elements of a constant
_MOST_SPELLED = 100  # elements of a constant of which MLIR prints no bytes in hexadecimal
_ELIDED = "dense_resource<__elided__>"  # what MLIR prints in the place of more than it is told
_TYPED = re.compile(rf"{_ELIDED} : tensor<((?:\d+x)*)((?:complex<)?[a-z]+\d\w*>?)>")


@dataclass(frozen=True)
class InlinedConstant:
    """One `stablehlo.constant` that is no scalar; `element` is the type of its elements, as in f32.

    `bytes` is the logical size of the tensor. A splat such as `dense<0.0> : tensor<1000xf32>` takes
    no space in the text and counts as 4000 bytes, because a captured array of equal elements is
    inlined as a splat. Splats that JAX makes by itself do not blur this: `jnp.zeros` is a scalar
    constant under `broadcast_in_dim`.

    `digest` is the sha256 of the elements. It is None where MLIR's bindings cannot read their type
    and they are too few to be printed as bytes. It is taken at once, because an operation that
    outlives its module crashes when it is read.
    """

    shape: tuple[int, ...]
    bytes: int
    splat: bool
    digest: str | None
    element: str = ""


@dataclass(frozen=True)
class ModuleCounts:
    """Counts over a module; `const_args` counts main's arguments marked `jax.const`.

    `const_arg_types` has their shapes and element types, in order. `embedded` are the arrays at or
    below the embed threshold, `inlined` the arrays above it. `main_order` has the kinds of main's
    arguments in order, one for each run of a kind; `argument_types` has the types of the user's
    arguments, and says which of them are donated. `marks_lost` counts operands of calls that are
    marked `jax.const` in the caller and not in the function that is called.
    """

    operations: int
    functions: int
    operations_by_name: dict[str, int]
    # Those that return arrays: of main, and of a function once for each call of it.
    array_operations: dict[str, int]
    constants: int
    constant_bytes: int
    inlined: tuple[InlinedConstant, ...]
    const_args: int
    main_order: str
    argument_types: str
    marks_lost: int
    callbacks: int
    embedded: tuple[InlinedConstant, ...] = ()
    const_arg_types: tuple[tuple[tuple[int, ...], str], ...] = ()

    @property
    def inlined_bytes(self) -> int:
        """The logical bytes of non-scalar constants above the embed threshold."""
        return sum(constant.bytes for constant in self.inlined)


def count(module: Any, *, embed_threshold: int) -> ModuleCounts:
    """Count over an MLIR module, as `lowered.compiler_ir()` returns it.

    `inlined` has the constants larger than `embed_threshold` bytes.
    """
    names: Counter[str] = Counter()
    constants, constant_bytes, callbacks = 0, 0, 0
    arrays: list[InlinedConstant] = []
    operations, functions = _operations_and_functions(module)
    for operation in operations:
        names[operation.name] += 1
        callbacks += _is_callback(operation)
        if operation.name == "stablehlo.constant":
            shape, size = _shape_and_bytes(operation)
            constants += 1
            constant_bytes += size
            if shape:
                splat, digest = _is_splat(operation), _digest(operation)
                element = str(operation.results[0].type.element_type)
                arrays.append(InlinedConstant(shape, size, splat, digest, element))
    kinds = {name: _argument_kinds(each.operation) for name, each in functions.items()}
    main = functions["main"].operation if "main" in functions else None
    of_main = kinds.get("main", [])
    return ModuleCounts(
        operations=names.total(),
        functions=names["func.func"],
        operations_by_name=dict(sorted(names.items())),
        array_operations=_of_arrays(functions),
        constants=constants,
        constant_bytes=constant_bytes,
        inlined=tuple(each for each in arrays if each.bytes > embed_threshold),
        embedded=tuple(each for each in arrays if each.bytes <= embed_threshold),
        const_arg_types=_const_arg_types(main, of_main),
        const_args=sum("const" in kind for kind in of_main),
        main_order=", ".join(kind for kind, _ in groupby(of_main)),
        argument_types=", ".join(_argument_types(main, of_main)),
        marks_lost=_marks_lost(functions, kinds),
        callbacks=callbacks,
    )


def printed(module: Any) -> str:
    """Print an MLIR module, with constants of more than a few elements elided."""
    return str(module.operation.get_asm(large_elements_limit=_MOST_PRINTED))


def text_bytes(lowered: Any, text: str) -> int:
    """Return the length of the text of a lowered stage of JAX; `text` is what `printed` printed."""
    if _ELIDED not in text:
        return len(text)
    # A text of 2 GiB takes seconds, and its hexadecimal digits are known to be two for each byte.
    text = lowered.compiler_ir().operation.get_asm(large_elements_limit=_MOST_SPELLED)
    large = _TYPED.findall(text)
    if len(large) != text.count(_ELIDED):
        return len(lowered.as_text())
    sizes = (math.prod(map(int, dims.split("x")[:-1])) * _element_bytes(of) for dims, of in large)
    return len(text) + sum(len('dense<"0x">') - len(_ELIDED) + 2 * size for size in sizes)


def _of_arrays(functions: Mapping[str, _Function]) -> dict[str, int]:
    """Count the operations of main that return arrays, with those of its functions, by name.

    One mode may lower a body once and call it twice where the other lowers it twice. Scalars count
    the turns of loops, and say little of the work.
    """
    counted: dict[str, Counter[str]] = {}

    def of(name: str) -> Counter[str]:
        if name not in counted:
            found: Counter[str] = Counter()
            for operation in functions[name].inside:
                found[operation.name] += any(_is_array(each) for each in operation.results)
                if operation.name == "func.call":
                    found += of(operation.attributes["callee"].value)
            counted[name] = found
        return counted[name]

    return dict(sorted((+of("main")).items())) if "main" in functions else {}


def _is_array(result: Any) -> bool:
    return bool(getattr(result.type, "rank", 0))


def element_of(dtype: np.dtype[Any]) -> str:
    """Return the element type that a tensor of a NumPy dtype has.

    Example::

        element_of(np.dtype("complex64")) == "complex<f32>"
    """
    name = dtype.name
    if dtype.kind == "c":
        return f"complex<f{dtype.itemsize * 4}>"
    if name.startswith("float") and "_" in name:
        return "f" + name.removeprefix("float").replace("_", "").upper()  # float8_e4m3fn: f8E4M3FN
    for prefix, short in (("bool", "i1"), ("bfloat", "bf"), ("float", "f"), ("uint", "ui")):
        if name.startswith(prefix):
            return short + name.removeprefix(prefix)
    return name.replace("int", "i")


def _walk(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for child in block.operations:
                # A generic view: the bindings' own classes rename attributes per dialect.
                yield child.operation
                yield from _walk(child.operation)


def _shape_and_bytes(operation: Any) -> tuple[tuple[int, ...], int]:
    # The type is the result's, because casting the attribute itself raises for complex tensors.
    type_ = operation.results[0].type
    shape = tuple(type_.shape)
    return shape, math.prod(shape) * _element_bytes(str(type_.element_type))


# Of other elements, such as bfloat16, complex numbers and int4, MLIR's bindings make no array:
# jaxlib 0.10.2 raises, and jaxlib 0.8.0 ends the process.
_READABLE = re.compile(r"f16|f32|f64|u?i(1|8|16|32|64)")


def _digest(operation: Any) -> str | None:
    if not _READABLE.fullmatch(str(operation.results[0].type.element_type)):
        return _digest_of_text(operation)
    try:
        value = np.asarray(operation.attributes["value"])
    except (TypeError, ValueError):
        return _digest_of_text(operation)
    return sha256_of(value)


def _digest_of_text(operation: Any) -> str | None:
    """Digest the text of MLIR, which has the bytes of many elements in hexadecimal."""
    _, found, rest = operation.get_asm().partition('dense<"0x')
    if not found:
        return None
    return hashlib.sha256(bytes.fromhex(rest.partition('"')[0])).hexdigest()


def _is_splat(operation: Any) -> bool:
    try:
        return bool(operation.attributes["value"].is_splat)
    except (TypeError, AttributeError):  # complex tensors, and resources, which are never splats
        return False


def _element_bytes(element: str) -> int:
    """Return an element's bytes as NumPy stores it: `f32` 4, `complex<f32>` 8, `i1` and `i4` 1."""
    bits = re.search(r"\d+", element)
    if bits is None:
        return 0  # tokens and the like hold no data
    return max(8, int(bits.group())) // 8 * (2 if element.startswith("complex") else 1)


def _argument_types(main: Any, kinds: Sequence[str]) -> Iterator[str]:
    if main is not None:
        arguments = main.regions[0].blocks[0].arguments
        for argument, kind, marks in zip(arguments, kinds, _marks(main), strict=True):
            if kind == "argument":
                donated = any(mark in marks for mark in _DONATIONS)
                yield f"{argument.type} donated" if donated else str(argument.type)


def _const_arg_types(main: Any, kinds: Sequence[str]) -> tuple[tuple[tuple[int, ...], str], ...]:
    if main is None:
        return ()
    return tuple(
        (tuple(argument.type.shape), str(argument.type.element_type))
        for argument, kind in zip(main.regions[0].blocks[0].arguments, kinds, strict=True)
        if "const" in kind and hasattr(argument.type, "shape")  # a token has none
    )


def _is_callback(operation: Any) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return "callback" in operation.attributes["call_target_name"].value


@dataclass(frozen=True)
class _Function:
    """A function of a module, and all operations within it."""

    operation: Any
    inside: Sequence[Any]


def _operations_and_functions(module: Any) -> tuple[list[Any], dict[str, _Function]]:
    """Return all operations of a module, and its functions by name."""
    # Every operation is read several times, and to reach it through the bindings takes the longest.
    operations: list[Any] = []
    functions: dict[str, _Function] = {}
    for each in module.body.operations:
        operation, inside = each.operation, list(_walk(each.operation))
        operations += [operation, *inside]
        if operation.name == "func.func":
            functions[operation.attributes["sym_name"].value] = _Function(operation, inside)
    return operations, functions


def _marks_lost(functions: Mapping[str, _Function], kinds: Mapping[str, Sequence[str]]) -> int:
    lost = 0
    for name, function in functions.items():
        marked = ["const" in kind for kind in kinds[name]]
        if not any(marked):
            continue
        arguments = function.operation.regions[0].blocks[0].arguments
        const = [argument for argument, is_const in zip(arguments, marked, strict=True) if is_const]
        for operation in function.inside:
            if operation.name == "func.call":
                callee = kinds.get(operation.attributes["callee"].value, [])
                pairs = zip(operation.operands, callee, strict=False)
                lost += sum("const" not in kind and operand in const for operand, kind in pairs)
    return lost


# The marks that JAX sets on arguments beside the user's own (jax 0.10.2).
_KINDS = {"jax.global_constant": "dimension", "jax.token": "token", "jax.const": "const"}
# The marks of a donated argument, with an output that takes its buffer and without one.
_DONATIONS = ("tf.aliasing_output", "jax.buffer_donor")


def _argument_kinds(function: Any) -> list[str]:
    """Return the kind of each argument; one with several marks has a kind of several words."""
    return [
        " and ".join(kind for mark, kind in _KINDS.items() if mark in marks) or "argument"
        for marks in _marks(function)
    ]


def _marks(function: Any) -> list[Any]:
    """Return the attributes of each argument, by name."""
    if "arg_attrs" not in function.attributes:
        return [{}] * len(function.regions[0].blocks[0].arguments)
    return list(function.attributes["arg_attrs"])
