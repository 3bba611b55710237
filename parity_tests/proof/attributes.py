"""Texts of MLIR's types and attributes that say all that they mean, and the contents of constants.

What has no rule here is an `UndecidedError`, which names it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from parity_tests.proof.contents import DTYPES, Content, content_of
from parity_tests.proof.numbers import UndecidedError

# Those that MLIR's bindings read without a copy; the others are read from the text.
_BUFFERS = re.compile(r"f16|f32|f64|u?i(8|16|32|64)|i1")

_TENSOR = re.compile(
    rf"tensor<([0-9?]+x)*({'|'.join(map(re.escape, DTYPES))}|index)"
    r"(, #stablehlo\.bounds<[^<>]*>)?>"
)

# Kinds of attributes that are printed whole. A class of the bindings stands for a kind.
_PRINTED = frozenset(
    (
        "IntegerAttr",
        "FloatAttr",
        "BoolAttr",
        "StringAttr",
        "UnitAttr",
        "DenseBoolArrayAttr",
        "DenseI8ArrayAttr",
        "DenseI16ArrayAttr",
        "DenseI32ArrayAttr",
        "DenseI64ArrayAttr",
        "DenseF32ArrayAttr",
        "DenseF64ArrayAttr",
    )
)
_DENSE = frozenset(("DenseElementsAttr", "DenseFPElementsAttr", "DenseIntElementsAttr"))
# Dialects whose attributes hold nothing but what is printed, and names of meshes.
_DIALECTS = re.compile(r"#(stablehlo|chlo|sdy)[.<]")
_STRING = r'"(?:[^"\\]|\\.)*"'
_SYMBOL = re.compile(rf'{_STRING}|@(?:"((?:[^"\\]|\\.)*)"|([\w$.-]+))')
# A sharding among several, which may have a mesh in it, and all of them.
_SHARDING = rf'<(?:{_STRING}|<(?:{_STRING}|[^"<>])*>|[^"<>])*>'
_EACH_SHARDING = re.compile(_SHARDING)
_SHARDINGS = re.compile(rf"#sdy\.sharding_per_value<\[((?:{_SHARDING}(?:, )?)*)\]>")


class Texts:
    """The texts of the types and attributes of one module.

    `meshes` has the contents of its meshes by name: a sharding names its mesh.
    """

    def __init__(self, meshes: Mapping[str, str]) -> None:
        self._meshes = meshes
        self._known: dict[Any, str] = {}

    def of_type(self, type_: Any) -> str:
        """Return the text of a type."""
        found = self._known.get(type_)
        if found is None:
            found = str(type_)
            if not (_TENSOR.fullmatch(found) or found == "!stablehlo.token"):
                raise UndecidedError(f"the type {found}")
            self._known[type_] = found
        return found

    def of(self, attribute: Any) -> str:
        """Return the text of an attribute, with the contents of meshes and arrays in it."""
        found = self._known.get(attribute)
        if found is None:
            found = self._known[attribute] = self._of(attribute)
        return found

    def of_each(self, attribute: Any) -> tuple[str, ...]:
        """Return the texts of the shardings of several values, with the contents of meshes."""
        found = _SHARDINGS.fullmatch(str(attribute))
        if found is None:
            raise UndecidedError(f"shardings that are printed as {str(attribute)[:60]}")
        return tuple(
            _SYMBOL.sub(self._with_mesh, each) for each in _EACH_SHARDING.findall(found[1])
        )

    def _of(self, attribute: Any) -> str:
        kind = type(attribute).__name__
        if kind in _PRINTED:
            return str(attribute)
        if kind == "ArrayAttr":
            return f"[{', '.join(map(self.of, attribute))}]"
        if kind == "DictAttr":
            named = [attribute[index] for index in range(len(attribute))]
            parts = sorted(f"{each.name!r}: {self.of(each.attr)}" for each in named)
            return f"{{{', '.join(parts)}}}"
        if kind == "TypeAttr":
            return self.of_type(attribute.value)
        if kind in _DENSE:
            element = attribute.type.element_type
            return f"array of {element} {dense_content(attribute).number.hex()}"
        text = str(attribute)
        if not _DIALECTS.match(text):
            raise UndecidedError(f"an attribute of kind {kind}: {text[:60]}")
        return _SYMBOL.sub(self._with_mesh, text)

    def _with_mesh(self, found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name is None:
            return found[0]
        if name not in self._meshes:
            raise UndecidedError(f"an attribute that names {found[0]}")
        return self._meshes[name]


class Resources:
    """The arrays that a module holds beside its operations, of which these have the names.

    JAX 0.12 writes none; other tools do. MLIR prints them behind the module, after the alignment of
    their bytes in memory.
    """

    def __init__(self, module: Any) -> None:
        self._module = module

    @cached_property
    def _printed(self) -> dict[str, str]:
        behind = str(self._module).rpartition("{-#")[2]
        return {found[1].strip('"'): found[2] for found in _RESOURCE.finditer(behind)}

    def content(self, name: str, type_: Any) -> Content:
        """Return the content of a resource as an array of a type."""
        element = str(type_.element_type)
        if element == "i1" or name not in self._printed:
            raise UndecidedError(f"the resource {name} of {type_}")
        as_bytes = bytes.fromhex(self._printed[name])[_ALIGNMENT:]
        return content_of(np.frombuffer(as_bytes, jnp.dtype(dtype_of(type_))).reshape(type_.shape))


_ALIGNMENT = 4  # bytes
_RESOURCE = re.compile(r'([\w$.-]+|"[^"]*"): "0x([0-9A-Fa-f]*)"')
_OF_RESOURCE = re.compile(r'dense_resource<([\w$.-]+|"[^"]*")> : tensor<.*')


def constant_content(operation: Any, resources: Resources) -> Content:
    """Return the content of a `stablehlo.constant`."""
    type_ = operation.results[0].type
    try:
        attribute = operation.attributes["value"]
    except TypeError:  # the bindings make no object of complex numbers
        text = operation.get_asm().rpartition("dense<")[2]
        return _content_of_text(f"dense<{text}", type_, operation.context)
    if type(attribute).__name__ in _DENSE:
        return dense_content(attribute)
    resource = _OF_RESOURCE.fullmatch(str(attribute))
    if resource is None:
        raise UndecidedError(f"a constant of kind {type(attribute).__name__}")
    return resources.content(resource[1].strip('"'), type_)


def dense_content(attribute: Any) -> Content:
    """Return the content of an attribute that holds an array."""
    if not attribute.is_splat:
        return _content_of_dense(attribute)
    # Most constants are one number, which the text has, with the type.
    text = str(attribute)
    if text not in _splats:
        if len(_splats) == _MOST_SPLATS:
            _splats.clear()
        _splats[text] = _content_of_dense(attribute)
    return _splats[text]


_splats: dict[str, Content] = {}
_MOST_SPLATS = 10_000


def _content_of_dense(attribute: Any) -> Content:
    type_ = attribute.type
    if _BUFFERS.fullmatch(str(type_.element_type)):
        return content_of(np.asarray(attribute))
    return _content_of_text(str(attribute), type_, attribute.context)


def static_shape(type_: str) -> tuple[int, ...] | None:
    """Return the shape of a type, given as a text of `Texts.of_type`; None if it is not static.

    Example::

        static_shape("tensor<2x3xf32>") == (2, 3)
    """
    found = _STATIC.fullmatch(type_)
    return None if found is None else tuple(map(int, found["shape"].split("x")[:-1]))


def with_shape(type_: str, shape: Sequence[int]) -> str:
    """Return the text of a static type with another shape.

    Example::

        with_shape("tensor<2x3xf32>", (3,)) == "tensor<3xf32>"
    """
    found = _STATIC.fullmatch(type_)
    assert found is not None
    return f"tensor<{''.join(f'{size}x' for size in shape)}{found['element']}>"


def dtype_of(type_: Any) -> str:
    """Return NumPy's name of the type of a tensor's elements."""
    element = str(type_.element_type)
    if element == "index":  # of layouts
        return "int64"
    if element not in DTYPES:
        raise UndecidedError(f"elements of type {element}")
    return DTYPES[element]


# A number as MLIR prints it; floats that no decimal number stands for have their bits as 0x.
_ELEMENT = re.compile(r"true|false|0x[0-9A-F]+|-?\d[\d.eE+-]*")


def _content_of_text(text: str, type_: Any, context: Any) -> Content:
    """Read what MLIR prints: `dense<1.0>`, `dense<[1.0, 2.0]>`, or many as `dense<"0x0A0B">`."""
    name, shape = dtype_of(type_), tuple(type_.shape)
    dtype = jnp.dtype(name)
    if text.startswith('dense<"0x'):
        as_bytes = bytes.fromhex(text[len('dense<"0x') : text.index('"', len('dense<"0x'))])
        elements = np.frombuffer(as_bytes, dtype)
    else:
        printed = _ELEMENT.findall(text[len("dense<") : text.rindex(">", 0, text.rindex(" : "))])
        if dtype.kind == "c":
            elements = _complex_numbers(printed, dtype, context)
        else:
            elements = np.array([_element(each, dtype) for each in printed], dtype)
    if elements.size == 1:
        return content_of(np.broadcast_to(elements.reshape(()), shape))
    if elements.size != math.prod(shape):
        raise UndecidedError(f"a constant that is printed as {text[:60]}")
    return content_of(elements.reshape(shape))


def _element(printed: str, dtype: np.dtype[Any]) -> Any:
    if printed.startswith("0x"):
        bits = int(printed, 16).to_bytes(dtype.itemsize, "little")
        return np.frombuffer(bits, dtype)[0]
    if "int" in dtype.name:
        return dtype.type(int(printed))
    # A decimal number is not nearer to another element, so that two roundings are as good as one.
    return dtype.type(float(printed))


def _complex_numbers(
    printed: list[str], dtype: np.dtype[Any], context: Any
) -> np.ndarray[Any, Any]:
    """Let MLIR round the real and the imaginary parts."""
    from jax.interpreters import mlir

    part = f"f{dtype.itemsize * 4}"
    text = f"dense<[{', '.join(printed)}]> : tensor<{len(printed)}x{part}>"
    parts = np.asarray(mlir.ir.Attribute.parse(text, context))
    return np.array(parts).view(dtype)


_STATIC = re.compile(r"tensor<(?P<shape>([0-9]+x)*)(?P<element>[^,?]*)>")

# What JAX passes for an array of 64 bits where it computes with 32.
_NARROW = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


def passed_content(array: Any, type_: str) -> Content:
    """Return the content of an array as it is passed for an argument of a type.

    `type_` is the text of `Texts.of_type`. Raises `UndecidedError` if the array is not of the type.
    """
    found = content_of(array)
    wanted = _STATIC.fullmatch(type_)
    dtype = DTYPES.get(wanted["element"]) if wanted else None
    if found.dtype == "float0":
        found = content_of(np.zeros(found.shape, bool))
    elif isinstance(array, np.ndarray) and dtype is not None and dtype == _NARROW.get(found.dtype):
        found = content_of(array.astype(dtype))
    shape = "".join(f"{size}x" for size in found.shape)
    if wanted is None or found.dtype != dtype or shape != wanted["shape"]:
        raise UndecidedError(f"a captured array of {found.dtype}{list(found.shape)} for a {type_}")
    return found
