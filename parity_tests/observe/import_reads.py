"""Reads at import: what a module read of jaxprs or the flag, and which of its programs use it.

A module is imported once in a process, in one form. So nothing is compared: captured arrays that
legacy has are not there in simplified, and the flag has its other value.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parity_tests import targets
from parity_tests.observe.jaxpr_reads import Reads, Seen, Site, recording

# What captured arrays are in legacy form alone.
_OF_LEGACY = ("consts", "constvars")
# The source file and the reads of each module, by the name or path that targets have for it.
_found: dict[str, tuple[str, Reads]] = {}


@contextmanager
def recorded_import(target: str) -> Iterator[None]:
    """Record what is read in a block that imports the module of a target, the first time.

    Example::

        with recorded_import("my_model:step"):
            targets.load_one("my_model:step")
    """
    module = targets.split(target)[0]
    if module in _found:
        yield
        return
    file = str(Path(module).resolve())  # before its import goes to another directory
    with recording() as reads:
        yield
    if module in sys.modules:
        file = str(getattr(sys.modules[module], "__file__", None))
    _found[module] = (file, reads)


def reads_reaching(target: str) -> Iterator[tuple[Site, Seen, Seen]]:
    """Yield the lines whose reads at import a program depends on, and what each form reads there.

    Example::

        list(reads_reaching("my_model:step"))
    """
    for site, seen in _reaching(target):
        if site.subject == "flag":
            yield site, Seen(0), Seen(1)
        elif site.subject in _OF_LEGACY and seen.count > 0:
            yield site, seen, Seen(0)


def has_read() -> bool:
    """Say whether any import of this process has read something."""
    return any(reads for _, reads in _found.values())


def needs_legacy(target: str) -> bool:
    """Say whether a program depends on a read at import that says nothing in this process.

    In simplified form an import reads no captured arrays where legacy form may have some.

    Example::

        needs_legacy("my_model:step")
    """
    reaching = _reaching(target)
    return any(site.subject in _OF_LEGACY and seen.count == 0 for site, seen in reaching)


def _reaching(target: str) -> Iterator[tuple[Site, Seen]]:
    """Yield the reads at import that a program depends on."""
    module, name = targets.split(target)
    file, reads = _found.get(module, ("", Reads()))
    for site in reads.sites():
        is_of_either = site.subject in ("flag", *_OF_LEGACY)
        if is_of_either and name and name.partition(".")[0] in _names_reached(site, file):
            yield site, reads.of(site)[0]


def _names_reached(site: Site, file: str) -> set[str]:
    """Return the names that a module binds by a line, or by what it bound by that line before."""
    line = next((line for each, line in site.importing if each == file), None)
    if line is None:
        return set()
    statements = ast.parse(Path(file).read_bytes()).body
    reached = {
        name
        for each in statements
        if _first_line(each) <= line <= (each.end_lineno or each.lineno)
        for name in _bound(each)
    }
    while True:
        # A function may use what is bound below it.
        more = {
            name for each in statements if _loaded(each) & reached for name in _bound(each)
        } - reached
        if not more:
            return reached
        reached |= more


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds there."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    return {name for node in ast.walk(statement) if (name := _stored(node)) is not None}


def _stored(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None


def _loaded(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
