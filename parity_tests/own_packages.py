"""Our packages in a process that has a user's as well: ours are found, and a collision is named.

The names `engine` and `reports` are common, and a process can import one package of a name. The
first file of a process loads this one before any package of ours is known, so it imports the
standard library alone.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
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


def is_collision(error: BaseException) -> bool:
    """Say whether an import failed because it found a package of ours in the place of the user's.

    Example::

        is_collision(CollisionError("..."))
    """
    return isinstance(error, CollisionError) or isinstance(error.__cause__, CollisionError)


@dataclass(frozen=True)
class Collision:
    """What is in the way of packages of ours, and what to do."""

    what: str
    to_do: str

    @property
    def text(self) -> str:
        """Both in one sentence."""
        return f"{self.what}: {self.to_do}"


class OurPackages:
    """A finder of some packages that lie in one folder, and of what is below them.

    pytest's finder, asked instead, would rewrite the assertions of each module of ours, which takes
    longer than its import, and again in each process where no bytecode is written.
    """

    def __init__(self, folder: str, packages: Sequence[str]) -> None:
        self._folder, self._packages = folder, packages

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of the packages, or a module of one."""
        top = name.partition(".")[0]
        is_ours = top in self._packages and not USERS_TURN.has(top)
        return PathFinder.find_spec(name, path or [self._folder]) if is_ours else None


class MissingBelowOurs:
    """The last finder: names a collision where a module is looked for in a package of ours.

    pytest imports tests by their names, as `reports.test_it`, past what `guard_imports` sees.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise `CollisionError` where the user's package of this name may have the module.

        In the user's turn it is looked for there.
        """
        above, dot, _ = name.rpartition(".")
        top = name.partition(".")[0]
        said = collision_of(top) if dot else None
        if said is None:
            return None
        if USERS_TURN.takes(top):
            return PathFinder.find_spec(name, import_module(above).__path__)
        raise CollisionError(said, name=name)


def open_to_process(packages: Sequence[str]) -> None:
    """Have this process find packages of ours before others of their names.

    Raises `CollisionError` where another one was imported already.

    Example::

        open_to_process(("parity_tests", "reports"))
    """
    new = [name for name in packages if name not in _opened]
    loaded = {name: getattr(sys.modules.get(name), "__file__", None) for name in new}
    theirs = {name: file for name, file in loaded.items() if file and not _is_ours(name, file)}
    if theirs:
        raise CollisionError(_collision({**theirs, **_collisions(new), **theirs}).text)
    if new:
        _opened.extend(new)
        sys.meta_path.insert(0, OurPackages(FOLDER, tuple(new)))
        sys.meta_path.append(MissingBelowOurs())


def collision_of(name: str) -> str | None:
    """Say where a package of ours and another one on the path have a name; None where none has.

    Other names that are taken twice are told as well, so that all can be fixed at once.

    A folder without __init__.py, as one that reports are written to, is no package here.

    Example::

        collision_of("reports") is None
    """
    if name not in _opened or USERS_TURN.has(name) or not (theirs := _collisions([name])):
        return None
    return _collision({**theirs, **_collisions(_opened)}).text


def check_installed() -> None:
    """Raise `CollisionError` where another distribution has written over a package of ours.

    pip does so silently. Nothing is known of a checkout, which no other distribution writes to.
    """
    found = replaced()
    if found is not None:
        raise CollisionError(found.text)


def replaced() -> Collision | None:
    """Return what was written over packages of ours, or removed, since they were installed.

    Example::

        replaced() is None
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        ours = distribution("constparity")
    except PackageNotFoundError:
        return None
    if not os.path.samefile(str(ours.locate_file("")), FOLDER):
        return None  # another constparity is installed than this one
    hashes = dict(line.split(",")[:2] for line in (ours.read_text("RECORD") or "").splitlines())
    recorded = {_file_of(name): hashes.get(f"{name}/__init__.py") for name in (*TESTER, *ENGINE)}
    changed = [file for file, was in recorded.items() if was and _hash_of(file) != was]
    if not changed:
        return None
    files = " and ".join(changed)
    again = "install constparity again, as with pip install --force-reinstall --no-deps"
    owners = " and ".join(dict.fromkeys(owner for file in changed for owner in _owners(file)))
    if owners:
        what = f"{owners} has written over {files}, of constparity"
        return Collision(what, f"uninstall {owners}, and {again}")
    return Collision(f"{files}, of constparity, is not as it was installed", again)


def in_the_way(folder: str) -> Collision | None:
    """Return what else has a name of ours for a Python that is started in a folder.

    Example::

        in_the_way(os.getcwd()) is None
    """
    theirs = _collisions((*TESTER, *ENGINE), [folder, *sys.path])
    return _collision(theirs) if theirs else None


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
    `parity_tests`, so that an import from there raises only where ours lacks the module.
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
        if said is not None and not USERS_TURN.takes(top) and top != "parity_tests":
            raise CollisionError(said, name=top)
        return plain_import(name, globals, locals, fromlist, level)

    guarded_import.is_guarded = True  # type: ignore[attr-defined]
    builtins.__import__ = guarded_import


class UsersTurn:
    """While code of the user's is imported, a name that is taken twice may be the user's.

    Nothing of ours may be imported meanwhile. Afterwards ours are there again, and the user's
    modules wait for the next turn; who has imported them keeps them.

    Example::

        with USERS_TURN:
            import reports  # the user's, where there is one
    """

    def __init__(self) -> None:
        self._is_on = False
        self._names: set[str] = set()
        self._ours: dict[str, ModuleType] = {}
        self._theirs: dict[str, ModuleType] = {}

    def __enter__(self) -> None:
        """Put the user's modules of the turns before in the place of ours."""
        self._ours = _taken_out(self._names)
        sys.modules.update(self._theirs)
        self._is_on = True

    def __exit__(self, *_: object) -> None:
        """Put ours back."""
        self._is_on = False
        self._theirs = _taken_out(self._names)
        sys.modules.update(self._ours)

    def has(self, name: str) -> bool:
        """Say whether the package of this name is the user's now."""
        return self._is_on and name in self._names

    def takes(self, name: str) -> bool:
        """Let the package of this name be the user's from now on, if it is the user's turn."""
        if self._is_on and name not in self._names:
            self._ours |= _taken_out({name})
            self._names.add(name)
        return self._is_on


USERS_TURN = UsersTurn()


def _taken_out(names: Collection[str]) -> dict[str, ModuleType]:
    """Take the modules of some packages out of the process, and return them."""
    found = [each for each in sys.modules if each.partition(".")[0] in names]
    return {each: sys.modules.pop(each) for each in found}


def _is_guarded(function: object) -> bool:
    return getattr(function, "is_guarded", False)


def _package_of(namespace: Mapping[str, Any] | None) -> str:
    return str((namespace or {}).get("__name__", "")).partition(".")[0]


def _is_ours(name: str, file: str) -> bool:
    return os.path.realpath(file).startswith(os.path.join(os.path.realpath(FOLDER), name, ""))


def _is_of_constparity(name: str, file: str) -> bool:
    """Say whether a package belongs to another constparity, as one that a Python has installed."""
    folder = os.path.dirname(os.path.dirname(file))
    is_beside = os.path.isfile(os.path.join(folder, "parity_tests", "own_packages.py"))
    is_package = file == os.path.join(folder, name, "__init__.py")
    return is_beside and is_package and not _owners(file)


def _file_of(name: str) -> str:
    return os.path.join(FOLDER, name, "__init__.py")


def _hash_of(file: str) -> str:
    """Return the hash of a file as RECORD has it; "" of one that is not there."""
    try:
        with open(file, "rb") as opened:
            digest = hashlib.sha256(opened.read()).digest()
    except FileNotFoundError:
        return ""
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def _owners(file: str) -> list[str]:
    """Return the other distributions that have installed a file."""
    from importlib.metadata import distributions

    place = os.path.realpath(file)
    found = []
    for each in distributions():
        name = each.metadata["Name"]
        if name != "constparity" and any(
            os.path.realpath(str(each.locate_file(path))) == place
            for path in each.files or ()
            if path.name == os.path.basename(place)
        ):
            found.append(f"{name} {each.version}")
    return found


def _collisions(names: Sequence[str], path: Sequence[str] | None = None) -> dict[str, str]:
    """Return the file of each package on the path that has one of these names and is not ours.

    One of another constparity is none: in its place ours is imported, which is the same thing.
    """
    theirs = {}
    for name in names:
        specs = (PathFinder.find_spec(name, [entry]) for entry in path or sys.path)
        origins = (found.origin for found in specs if found is not None and found.origin)
        others = (each for each in origins if not _is_ours(name, each))
        file = next((each for each in others if not _is_of_constparity(name, each)), None)
        if file is not None:
            theirs[name] = file
    return theirs


def _collision(theirs: Mapping[str, str]) -> Collision:
    """Name both places of each package that we and the user have, by its name."""
    (name, file), *others = theirs.items()
    owners = _owners(file)
    theirs_is = f"has {owners[0]}" if owners else "have you"
    what = f"constparity has a package {name!r} ({_file_of(name)}), and so {theirs_is} ({file}); "
    what += "a process can import one of them"
    to_do = "install one of both in an environment of its own" if owners else "rename yours"
    if others:
        to_do += f", and likewise {' and '.join(f'{other!r} ({at})' for other, at in others)}"
    of_stock = "pytest --constparity=jax-both"
    if all(each in ENGINE for each in theirs):
        of_stock = f"constparity run --sides jax-legacy,jax-simplified, or {of_stock}"
    to_do += f", or compare stock JAX alone, which runs without ours: {of_stock}"
    return Collision(what, to_do)
