"""Marked programs: which functions of a source file are programs, without importing it.

A directory has files that are nobody's programs, and importing them could do anything. So the
marks are looked for in the text: `@program`, `@parity_tests.program(...)`, `program(...)(f)`,
under whatever name the file imports them. A stand-alone file, as `constparity reduce` and
`pytest --constparity-collect` write them, is one program without a mark: stock JAX alone runs it.
"""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

_IMPORTS_THE_MARK = re.compile(rb"^\s*(?:import|from)\s+parity_tests\b", re.MULTILINE)
_SKIPPED = ("__pycache__", "site-packages", "node_modules")

# The names by which a stand-alone file is known: its program, its sides, and what it shows.
STAND_ALONE = frozenset({"program", "SIDES", "SHOWS"})


def files_with_programs(folder: Path) -> list[Path]:
    """Return the Python files below a directory that mark programs, in the order of their names.

    So does a file that imports the mark and that Python cannot parse, for all that is known. Hidden
    directories and installed packages are left out.

    Example::

        files_with_programs(Path("examples"))
    """
    return [file for file in python_files(folder) if programs_in(file) or _is_broken(file)]


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a directory, but those of `files_with_programs` left out."""
    found: list[Path] = []
    for here, folders, files in os.walk(folder):
        folders[:] = filter(_is_looked_at, folders)
        found += (Path(here, each) for each in files if each.endswith(".py"))
    return sorted(each for each in found if each.is_file())


def _is_looked_at(folder: str) -> bool:
    return not (folder in _SKIPPED or folder.startswith("."))


def unreadable(folder: Path) -> OSError | None:
    """Return the first error of reading the directories and Python files below a directory.

    `python_files` finds nothing in a directory that cannot be read.

    Example::

        unreadable(Path("examples")) is None
    """
    errors: list[OSError] = []
    for here, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = filter(_is_looked_at, folders)
        errors += [
            PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.path.join(here, each))
            for each in files
            if each.endswith(".py")
            and os.path.exists(path := os.path.join(here, each))  # an editor's lock leads nowhere
            and not os.access(path, os.R_OK)
        ]
    return next(iter(errors), None)


def programs_in(file: Path) -> list[str]:
    """Return the names that a file gives to its programs, in order; none where it is not Python.

    Example::

        programs_in(Path("my_model.py")) == ["step"]
    """
    try:
        tree = _parsed(file)
    except (OSError, SyntaxError, ValueError):
        return []
    if tree is None:
        return []
    if _defined_in(tree) >= STAND_ALONE:
        return ["program"]
    marks = set(_names_of_the_mark(tree))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and _makes_a_mark(statement.value, marks):
            marks |= {ast.unparse(each) for each in statement.targets}
    return [name for statement in tree.body for name in _marked(statement, marks)]


def _parsed(file: Path) -> ast.Module | None:
    """Parse a file that has the name of this package in it; None for any other."""
    source = file.read_bytes()
    return ast.parse(source) if b"parity_tests" in source else None


def _is_broken(file: Path) -> bool:
    try:
        _parsed(file)
    except (SyntaxError, ValueError):
        return _IMPORTS_THE_MARK.search(file.read_bytes()) is not None
    return False


def _defined_in(tree: ast.Module) -> set[str]:
    """Return the names of the functions and of the plain assignments at the top of a file."""
    names = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    assigned = (each.targets for each in tree.body if isinstance(each, ast.Assign))
    return names | {each.id for some in assigned for each in some if isinstance(each, ast.Name)}


def _names_of_the_mark(tree: ast.Module) -> Iterator[str]:
    """Yield what `parity_tests.program` is called in a file, as in "pt.program"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name == "parity_tests":
                    yield f"{each.asname or each.name}.program"
        elif isinstance(node, ast.ImportFrom) and node.module in (
            "parity_tests",
            "parity_tests.program",
        ):
            yield from (each.asname or each.name for each in node.names if each.name == "program")


def _marked(statement: ast.stmt, marks: set[str]) -> list[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [statement.name] if any(_is_mark(e, marks) for e in statement.decorator_list) else []
    if isinstance(statement, ast.ClassDef):
        inner = (name for each in statement.body for name in _marked(each, marks))
        return [f"{statement.name}.{name}" for name in inner]
    if isinstance(statement, ast.Assign) and _is_program(statement.value, marks):
        return [each.id for each in statement.targets if isinstance(each, ast.Name)]
    return []


def _is_program(value: ast.expr, marks: set[str]) -> bool:
    """Whether a value is a mark that was called with a function: `program(args=(x,))(f)`."""
    return isinstance(value, ast.Call) and bool(value.args) and _is_mark(value.func, marks)


def _makes_a_mark(value: ast.expr, marks: set[str]) -> bool:
    """Whether a value is a mark for several functions: `program(args=(x,))`, or the mark itself."""
    return _is_mark(value, marks) and not _is_program(value, marks)


def _is_mark(expression: ast.expr, marks: set[str]) -> bool:
    while isinstance(expression, ast.Call):
        expression = expression.func
    return ast.unparse(expression) in marks
