"""Do something right after a module was imported, whoever imports it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


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
    """Finds one module, as the finders after it do, and has it loaded by `_Loader`."""

    def __init__(self, name: str, do: Callable[[], object]) -> None:
        self._name, self._do = name, do

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module, and leave the path: another import finds it without us."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._do)
        return spec


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
