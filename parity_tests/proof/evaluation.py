"""A StableHLO module evaluated by the reference interpreter, which is neither XLA nor ours.

The interpreter ends the process at an operation that it has not, and computes element by element:
half a million a second. So it belongs into a process that may die, and has a time limit there.

What it makes of a module is one thing that the module may mean. Of these operations StableHLO
leaves the results to each implementation, or to chance, and they are turned down: random bits, and
the order of equal elements in an unstable sort.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.mlir import ir, passmanager
from jax.extend.mlir.dialects import stablehlo

from parity_tests.proof.attributes import dtype_of, static_shape
from parity_tests.proof.numbers import UndecidedError

Array = np.ndarray[Any, Any]

MOST_ELEMENTS = 1 << 20  # of one array
_RANDOM = ("stablehlo.rng", "stablehlo.rng_bit_generator")
_CONSTRAINT = "sdy.sharding_constraint"  # on one device it is its operand
_DIALECTS = ("stablehlo.", "chlo.", "func.")
# Among those of its dialects that it has not, or that need several devices; at others the process
# ends.
_MISSING = tuple(
    f"stablehlo.{each}"
    for each in (
        "all_gather", "all_reduce", "all_to_all", "cholesky", "collective_broadcast",
        "collective_permute", "fft", "partition_id", "reduce_scatter", "replica_id",
    )
)  # fmt: skip
_SCATTER = "stablehlo.scatter"
_PROGRAM = "program"  # what the main function of a module becomes


class NotEvaluatedError(ValueError):
    """The module is not for the reference interpreter; the message says why."""


@dataclass(frozen=True)
class Evaluator:
    """A module that can be evaluated; `marks` are the names of its arguments' attributes."""

    module: Any
    marks: tuple[frozenset[str], ...]
    takes: tuple[_Type, ...]
    returns: tuple[_Type, ...]

    @classmethod
    def of(cls, module: Any) -> Evaluator:
        """Read a module, which stays as it is. Raises `NotEvaluatedError`.

        Example::

            Evaluator.of(jax.jit(f).lower(x).compiler_ir()).results([x])
        """
        for each in _operations(module.operation):  # before a text is made of large constants
            _check(each)
        with module.context:
            copy = ir.Module.parse(str(module))
        for each in list(_operations(copy.operation)):
            if each.name == _CONSTRAINT:
                each.results[0].replace_all_uses_with(each.operands[0])
                each.erase()
        with copy.context:
            _passes().run(copy.operation)
        for each in list(_operations(copy.operation)):
            if each.name == _SCATTER:
                _keep_operands(each)
        main = _main(copy)
        attributes = main.attributes
        arguments = main.regions[0].blocks[0].arguments
        given = attributes["arg_attrs"] if "arg_attrs" in attributes else [()] * len(arguments)
        marks = tuple(frozenset(each[i].name for i in range(len(each))) for each in given)
        type_ = attributes["function_type"].value
        takes, returns = (tuple(map(_type, each)) for each in (type_.inputs, type_.results))
        with copy.context:
            main.attributes["sym_name"] = ir.StringAttr.get(_PROGRAM)
            main.attributes["sym_visibility"] = ir.StringAttr.get("private")
            text = str(copy).rstrip().removesuffix("}") + _wrapper(takes, returns) + "}"
            return cls(ir.Module.parse(text), marks, takes, returns)

    def results(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the results for arrays of the types that main takes, const args among them.

        Raises `NotEvaluatedError`; where the interpreter does not have an operation, the process
        ends.
        """
        with self.module.context:
            passed = [
                ir.DenseElementsAttr.get(part, type=ir.Type.parse(text))  # type: ignore[call-overload]
                for array, type_ in zip(arrays, self.takes, strict=True)
                for part, text in zip(type_.parts(array), type_.passed, strict=True)
            ]
            try:
                found = iter(stablehlo.eval_module(self.module, passed))
            except (RuntimeError, ValueError) as error:
                raise NotEvaluatedError(f"the reference interpreter says: {error}") from error
            return [
                each.joined([np.array(next(found)) for _ in each.passed]) for each in self.returns
            ]


def _main(module: Any) -> Any:
    for each in module.body.operations:
        if each.operation.name == "func.func" and each.attributes["sym_name"].value == "main":
            return each.operation
    raise NotEvaluatedError("a module without a function main")


@functools.cache
def _registered() -> None:
    stablehlo.register_stablehlo_passes()


def _passes() -> Any:
    """Return the pass that writes operations of higher mathematics by those of StableHLO."""
    _registered()
    return passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))")


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield each.operation
                yield from _operations(each.operation)


def _check(operation: Any) -> None:
    name = operation.name
    is_known = name.startswith(_DIALECTS) or name in (_CONSTRAINT, "sdy.mesh")
    if name in _MISSING or not is_known:
        raise NotEvaluatedError(f"the reference interpreter has no {name}")
    if name == "stablehlo.custom_call":
        target = operation.attributes["call_target_name"].value
        raise NotEvaluatedError(f"the reference interpreter has no custom call {target}")
    if name in _RANDOM:
        raise NotEvaluatedError(f"{name} has other bits in each implementation")
    if name == "stablehlo.sort" and not _is_stable(operation):
        raise NotEvaluatedError("an unstable sort has an order of its own in each implementation")
    for result in operation.results:
        if isinstance(result.type, ir.RankedTensorType):
            _type(result.type)


def _keep_operands(scatter: Any) -> None:
    """Give a scatter copies of the arrays that it changes: jaxlib 0.10.2 overwrites them."""
    arrays = (len(scatter.operands) - 1) // 2  # before the indices and the updates
    for i, operand in enumerate(list(scatter.operands)[:arrays]):
        with ir.InsertionPoint(scatter), scatter.location:
            copy = ir.Operation.create("stablehlo.reshape", [operand.type], [operand])
        scatter.operands[i] = copy.results[0]


def _is_stable(sort: Any) -> bool:
    return "is_stable" in sort.attributes and bool(sort.attributes["is_stable"].value)


# -- types -----------------------------------------------------------------------------------------

# MLIR's bindings read and write integers alone in each version of JAX, so bits are passed.


@dataclass(frozen=True)
class _Type:
    """A type of tensors, as MLIR prints it and as NumPy names it."""

    text: str
    element: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def passed(self) -> tuple[str, ...]:
        """The types that its bits are passed in: two for complex numbers."""
        bits = max(8, self._part.itemsize * 8)
        return (self.of(f"i{bits}"),) * (2 if self.is_complex else 1)

    @property
    def is_complex(self) -> bool:
        """Whether its elements are complex numbers."""
        return self.dtype.kind == "c"

    @property
    def is_narrow(self) -> bool:
        """Whether its elements are integers of fewer bits than a byte has."""
        return self.element in ("i1", "i2", "i4", "ui2", "ui4")

    @property
    def _part(self) -> np.dtype[Any]:
        return np.dtype(f"f{self.dtype.itemsize // 2}") if self.is_complex else self.dtype

    def of(self, element: str) -> str:
        """Return the type of such tensors of other elements."""
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{element}>"

    def parts(self, array: Array) -> list[Array]:
        """Return the bits of an array of this type, as integers."""
        if array.shape != self.shape:
            raise NotEvaluatedError(f"an array of shape {array.shape} for a {self.text}")
        array = array.astype(self.dtype)
        if self.is_narrow:
            return [array.astype(np.int8, order="C")]
        parts = [array.real, array.imag] if self.is_complex else [array]
        return [np.array(each, order="C").view(f"i{self._part.itemsize}") for each in parts]

    def joined(self, parts: Sequence[Array]) -> Array:
        """Return the array of this type whose bits are given."""
        if self.is_narrow:
            return parts[0].astype(self.dtype)
        if not self.is_complex:
            return parts[0].view(self.dtype)
        made = np.empty(self.shape, self.dtype)
        made.real, made.imag = (each.view(self._part) for each in parts)
        return made


def _type(type_: Any) -> _Type:
    """Read a type of tensors. Raises `NotEvaluatedError` where such an array is not for this."""
    try:
        name = dtype_of(type_)
    except UndecidedError as error:
        raise NotEvaluatedError(str(error)) from error
    shape = static_shape(str(type_))
    if shape is None:
        raise NotEvaluatedError(f"the open size of {type_}")
    if (size := math.prod(shape)) > MOST_ELEMENTS:
        raise NotEvaluatedError(
            f"an array of {size:,} elements is too large for the reference interpreter (at most "
            f"{MOST_ELEMENTS:,})"
        )
    element = str(type_.element_type)
    if name.startswith(("float4", "float6")):
        raise NotEvaluatedError(f"elements of type {element}")
    return _Type(str(type_), element, jnp.dtype(name), shape)


def _wrapper(takes: Sequence[_Type], returns: Sequence[_Type]) -> str:
    """Return a function main that takes bits, calls the program, and returns bits."""
    arguments = [
        (f"%a{number}_{part}", text)
        for number, each in enumerate(takes)
        for part, text in enumerate(each.passed)
    ]
    results = [
        (f"%b{number}_{part}", text)
        for number, each in enumerate(returns)
        for part, text in enumerate(each.passed)
    ]
    operands = ", ".join(f"%a{number}" for number in range(len(takes)))
    of_call = f"({', '.join(t.text for t in takes)}) -> ({', '.join(t.text for t in returns)})"
    results_of_call = f"%r:{len(returns)} = " if returns else ""
    signature = ", ".join(f"{name}: {text}" for name, text in arguments)
    types = ", ".join(text for _, text in results)
    lines = [
        f"func.func public @main({signature}) -> ({types}) {{",
        *(line for number, each in enumerate(takes) for line in _from_bits(f"%a{number}", each)),
        f"{results_of_call}func.call @{_PROGRAM}({operands}) : {of_call}",
        *(
            line
            for number, each in enumerate(returns)
            for line in _to_bits(f"%b{number}", f"%r#{number}", each)
        ),
        f"return {', '.join(name for name, _ in results)} : {types}" if results else "return",
        "}\n",
    ]
    return "\n".join(lines)


def _from_bits(name: str, type_: _Type) -> list[str]:
    [bits, *_] = type_.passed
    if not type_.is_complex:
        return [_convert(name, f"{name}_0", bits, type_.text, type_)]
    part = type_.of(f"f{type_.dtype.itemsize * 4}")
    return [
        _convert(f"{name}_real", f"{name}_0", bits, part, type_),
        _convert(f"{name}_imag", f"{name}_1", bits, part, type_),
        f"{name} = stablehlo.complex {name}_real, {name}_imag : {type_.text}",
    ]


def _to_bits(bits: str, name: str, type_: _Type) -> list[str]:
    [passed, *_] = type_.passed
    if not type_.is_complex:
        return [_convert(f"{bits}_0", name, type_.text, passed, type_)]
    part = type_.of(f"f{type_.dtype.itemsize * 4}")
    return [
        f"{bits}_real = stablehlo.real {name} : ({type_.text}) -> {part}",
        f"{bits}_imag = stablehlo.imag {name} : ({type_.text}) -> {part}",
        _convert(f"{bits}_0", f"{bits}_real", part, passed, type_),
        _convert(f"{bits}_1", f"{bits}_imag", part, passed, type_),
    ]


def _convert(made: str, operand: str, before: str, after: str, type_: _Type) -> str:
    operation = "convert" if type_.is_narrow else "bitcast_convert"
    return f"{made} = stablehlo.{operation} {operand} : ({before}) -> {after}"
