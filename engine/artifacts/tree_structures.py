"""Pytree structures: rebuilt without filling in leaves, and made writable to files.

`jax.export` writes a structure as data: user types by the name that the user registered, and
dictionaries if their keys are strings. This module adds dictionaries with other keys. Reading a
structure never imports code.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import jax
from jax.tree_util import PyTreeDef, treedef_children

from engine import jax_internals

_MAPPINGS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict}
_BUILT_IN = (type(None), tuple, list, dict)


def node(node_data: tuple[type, Any] | None, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """Make a structure of the default registry from a node's `PyTreeDef.node_data` and children."""
    structure: Any = PyTreeDef  # its stubs do not know the registry's type
    return structure.from_node_data_and_children(
        jax.tree_util.default_registry, node_data, children
    )


class _Keyed:
    """Node type, used in files alone, for a dictionary with keys that are not all strings."""


def _written(named_keys: tuple[str, tuple[Any, ...]]) -> bytes:
    return json.dumps(named_keys).encode()


def _read(auxdata: bytes) -> tuple[str, list[Any]]:
    name, keys = json.loads(auxdata)
    return name, [_key(key) for key in keys]


def _key(parsed: Any) -> Any:
    return tuple(map(_key, parsed)) if isinstance(parsed, list) else parsed


def _mapping(aux_data: Any, children: Any) -> Any:
    name, keys = aux_data
    return _MAPPINGS[name](zip(keys, children, strict=True))


def _never_filled(_: _Keyed) -> tuple[tuple[Any, ...], Any]:
    raise AssertionError("structures of this type exist in files alone")


jax.tree_util.register_pytree_node(_Keyed, _never_filled, _mapping)
jax.export.register_pytree_node_serialization(
    _Keyed,
    serialized_name="constparity.dict",
    serialize_auxdata=_written,
    deserialize_auxdata=_read,
    from_children=_mapping,
)


def writable(tree: PyTreeDef) -> PyTreeDef:
    """Return an equivalent that `jax.export` can write; reading it gives the original again.

    Raises ValueError for a type that is not registered with `jax.export`, and for a dictionary with
    a key that is no string, number, or tuple of these.
    """
    children = [writable(child) for child in treedef_children(tree)]
    node_data: Any = tree.node_data()
    if node_data is None:
        return node(None, children)
    kind, auxdata = node_data
    if kind in (dict, OrderedDict) and not all(isinstance(key, str) for key in auxdata):
        for key in auxdata:
            if not _is_data(key):
                raise ValueError(
                    f"a {kind.__name__} with the key {key!r} cannot be written to a file: keys may "
                    "be strings, Python numbers and tuples of these"
                )
        return node((_Keyed, (kind.__name__, tuple(auxdata))), children)
    if kind not in _BUILT_IN and not jax_internals.can_be_exported(kind):
        is_namedtuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
        registers = "namedtuple" if is_namedtuple else "pytree_node"
        raise ValueError(
            f"nodes of type {kind.__module__}.{kind.__qualname__} cannot be written to a file "
            f"until it is registered with engine.export.register_{registers}_serialization; "
            "register it where the file is read, too"
        )
    return node(node_data, children)


def _is_data(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_data, key))
    return type(key) in (str, bool, int, float)
