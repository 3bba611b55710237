"""Sources that are nested deeply: which ones are refused, and a stack that others need.

LibCST's parser is native code that recurses. A few thousand brackets, or the terms of a long sum,
overflow the usual stack, which ends the whole process; a larger stack takes minutes for them.
"""

from __future__ import annotations

import ast
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

_MOST_LEVELS = 500
_STACK = 1 << 29  # bytes of address space; memory is used as far as the stack grows
_CALLS = 30_000
_lock = threading.Lock()  # both settings belong to the process


def is_too_deep(source: bytes) -> bool:
    """Say whether a source is nested more deeply than lint reads.

    Example::

        is_too_deep(b"x = 1") is False
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (RecursionError, MemoryError):
        return True
    except (SyntaxError, ValueError):
        # No Python, or one that is newer than this one. LibCST says which.
        return _brackets(source) > _MOST_LEVELS
    return _levels(tree) > _MOST_LEVELS


def _levels(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in ast.iter_child_nodes(node)]
    return deepest


def _brackets(source: bytes) -> int:
    """Return how many brackets are open at most, those of strings and comments included."""
    deepest = level = 0
    for byte in source:
        level += (byte in b"([{") - (byte in b")]}")
        deepest = max(deepest, level)
    return deepest


def on_deep_stack(function: Callable[[], _Result]) -> _Result:
    """Return what a function returns; raises what it raises."""
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the caller's thread
            errors.append(error)

    with _lock:
        stack, calls = threading.stack_size(_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(calls, _CALLS))
        try:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(calls)
            threading.stack_size(stack)
    if errors:
        raise errors[0]
    return results[0]
