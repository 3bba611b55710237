"""Encodings: what a param of an equation says, as bytes that are equal in every process.

A value of a type without a rule is an `UndecidedError` by its type, so two params never count as
equal because something in them was not looked at. `repr` is no rule: it hides contents, and may
hold an address.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.extend import core
from jax.extend.core import primitives
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding

from parity_tests.jax_internals import key_generator
from parity_tests.jaxpr.bodies import is_body
from parity_tests.jaxpr.captured import words_of
from parity_tests.proof.contents import content, odd_bits_of
from parity_tests.proof.functions import encoded_function, maps_over_leaves
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import Number, UndecidedError, number, packed
from parity_tests.proof.objects import is_plain, parts_of
from parity_tests.proof.origins import has_its_name, is_class_installed

Encoder = Callable[[Any], bytes]


_MOST_KEPT = 4096


def _once(encode: Encoder) -> Encoder:
    """Keep what is made of an object of which JAX has one for many equations or types.

    The object is held, so that its id stays its own.
    """
    kept: dict[int, tuple[Any, bytes]] = {}

    @functools.wraps(encode)
    def known(value: Any) -> bytes:
        found = kept.get(id(value))
        if found is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            found = kept[id(value)] = value, encode(value)
        return found[1]

    return known


def encoded(value: Any) -> bytes:
    """Return the bytes that stand for a value of a param.

    Raises `UndecidedError` for a type without a rule.

    Example::

        encoded((1, None)) != encoded((1.0, None))
    """
    return _ENCODERS[type(value)](value)


# Objects of JAX that hold bodies, and their fields that say where these were written.
_HOLD_BODIES = {"GridMapping": {"debug"}, "BlockMapping": {"origin", "debug"}}


def with_digests(value: Any, digest_of: Callable[[Any], Number]) -> Any:
    """Return a value of a param with a digest in the place of each body that has a rule.

    Such a body is the value, an item of a tuple, or in an object that describes a grid of Pallas.

    Example::

        encoded(with_digests((jaxpr, 3), digest_of)) == encoded((digest_of(jaxpr), 3))
    """
    kind = type(value)
    if is_body(value):
        return digest_of(value)
    if kind is tuple:
        return tuple(with_digests(each, digest_of) for each in value)
    if kind.__name__ in _HOLD_BODIES and is_of_jax(kind):
        names = {each.name for each in dataclasses.fields(kind)} - _HOLD_BODIES[kind.__name__]
        return {name: with_digests(getattr(value, name), digest_of) for name in names}
    return value


def _plain(tag: str) -> Encoder:
    prefix = tag.encode()
    return lambda value: b"%b%d:%b" % (prefix, len(text := repr(value).encode()), text)


def _float(value: float) -> bytes:
    return b"f" + np.float64(value).tobytes()  # the payload of a NaN, too, and -0.0


def _items(tag: str) -> Encoder:
    return lambda value: packed(tag, *[_ENCODERS[type(each)](each) for each in value])


def _mapping(value: Mapping[Any, Any]) -> bytes:
    pairs = sorted(packed("", encoded(key), encoded(each)) for key, each in value.items())
    return packed("dict", *pairs)


def _set(value: Any) -> bytes:
    return packed(type(value).__name__, *sorted(map(encoded, value)))


@functools.lru_cache(maxsize=100)
def _dtype(value: np.dtype[Any]) -> bytes:
    return packed("dtype", value.name.encode(), b"" if value.isnative else value.str.encode())


def name_of(kind: Any) -> str:
    """Return where a class or function is defined and its name, joined by dots."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _class(value: type) -> bytes:
    if not is_class_installed(value):
        if parts_of(value) is None:
            raise UndecidedError(f"the class {name_of(value)}")
        return _function(value)
    if not has_its_name(value):
        raise UndecidedError(f"the class {name_of(value)}, which its module does not have")
    return packed("class", name_of(value).encode())


def _global(value: Any) -> bytes:
    """Encode an object that an installed module has under a name by that, and by what it holds."""
    kind = type(value)
    held = vars(sys.modules[kind.__module__]).items() if is_class_installed(kind) else ()
    names = [name for name, each in held if each is value]
    if not names or not hasattr(value, "__dict__"):
        raise UndecidedError(f"a value of type {name_of(kind)}")
    return packed("global", _class(kind), min(names).encode(), _mapping(vars(value)))


def _ufunc(value: np.ufunc) -> bytes:
    if getattr(np, value.__name__, None) is not value:
        raise UndecidedError(f"the ufunc {value.__name__}, which is not NumPy's")
    return packed("ufunc", value.__name__.encode())


def _array(value: Any) -> bytes:
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        raise UndecidedError(f"a value of type {name_of(type(value))}")
    if odd := odd_bits_of(words_of(value)):
        raise UndecidedError(f"an array of {odd} with bits that mean nothing")
    weak = bool(getattr(value, "weak_type", False))
    kind = "jax" if isinstance(value, jax.Array) else name_of(type(value))
    return packed(kind, str(value.dtype).encode(), b"~" if weak else b"", content(words_of(value)))


def _function(value: Callable[..., Any]) -> bytes:
    return packed("function", encoded_function(value, encoded))


def _treedef(value: Any) -> bytes:
    data = value.node_data()
    node = b"*" if data is None and value.num_leaves else encoded(data)
    return packed("tree", node, *map(_treedef, value.children()))


def _flat_callback(value: Any) -> bytes:
    """Encode a callback, and of the tree of its arguments what matters to it."""
    told = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if maps_over_leaves(value.callback_func):
        told["in_tree"] = value.in_tree.num_leaves
    return packed(name_of(type(value)), *map(encoded, told.values()))


def _attributes(*names: str) -> Callable[[type], Encoder]:
    """Encode an object of JAX by these attributes, which are all that it says."""

    def of_class(kind: type) -> Encoder:
        tag = name_of(kind)
        return lambda value: packed(tag, *(encoded(getattr(value, name)) for name in names))

    return of_class


# Slots that JAX has added since 0.10, and how what all programs had before is encoded.
_ADDED_SLOTS = {
    ("JaxprEqnContext", "cur_layout_mode"): packed("jax._src.layout.LayoutMode", b"AUTO"),
    ("JaxprEqnContext", "no_collectives"): packed("frozenset"),
    ("ManualAxisType", "unreduced_kind"): b"n",
    ("ShapedArray", "layout"): packed("jax._src.layout.AutoLayoutSingleton", b"AutoLayout"),
}


def _slots(kind: type, told: Callable[[Any], Any] = lambda value: value) -> Encoder:
    """Encode an interned object of JAX by its slots; those that cache something say nothing.

    A slot that a release has added says nothing where it has the value of the releases before.
    `told` is what the value of a slot says.
    """
    names = [
        name
        for each in reversed(kind.__mro__)
        for name in getattr(each, "__slots__", ())
        if _has_meaning(name)
    ]
    added = {name: _ADDED_SLOTS.get((kind.__name__, name)) for name in names}
    tag, always = name_of(kind), [name for name in names if added[name] is None]

    def of_slots(value: Any) -> bytes:
        parts = [encoded(told(getattr(value, name))) for name in always]
        for name, before in added.items():
            if before is not None and (now := encoded(getattr(value, name))) != before:
                parts.append(packed(name, now))
        return packed(tag, *parts)

    return of_slots


def _told_by_type(value: Any) -> Any:
    """Return what a slot of a type says, without a mesh that tells nothing.

    Inside of a `shard_map` over all axes of a mesh, nothing is left for the compiler to place. JAX
    types one array there by this mesh and another by none: a captured one, in one form alone.
    """
    if not isinstance(value, NamedSharding) or value.mesh.empty or not is_replicated(value.spec):
        return value
    if value.memory_kind is not None or set(value.mesh.axis_types) != {AxisType.Manual}:
        return value
    return NamedSharding(AbstractMesh((), ()), value.spec)


def is_replicated(spec: Any) -> bool:
    """Say whether a spec gives each device the whole array."""
    return not any((*spec.partitions, *spec.unreduced, *spec.reduced))


def _has_meaning(field: str) -> bool:
    """Say whether a field of JAX's types says something: caches and derivatives are private."""
    return not field.startswith("_") and field not in ("configs", "size")


def _fields(kind: type) -> Encoder:
    return _attributes(*(each.name for each in dataclasses.fields(kind)))(kind)


def _text(kind: type) -> Encoder:
    """Encode by the printed form, which has all of it."""
    tag = name_of(kind)
    return lambda value: packed(tag, str(value).encode())


def _device(kind: type) -> Encoder:
    return lambda value: packed("device", value.platform.encode(), str(value.id).encode())


def _mesh(kind: type) -> Encoder:
    def of_mesh(value: Any) -> bytes:
        devices = tuple(value.devices.flat)
        parts = (value.axis_names, value.devices.shape, value.axis_types, devices)
        return packed("mesh", *map(encoded, parts))

    return of_mesh


def _cores(kind: type) -> Encoder:
    """Encode a mesh of the cores of a chip, which has them in an array up to jax 0.10."""
    names = [each.name for each in dataclasses.fields(kind)]

    def of_cores(value: Any) -> bytes:
        fields = [getattr(value, name) for name in names]
        told = [(f.shape, *f.flat) if isinstance(f, np.ndarray) else f for f in fields]
        return packed(name_of(kind), *map(encoded, told))

    return of_cores


def _exported(kind: type) -> Encoder:
    """Encode a program that was exported: all but how derivatives of it are made.

    Its bytes have the locations of whoever exported it, so its module is numbered.
    """
    names = [each.name for each in dataclasses.fields(kind) if _has_meaning(each.name)]
    names.remove("mlir_module_serialized")
    of_fields = _attributes(*names)(kind)

    def of_exported(value: Any) -> bytes:
        with mlir.make_ir_context() as context:
            serialized = value.mlir_module_serialized
            module = stablehlo.deserialize_portable_artifact(context, serialized)
            return packed("exported", of_fields(value), number_module(module, ()).digest)

    return of_exported


# What classes of JAX say, by their names (jax 0.8 to 0.12.0.1).
_OF_JAX: dict[str, Callable[[type], Encoder]] = {
    "AbstractMesh": lambda kind: _once(
        _attributes("axis_names", "axis_sizes", "axis_types", "abstract_device")(kind)
    ),
    "AbstractDevice": _attributes("device_kind", "num_cores", "platform"),
    "AbstractRef": _attributes("inner_aval", "memory_space", "kind"),
    "AbstractToken": _text,
    "AutoLayoutSingleton": _text,
    "BarrierSemaphore": _text,
    "CustomCallBackend": _text,
    "DMASemaphore": _text,
    "Device": _device,
    "DynamicGridDim": _text,
    "Exported": _exported,
    "Format": _slots,
    "FrozenDict": lambda kind: _mapping,
    "HloSharding": _text,
    "JaxprEqnContext": _slots,
    "KeyTy": lambda kind: _key,
    "Layout": _attributes("major_to_minor", "tiling", "sub_byte_element_size_in_bits"),
    "LayoutModeAuto": _text,
    "ManualAxisType": lambda kind: _once(_slots(kind)),
    "Mesh": lambda kind: _mesh(kind) if issubclass(kind, Mesh) else _fields(kind),  # of a GPU
    "NamedSharding": _attributes("mesh", "spec", "memory_kind"),
    "P": lambda kind: _spec,  # the name of PartitionSpec from 0.9 on
    "PartitionSpec": lambda kind: _spec,
    "Semaphore": _text,
    "ShapedArray": functools.partial(_slots, told=_told_by_type),
    "ShapeDtypeStruct": lambda kind: _attributes(*vars(kind)["__slots__"])(kind),
    "SingleDeviceSharding": _attributes("device_set", "memory_kind"),
    "TensorCoreMesh": _cores,
    "TypedInt": _text,
    "UnconstrainedSingleton": _text,
    "UnspecifiedValue": _text,
    "_DimExpr": _text,
    "_FlatCallback": lambda kind: _flat_callback,
}


@_once
def _spec(value: Any) -> bytes:
    kind = getattr(value, "unreduced_kind", None)  # from 0.12 on; before, all were sums
    parts: tuple[Any, ...] = (value.partitions, value.unreduced, value.reduced)
    others = () if kind is None or kind.name == "sum" else (kind.name,)
    return packed("spec", *map(encoded, (*parts, *others)))


def _key(value: Any) -> bytes:
    """Encode a type of keys: the tag of its generator, which has to be JAX's own."""
    generator = key_generator(value)
    for function in (generator.seed, generator.split, generator.random_bits, generator.fold_in):
        if not function.__module__.startswith("jax."):
            raise UndecidedError(f"keys of the generator {generator.name}, which is not JAX's")
    return packed("key", str(value).encode())


def _variables(value: Any) -> bytes:
    return packed(name_of(type(value)), _mapping(getattr(value, "__dict__", {})))


def _encoder_for(kind: type) -> Encoder:
    """Choose the rule for a type."""
    if issubclass(kind, type):
        return _class
    if is_plain(kind):
        return _function
    if not is_of_jax(kind) and not is_class_installed(kind):
        return _refused(f"a value of type {name_of(kind)}, whose bases have more than its fields")
    if not has_its_name(kind):
        return _refused(f"a value of type {name_of(kind)}, which its module does not have")
    if issubclass(kind, enum.Enum):
        tag = name_of(kind)
        if is_of_jax(kind):
            return lambda value: packed(tag, value.name.encode())
        return lambda value: packed(tag, value.name.encode(), encoded(value.value))
    if issubclass(kind, np.dtype):
        return _dtype
    if issubclass(kind, np.integer) and not issubclass(kind, np.timedelta64):
        return lambda value: encoded(int(value))  # as a Python integer of the same value
    if issubclass(kind, (np.ndarray, np.generic, jax.Array)):
        return _array
    if issubclass(kind, core.Primitive):
        return _primitive
    if issubclass(kind, (core.Jaxpr, core.ClosedJaxpr)):
        return _refused("a jaxpr where no rule looks for one")
    if issubclass(kind, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return _function
    if is_of_jax(kind) and kind.__name__ in _OF_JAX:
        return _OF_JAX[kind.__name__](kind)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _items(f"{name_of(kind)}{kind._fields}")
    if is_of_jax(kind) and dataclasses.is_dataclass(kind):
        return _fields(kind)
    if is_of_jax(kind) and kind.__name__.endswith("Effect"):
        return _variables
    if issubclass(kind, jax.dtypes.ExtendedDType if hasattr(jax.dtypes, "ExtendedDType") else ()):
        return _text(kind) if is_of_jax(kind) else _refused(f"the type {name_of(kind)}")
    if kind.__mro__ == (kind, object) and not getattr(kind, "__slots__", ()):
        return _global
    return _refused(f"a value of type {name_of(kind)}")


def is_of_jax(kind: type) -> bool:
    """Say whether a class is JAX's own."""
    return kind.__module__.split(".")[0] in ("jax", "jaxlib")


# Nearly all are among these, and it takes milliseconds to look through all modules.
_known_primitives: set[Any] = {
    each for each in vars(primitives).values() if isinstance(each, core.Primitive)
}


def is_primitive_of_jax(primitive: Any) -> bool:
    """Say whether a primitive is JAX's, whose name and params say what it does.

    JAX's are the globals of its modules, and the one of the engine.
    """
    if primitive not in _known_primitives:
        kind, modules = core.Primitive, sys.modules.copy().items()
        for name, module in modules:
            if name.partition(".")[0] in ("jax", "engine"):
                held = [*vars(module).values()]
                _known_primitives.update([each for each in held if isinstance(each, kind)])
    return primitive in _known_primitives


def _primitive(value: Any) -> bytes:
    if not is_primitive_of_jax(value):
        raise UndecidedError(f"the primitive {value.name}, which is not JAX's")
    return packed("primitive", value.name.encode())


def _refused(what: str) -> Encoder:
    def refuse(value: Any) -> bytes:
        raise UndecidedError(what)

    return refuse


class _Encoders(dict[type, Encoder]):
    def __missing__(self, kind: type) -> Encoder:
        encoder = self[kind] = _encoder_for(kind)
        return encoder


_ENCODERS = _Encoders(
    {
        type(None): lambda value: b"n",
        bool: lambda value: b"t" if value else b"u",
        int: lambda value: b"i%d;" % value,
        float: _float,
        complex: lambda value: b"c" + np.complex128(value).tobytes(),
        str: _plain("s"),
        bytes: _plain("b"),
        type(Ellipsis): lambda value: b"...",
        slice: lambda value: packed("slice", *map(encoded, (value.start, value.stop, value.step))),
        tuple: _items("tuple"),
        list: _items("list"),
        dict: _mapping,
        types.MappingProxyType: _mapping,
        set: _set,
        frozenset: _set,
        functools.partial: _function,
        np.ufunc: _ufunc,
        jax.tree_util.PyTreeDef: _treedef,
    }
)


@_once
def digest_of_type(thing: Any) -> bytes:
    """Return the digest of an aval or of a context of equations. Raises `UndecidedError`."""
    return number(encoded(thing))
