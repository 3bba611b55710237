"""Types of a program: of its arguments and results, and the tree of its results.

A tree may hold functions and other objects, which it prints by their addresses. They are numbered.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import jax
from jax.extend import core

from parity_tests.exception_texts import named
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.source_places import kind_of_file
from parity_tests.observe.calls import without_addresses
from parity_tests.proof.encodings import encoded, is_of_jax, name_of
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.numbers import Number, UndecidedError, number
from parity_tests.proof.objects import is_plain


def types_of(closed_jaxpr: Any, tree: Any) -> str:
    """Return the types of a program's arguments and results, and the tree of its results."""
    inputs, outputs = (
        ", ".join(str(aval) for aval in avals)
        for avals in (closed_jaxpr.in_avals, closed_jaxpr.out_avals)
    )
    return without_addresses(f"{inputs} -> {outputs} {tree}") + "".join(_fields(tree))


def _fields(tree: Any) -> Iterator[str]:
    """Yield the fields of each named tuple, of which a tree prints the name alone."""
    data = tree.node_data()
    if data and hasattr(data[0], "_fields"):
        yield f" {data[0].__name__}({', '.join(data[0]._fields)})"
    for child in tree.children():
        yield from _fields(child)


@jax_defaults()
def digest_of_tree(tree: Any) -> tuple[str, str]:
    """Return the digest of a tree with its static data, or "" and why it has none.

    One of tuples, lists and dicts has none and needs none: it is what it prints.

    Example::

        digest_of_tree(jax.tree.structure(state))
    """
    if _is_printed(tree):
        return "", ""
    try:
        return _of_tree(tree).hex(), ""
    except UndecidedError as error:
        return "", f"the tree of its results holds {error}"
    # Static data are the user's, and may raise what they like where they are looked at.
    except Exception as error:  # noqa: BLE001
        return "", f"numbering the tree of its results raised {named(error)}"


def _is_printed(tree: Any) -> bool:
    _, static = tree.node_data() or (None, None)
    is_plain = static is None or (type(static) is list and {*map(type, static)} <= {str, int})
    return is_plain and all(map(_is_printed, tree.children()))


def _of_tree(tree: Any) -> Number:
    data = tree.node_data()
    if data is None:
        return number("leaf", tree.num_leaves)
    kind, static = data
    return number("node", name_of(kind), _of_static(static), *map(_of_tree, tree.children()))


def _of_static(value: Any) -> Number:
    """Return the number of some static data.

    An object that prints no address is what it prints; another is all that it holds, if that is
    known.
    """
    if _is_of_package(value):
        return number("named", name_of(value))
    if type(value) in (tuple, list):
        return number(type(value).__name__, *map(_of_static, value))
    if type(value) is dict:
        pairs = [number(_of_static(key), _of_static(each)) for key, each in value.items()]
        return number("dict", *sorted(pairs))
    if type(value) is functools.partial:
        return number("partial", *map(_of_static, (value.func, value.args, value.keywords)))
    if isinstance(value, jax.tree_util.PyTreeDef):
        return _of_tree(value)
    if isinstance(value, types.MethodType):
        return number("method", _of_static(value.__func__), _of_static(value.__self__))
    if isinstance(value, (core.Jaxpr, core.ClosedJaxpr)):
        return number("jaxpr", number_jaxpr(_closed(value)).digest)
    if isinstance(value, types.FunctionType):
        return number("function", encoded(value))
    if type(value).__name__ == "Traceback" and is_of_jax(type(value)):
        # Where checkify met a check: it says nothing of what is computed.
        return number("traceback")
    text = f"{value!r}"  # a plain one, though `__repr__` may return one of a class of its own
    by_text = number("text", name_of(type(value)), text) if without_addresses(text) == text else b""
    if by_text and is_plain(type(value)):
        return by_text
    try:
        return number("value", encoded(value))
    except UndecidedError:
        if by_text:
            return by_text
        parts = _parts_of(value)
        if parts is None:
            raise
        return number("parts", name_of(type(value)), *map(_of_static, parts))


def _parts_of(value: Any) -> Sequence[Any] | None:
    """Return all that a record or a mapping holds; None for any other object.

    A mapping may keep its items and their hash in attributes; with others it is unknown.
    """
    own = getattr(value, "__dict__", {})
    if isinstance(value, Mapping):
        return [dict(value)] if all(_is_told_by(value, each) for each in own.values()) else None
    if isinstance(value, tuple):
        return None if own else tuple(value)
    if isinstance(value, type) or not dataclasses.is_dataclass(value):
        return None
    names = [each.name for each in dataclasses.fields(value)]
    return [getattr(value, name) for name in names] if own.keys() <= set(names) else None


def _is_told_by(mapping: Mapping[Any, Any], own: Any) -> bool:
    """Say whether an attribute of a mapping is its items, or their hash, which may not be known."""
    if isinstance(own, Mapping):
        return own.keys() == mapping.keys() and all(own[key] is mapping[key] for key in own)
    return own is None or (
        isinstance(own, int) and isinstance(mapping, Hashable) and own == hash(mapping)
    )


def _is_of_package(value: Any) -> bool:
    """Say whether a value is what an installed package has under its name, as `jnp.sin` is."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if not callable(value) or not file or kind_of_file(file) == "user":
        return False
    try:
        path = value.__qualname__.split(".")
        return functools.reduce(getattr, path, module) is value
    except AttributeError:
        return False


def _closed(jaxpr: Any) -> Any:
    """Return a jaxpr whose captured arrays are arguments, if it does not hold them."""
    if isinstance(jaxpr, core.ClosedJaxpr):
        return jaxpr
    taken = [*jaxpr.constvars, *jaxpr.invars]
    takes_all = jaxpr.replace(constvars=[], invars=taken, debug_info=jaxpr.debug_info)
    return core.ClosedJaxpr(takes_all, ())
