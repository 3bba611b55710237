"""Put a `jit` in the place of `jax.jit`, before anything that a suite imports can call that."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any


def after_import(name: str, do: Callable[[], object]) -> None:
    """Call `do` once `name` is imported: now if it is, else before its importer goes on.

    Importing the module here was the alternative. It would read its environment variables before a
    conftest.py has set them.
    """
    if name in sys.modules:
        do()
    else:
        sys.meta_path.insert(0, _Finder(name, do))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module, as the finders after it do, and has it loaded by `_Loader`.

    It stays until the module is loaded: to look for JAX, to see if it is there, imports nothing.
    """

    def __init__(self, name: str, do: Callable[[], object]) -> None:
        self._name, self._do = name, do

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module that the finders after this one find."""
        if fullname != self._name or self not in sys.meta_path:
            return None
        after = sys.meta_path[sys.meta_path.index(self) + 1 :]
        found = (
            each.find_spec(fullname, path, target)
            for each in after
            if hasattr(each, "find_spec")  # Python passes over others
        )
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded)
        return spec

    def _loaded(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._do()


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, and then calls `do`."""

    def __init__(self, loader: importlib.abc.Loader, do: Callable[[], object]) -> None:
        self._loader, self._do = loader, do

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)  # its resources, its source

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Create the module as the other loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module as the other loader does; what comes after sees it complete."""
        self._loader.exec_module(module)
        assert module.__spec__ is not None
        module.__spec__.loader = self._loader
        self._do()


# The names in `jax` that the engine has under the same name.
SWAPPED = ("jit", "make_jaxpr")


def install(make: Callable[[], Mapping[str, Any]], and_then: Callable[[], None]) -> None:
    """Put functions in the place of JAX's as soon as JAX is imported, and then call `and_then`.

    `make` returns them by their names in `jax`. Modules that imported them from JAX before get ours
    as well; functions that they have jitted by then keep JAX's, and `early_modules` names these
    modules.
    """

    def swap_then() -> None:
        _swap(make())
        and_then()

    # Who imports the engine first has it import JAX, and the engine is not complete then.
    after_import("engine", swap_then)
    after_import("jax", lambda: importlib.import_module("engine"))


def functions_of_engine(side: str) -> Mapping[str, Any]:
    """Return the engine's functions that have JAX's names, and let them take a side."""
    import engine

    engine.config.update("use_simplified_constants", side == "simplified")
    return {name: getattr(engine, name) for name in SWAPPED}


def early_modules() -> tuple[str, ...]:
    """Return the modules that had JAX's own `jit`, or what it had jitted, before it was swapped."""
    return tuple(dict.fromkeys(_early))


def is_replaced() -> bool:
    """Say whether somebody put another function in the place of `jax.jit` after us."""
    jax = sys.modules.get("jax")
    return jax is not None and bool(_ours) and jax.jit is not _ours["jit"]


def is_missed() -> bool:
    """Say whether JAX was imported, and nothing has put our functions in the place of its own.

    What a test puts in the place of JAX, as None where it is to be missing, was not imported.
    """
    jax = sys.modules.get("jax")
    return getattr(jax, "__spec__", None) is not None and hasattr(jax, "jit") and not _ours


_early: list[str] = []
_ours: dict[str, Any] = {}


def _swap(ours: Mapping[str, Any]) -> None:
    import jax

    _ours.update(ours)
    stock = {name: getattr(jax, name) for name in ours}
    for name, function in ours.items():
        setattr(jax, name, function)
    for module, attribute, name in places_of(stock):
        setattr(module, attribute, ours[name])
        _early.append(module.__name__)
    jitted = type(stock["jit"](lambda: None))
    for module, attribute, value in _of_users():
        # By their types: a module may hold a proxy, which raises where it is asked for its class.
        if type(value) is functools.partial and value.func is stock["jit"]:
            partial = functools.partial(ours["jit"], *value.args, **value.keywords)
            setattr(module, attribute, partial)
            _early.append(module.__name__)
        elif type(value) is jitted and value.__module__ == module.__name__:
            _early.append(module.__name__)


def places_of(stock: Mapping[str, Any]) -> Iterator[tuple[ModuleType, str, str]]:
    """Yield the modules that hold functions of JAX, under which attribute, and its name in `stock`.

    Example::

        list(places_of({"jit": jax.jit})) == [(my_module, "jit", "jit")]
    """
    for module, attribute, value in _of_users():
        for name, function in stock.items():
            if value is function:
                yield module, attribute, name


def _of_users() -> Iterator[tuple[ModuleType, str, Any]]:
    """Yield what the modules of users hold, and under which name."""
    for module_name, module in sys.modules.copy().items():
        if module_name.partition(".")[0] not in _OWN:
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                yield module, attribute, value


# JAX itself goes on with its own: the jitted functions of `jax.numpy` capture nothing of a user's.
_OWN = frozenset(
    {"jax", "jaxlib", "engine", "legacy_closedjaxpr", "simplified_consts", "parity_tests"}
)
