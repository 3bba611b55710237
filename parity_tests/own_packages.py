"""Our packages in a process that has a user's as well: ours are found, and a collision is named.

The names `engine` and `reports` are common, and a process can import one package of a name. The
first file of a process loads this one before any package of ours is known, so it imports the
standard library alone.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

FOLDER = os.path.abspath(f"{__file__}/../..")  # that our packages lie in
TESTER = ("parity_tests", "reports")
ENGINE = ("engine", "legacy_closedjaxpr", "simplified_consts")

# The packages that this process finds here, whatever its path has.
_opened: list[str] = []


class CollisionError(ImportError):
    """A package of ours and one of the user's have the same name; the message has both places."""


class OurPackages:
    """A finder of some packages that lie in one folder; what is below them Python finds itself."""

    def __init__(self, folder: str, packages: Sequence[str]) -> None:
        self._folder, self._packages = folder, packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of the packages."""
        return PathFinder.find_spec(name, [self._folder]) if name in self._packages else None


def open_to_process(packages: Sequence[str]) -> None:
    """Have this process find packages of ours before others of their names.

    Raises `CollisionError` where another one was imported already.

    Example::

        open_to_process(("parity_tests", "reports"))
    """
    new = [name for name in packages if name not in _opened]
    for name in new:
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded is not None and not _is_ours(name, loaded):
            raise CollisionError(_message(name, loaded))
    if new:
        _opened.extend(new)
        sys.meta_path.insert(0, OurPackages(FOLDER, tuple(new)))


def collision_of(name: str) -> str | None:
    """Say where a package of ours and another one on the path have a name; None where none has.

    A folder without __init__.py, as one that reports are written to, is no package here.

    Example::

        collision_of("reports") is None
    """
    if name not in _opened:
        return None
    for entry in sys.path:
        found = PathFinder.find_spec(name, [entry])
        if found is not None and found.origin is not None and not _is_ours(name, found.origin):
            return _message(name, found.origin)
    return None


def imported(name: str) -> Any:
    """Return a package of ours if this process has imported it, and not a user's of its name.

    Example::

        imported("engine") is None
    """
    found = sys.modules.get(name)
    return found if found and _is_ours(name, getattr(found, "__file__", None) or "") else None


def guard_imports(*, always: bool = False) -> None:
    """Have an import of the user's raise `CollisionError` where it would get a package of ours.

    Without `always` nothing is done as long as no name collides. A program may import ours from
    `parity_tests`, so that an import from there raises if it fails.
    """
    if _is_guarded(builtins.__import__) or not (always or any(map(collision_of, _opened))):
        return
    plain_import = builtins.__import__

    def guarded_import(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        top = name.partition(".")[0]
        if level or top not in _opened or _package_of(globals) in (*TESTER, *ENGINE):
            return plain_import(name, globals, locals, fromlist, level)
        said = collision_of(top)
        if said is not None and top != "parity_tests":
            raise CollisionError(said, name=top)
        try:
            found = plain_import(name, globals, locals, fromlist, level)
            if said is not None and fromlist and not all(hasattr(found, each) for each in fromlist):
                raise CollisionError(said, name=top)
            return found
        except ModuleNotFoundError as error:
            if said is None:
                raise
            raise CollisionError(said, name=top) from error

    guarded_import.is_guarded = True  # type: ignore[attr-defined]
    builtins.__import__ = guarded_import


def _is_guarded(function: object) -> bool:
    return getattr(function, "is_guarded", False)


def _package_of(namespace: Mapping[str, Any] | None) -> str:
    return str((namespace or {}).get("__name__", "")).partition(".")[0]


def _is_ours(name: str, file: str) -> bool:
    return os.path.realpath(file).startswith(os.path.join(os.path.realpath(FOLDER), name, ""))


def _message(name: str, theirs: str) -> str:
    ours = os.path.join(FOLDER, name, "__init__.py")
    text = f"constparity has a package {name!r} ({ours}), and so have you ({theirs}); a process "
    text += "can import one of them: rename yours"
    if name in ENGINE:
        text += (
            ", or compare stock JAX alone, which runs without ours: constparity run --sides "
            "jax-legacy,jax-simplified, or pytest --constparity=jax-both"
        )
    return text
