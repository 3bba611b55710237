"""The files of the user that were imported, or will be: not those that are installed, and not ours.

A function may import when it is called, so what the text of a file imports counts, too.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import parity_tests

_INSTALLED = ("site-packages", "dist-packages")
_NOT_THEIRS = tuple(
    Path(each).resolve()
    for each in (os.path.dirname(parity_tests.__file__), sysconfig.get_path("stdlib"))
)

# A module's name, and the folder that it is looked for in; on the path where there is none.
_Import = tuple[str, str | None]


def users_files(before: Collection[str], *errors: BaseException) -> list[str]:
    """Return the files of modules that are there now and were not `before`, by their names.

    Imports that raised `errors` leave no module, so the files count that their tracebacks name. A
    file that one of these imports anywhere counts as well, unless it is imported by a name that is
    made while the program runs.

    Example::

        before = set(sys.modules)
        import my_model
        users_files(before) == ["/home/me/my_model.py"]
    """
    modules = [module for name, module in sys.modules.copy().items() if name not in before]
    files = {str(file) for each in modules if (file := getattr(each, "__file__", None))}
    named = {file for each in errors for file in _named_by(each)}
    waiting = [each for each in files | named if _is_users(each)]
    found, asked = set(waiting), set[_Import]()
    while waiting:
        imports = _imports_of(waiting.pop()) - asked
        asked |= imports
        new = {file for each in imports for file in _files_of(*each)} - found
        waiting += new
        found |= new
    return sorted(found)


def _imports_of(file: str) -> set[_Import]:
    """Return what the text of a file imports, wherever it does; nothing is run."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()  # no Python, or gone
    found = set[_Import]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(alias.name, None) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            beside = str(Path(file).parents[node.level - 1]) if node.level else None
            module = f"{node.module}." if node.module else ""
            found |= {(f"{module}{alias.name}", beside) for alias in node.names}
    return found


def _files_of(name: str, beside: str | None) -> Iterator[str]:
    """Find the user's files of a module, and of the packages that it is in."""
    parts, path = name.split("."), [beside] if beside else None
    for part in parts:  # by its own name: of a whole one, a folder's parents must be imported
        finders = sys.meta_path if path is None else (PathFinder,)
        spec = next((spec for each in finders if (spec := each.find_spec(part, path))), None)
        if spec is None:
            return
        if spec.has_location and spec.origin:
            if not _is_users(spec.origin):
                return
            yield spec.origin
        path = spec.submodule_search_locations
        if path is None:
            return


def _named_by(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from (each.filename for each in traceback.extract_tb(error.__traceback__))
        if isinstance(error, SyntaxError) and error.filename:
            yield error.filename
        error = error.__cause__ or error.__context__


def _is_users(file: str) -> bool:
    path = Path(os.path.realpath(file))
    if not path.is_file() or set(path.parts) & set(_INSTALLED):
        return False
    return not any(map(path.is_relative_to, _NOT_THEIRS))
