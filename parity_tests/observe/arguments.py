"""The example arguments of a program, each leaf with a digest: what a program was called with.

Two runs of one program that were called with other values are not expected to agree.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.captured import captured_value, digest_of
from parity_tests.observe.ledger import is_readable
from reports.rows import ArgumentLeaf

_SCALARS = (bool, int, float, complex, str, bytes)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def described(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[ArgumentLeaf, ...]:
    """Describe each leaf of the arguments, named by the parameter of `fun` that takes it.

    Example::

        described(lambda x: x, (np.ones(3),), {})[0].path == "x"
    """
    return tuple(
        _leaf(f"{name}{jax.tree_util.keystr(path)}", leaf)
        for name, value in _by_name(fun, args, kwargs)
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]
    )


def _by_name(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Pair each argument with its parameter; where none is known, with its number."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        parameters = []
    names = [each.name for each in parameters if each.kind in _POSITIONAL][: len(args)]
    names += [f"argument {number}" for number in range(len(names), len(args))]
    return [*zip(names, args, strict=True), *kwargs.items()]


def _leaf(path: str, leaf: Any) -> ArgumentLeaf:
    if isinstance(leaf, _SCALARS):
        digest = hashlib.sha256(repr(leaf).encode("utf-8", "surrogatepass")).hexdigest()
        return ArgumentLeaf(path=path, shape=(), dtype=type(leaf).__name__, sha256=digest)
    if not isinstance(leaf, (np.ndarray, np.generic, jax.Array)):
        return ArgumentLeaf(path=path, shape=(), dtype=type(leaf).__name__, sha256="")
    array = captured_value(leaf)
    size = array.bytes if array else leaf.nbytes
    has_bytes = leaf.dtype != object  # else they are addresses, which differ from run to run
    return ArgumentLeaf(
        path=path,
        shape=tuple(leaf.shape),
        dtype=str(leaf.dtype),
        sha256=digest_of(leaf) if has_bytes and is_readable(leaf, size) else "",
    )
