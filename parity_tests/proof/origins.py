"""Whose a module, a class or some code is: the environment's, which forms share, or the user's."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import types
from importlib.machinery import ModuleSpec

from parity_tests.jaxpr.source_places import kind_of_file


def is_installed(code: types.CodeType) -> bool:
    """Say whether some code is in a file of JAX or of an installed package."""
    file = code.co_filename
    return not file.startswith("<") and kind_of_file(file) != "user"


def is_class_installed(kind: type) -> bool:
    """Say whether a class is of an installed module, or of one of Python's."""
    name = kind.__module__
    module = sys.modules.get(name)
    if module is not None and not (hasattr(module, "__file__") or module.__spec__):
        module = sys.modules.get(name.partition(".")[0])  # an extension has made it
    return module is not None and not is_users(module)


# Flags of a class (Include/object.h): its module and its name may be set, unless it is immutable.
_IS_IMMUTABLE, _IS_MADE_AT_RUN_TIME = 1 << 8, 1 << 9


def has_its_name(kind: type) -> bool:
    """Say whether the module that a class names has it, or nobody can have set that name.

    A class is not of the module that it names if `functools.wraps` has copied that, if
    `types.new_class` made it, or `exec` without a `__name__`.
    """
    if not kind.__flags__ & _IS_MADE_AT_RUN_TIME or kind.__flags__ & _IS_IMMUTABLE:
        return True
    steps = kind.__qualname__.split(".")
    try:
        return functools.reduce(getattr, steps, sys.modules.get(kind.__module__)) is kind
    except AttributeError:
        return False


def is_users(module: types.ModuleType) -> bool:
    """Say whether a module is no part of the environment: a user's file, or made at run time."""
    if module.__name__ in sys.builtin_module_names:
        return False
    file = getattr(module, "__file__", None)
    if file is None:
        return _is_of_a_user(module.__spec__)
    return kind_of_file(file) == "user"


def _is_of_a_user(spec: ModuleSpec | None) -> bool:
    """Say whether what is found under the name of a module is no part of the environment."""
    if spec is None:
        return True
    if spec.has_location and spec.origin is not None:
        return kind_of_file(spec.origin) == "user"
    folders = spec.submodule_search_locations  # of a package without a file of its own
    return any(kind_of_file(os.path.join(each, "")) == "user" for each in folders or ())


def may_be_a_users(name: str) -> bool:
    """Say whether a package or module of the top may be no part of the environment."""
    module = sys.modules.get(name)
    return _is_of_a_user(importlib.util.find_spec(name)) if module is None else is_users(module)
