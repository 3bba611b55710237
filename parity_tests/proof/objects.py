"""Objects that a function holds, as the values that they are made of.

An object of a plain class of the user's is its class and its attributes; such a class is its bases
and all that it holds, functions too. What has no rule here, and no other one, is undecided.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import logging
import pathlib
import random
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from parity_tests.proof.origins import is_class_installed


class Parts(NamedTuple):
    """The name of a kind of object, and the values that say all of one."""

    name: str
    values: Sequence[Any]


def parts_of(value: Any) -> Parts | None:
    """Return what an object is made of; None where no rule of this module knows its class.

    Example::

        parts_of(collections.deque([1], 2)) == ("deque", (2, [1]))
    """
    kind = type(value)
    if kind in _PARTS:
        return Parts(kind.__name__, _PARTS[kind](value))
    if kind in (type, enum.EnumMeta) and not is_class_installed(value):
        return Parts("class", _of_class(value))
    return Parts("object", _of_object(value)) if is_plain(kind) else None


def is_plain(kind: type) -> bool:
    """Say whether objects of a class of the user's are what their attributes and classes say.

    Its bases are the user's, or have a rule here: its metaclass is that of all, or of enumerations.
    """
    bases = [each for each in kind.__mro__ if each is not object]
    own = [each for each in bases if each not in _BASES]
    return bool(own) and all(map(_is_users_alone, own))


def _is_users_alone(kind: type) -> bool:
    """Say whether a class is the user's, and has no metaclass and no `__dict__` of the user's."""
    if type(kind) not in (type, enum.EnumMeta) or is_class_installed(kind):
        return False
    return "__dict__" not in vars(kind) or _is_of_python(kind, vars(kind)["__dict__"])


def _is_of_python(kind: type, value: Any) -> bool:
    """Say whether a class has a value by which Python itself reads `__dict__`, or `__weakref__`."""
    return type(value) is types.GetSetDescriptorType and value.__objclass__ is kind


# Bases of Python's, and what an object of a class of the user's has of them.
_OF_BASES: dict[type, Callable[[Any], Any]] = {
    float: float.__float__,
    int: int.__index__,
    str: str.__str__,
    tuple: lambda value: (*tuple.__iter__(value),),
}
_ENUMERATIONS = (enum.Enum, enum.IntEnum, enum.StrEnum, enum.ReprEnum, enum.Flag, enum.IntFlag)
_BASES = frozenset({*_OF_BASES, *_ENUMERATIONS})

# Of a class: what is about its text, what functions may not read, and what `fields` tells.
_LEFT_OUT = frozenset(
    {
        "__annotate_func__", "__annotations__", "__dataclass_fields__", "__dataclass_params__",
        "__firstlineno__", "__module__", "__static_attributes__",
    }
)  # fmt: skip


def _of_class(kind: type) -> Sequence[Any]:
    held = {
        name: each
        for name, each in vars(kind).items()
        if name not in _LEFT_OUT and not _is_of_python(kind, each)
    }
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return type(kind), kind.__name__, kind.__qualname__, kind.__bases__, held, fields


def _of_object(value: Any) -> Sequence[Any]:
    """Return the class of an object, and what it holds, whatever its class makes of reading it."""
    slots, kind = {}, type(value)
    for n, base in enumerate(kind.__mro__):
        for name, each in vars(base).items():
            if type(each) is types.MemberDescriptorType and each.__objclass__ is base:
                with contextlib.suppress(AttributeError):  # a slot that has no value
                    slots[n, name] = each.__get__(value)
    attributes: dict[str, Any] = {}
    with contextlib.suppress(AttributeError):  # it has slots alone
        attributes = object.__getattribute__(value, "__dict__")
    of_bases = [read(value) for base, read in _OF_BASES.items() if issubclass(kind, base)]
    return kind, slots, attributes, of_bases


_FIELD_OF_TUPLE = vars(collections.namedtuple("_", "field"))["field"]
_OF_FIELDS = (
    "name", "default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only",
)  # fmt: skip


def _of_generator(value: np.random.Generator) -> Sequence[Any]:
    seeds = value.bit_generator.seed_seq  # of which generators are spawned
    return value.bit_generator.state, getattr(seeds, "state", seeds)


_OF_LOGGERS = frozenset({*vars(logging.Logger("any")), "manager"})


def _of_logger(value: logging.Logger) -> Sequence[Any]:
    handlers = [(type(each), each.level, each.filters) for each in value.handlers]
    told = (value.name, value.level, value.disabled, value.propagate, value.manager.disable)
    more = {name: each for name, each in vars(value).items() if name not in _OF_LOGGERS}
    return *told, handlers, value.filters, value.parent, more


_PARTS: dict[type, Callable[[Any], Sequence[Any]]] = {
    # -- what a class holds
    staticmethod: lambda value: (value.__func__,),
    classmethod: lambda value: (value.__func__,),
    property: lambda value: (value.fget, value.fset, value.fdel, value.__doc__),
    functools.cached_property: lambda value: (value.func, value.attrname),
    **dict.fromkeys(
        (types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType),
        lambda value: (value.__objclass__, value.__name__),
    ),
    type(_FIELD_OF_TUPLE): lambda value: value.__reduce__()[1],
    dataclasses.Field: lambda value: [str(value.type), *(getattr(value, n) for n in _OF_FIELDS)],
    # -- objects of Python's and NumPy's
    collections.Counter: lambda value: (dict(value), vars(value)),
    collections.OrderedDict: lambda value: (dict(value), vars(value)),
    collections.defaultdict: lambda value: (value.default_factory, dict(value)),
    collections.deque: lambda value: (value.maxlen, list(value)),
    logging.Logger: _of_logger,
    logging.RootLogger: _of_logger,
    pathlib.PosixPath: lambda value: (str(value),),
    random.Random: lambda value: (value.getstate(),),
    range: lambda value: (value.start, value.stop, value.step),
    type(threading.Lock()): lambda value: (value.locked(),),
    np.random.Generator: _of_generator,
    np.random.RandomState: lambda value: (value.get_state(legacy=False),),
}
