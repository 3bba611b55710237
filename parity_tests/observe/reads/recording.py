"""Recordings of reads: over a block, over the import of a module, and over calls of a program.

For the time of a block, properties that record stand in the place of JAX's own on the public
classes of `jax.extend.core`, on `jax.config` and on `os.environ`.
"""

from __future__ import annotations

import ast
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import jax

from parity_tests import targets
from parity_tests.jaxpr.source_places import kind_of_file, relative
from parity_tests.observe import stages
from parity_tests.observe.reads import flag, jaxpr
from parity_tests.observe.reads.backend import backend_reads, read_in_traces
from parity_tests.observe.reads.recorder import Reads, Seen, Site, left_in, replaced
from parity_tests.program import Program
from reports.rows import Side


@contextmanager
def recording(
    on_read: Callable[[Site, Seen], object] = lambda site, seen: None,
) -> Iterator[Reads]:
    """Record the reads of a block, which may raise; `on_read` is told each of them at once.

    Example::

        with recording() as reads:
            jax.make_jaxpr(f)(x).consts
        reads.sites()[0].place.line
    """
    reads = Reads(on_read=on_read)
    made = (*jaxpr.replacements(reads), *flag.replacements(reads))
    with replaced(made), flag.environments_noted(reads):
        yield reads


# -- reads at import -------------------------------------------------------------------------------
#
# A module is imported once in a process, in one form. So nothing is compared: captured arrays that
# legacy has are not there in simplified, and the flag has its other value.

# What captured arrays are in legacy form alone.
_OF_LEGACY = ("consts", "constvars")


@dataclass(frozen=True)
class _Imported:
    """The source file of a module, what its import read, and which lines read the backend."""

    file: str = ""
    reads: Reads = field(default_factory=Reads)
    of_backend: tuple[Site, ...] = ()


# Of each module, by the name or path that targets have for it.
_found: dict[str, _Imported] = {}


@contextmanager
def recorded_import(target: str) -> Iterator[None]:
    """Record what is read in a block that imports the module of a target, the first time."""
    module = targets.split(target)[0]
    if module in _found:
        yield
        return
    file = str(Path(module).resolve())  # before its import goes to another directory
    with recording() as reads, backend_reads() as of_backend:
        yield
    if module in sys.modules:
        file = str(getattr(sys.modules[module], "__file__", None))
    _found[module] = _Imported(file, reads, tuple(of_backend))


def reads_reaching(target: str) -> Iterator[tuple[Site, Seen, Seen]]:
    """Yield the lines whose reads at import a program depends on, and what each form reads."""
    for site, seen in _reaching(target):
        if site.subject == "flag":
            yield site, Seen(0), Seen(1)
        elif site.subject in _OF_LEGACY and seen.count > 0:
            yield site, seen, Seen(0)


def has_read_at_import() -> bool:
    """Say whether any import of this process has read something."""
    return any(each.reads for each in _found.values())


def needs_legacy(target: str) -> bool:
    """Say whether a program depends on a read at import that says nothing in this process.

    In simplified form an import reads no captured arrays where legacy form may have some.
    """
    reaching = _reaching(target)
    return any(site.subject in _OF_LEGACY and seen.count == 0 for site, seen in reaching)


def _reaching(target: str) -> Iterator[tuple[Site, Seen]]:
    """Yield the reads at import that a program depends on."""
    found = _found.get(targets.split(target)[0], _Imported())
    for site in found.reads.sites():
        if site.subject in ("flag", *_OF_LEGACY) and _reaches(target, site, found.file):
            yield site, found.reads.of(site)[0]


def backend_read_before(target: str) -> Iterator[Site]:
    """Yield the lines that read the backend before, and on which a program depends.

    They read at an import, or when an earlier program of this process was built and traced: what
    they read may be kept.
    """
    file = _found.get(targets.split(target)[0], _Imported()).file
    known = [site for each in _found.values() for site in each.of_backend]
    sites = (*known, *read_in_traces())
    return (site for site in sites if _reaches(target, site, file, also_unbound=True))


def _reaches(target: str, site: Site, file: str, *, also_unbound: bool = False) -> bool:
    """Say whether a program depends on a line of an import.

    With `also_unbound`, so does one whose name no statement binds: what does is not known.
    """
    name = (targets.split(target)[1] or "").partition(".")[0]
    if not name or not file.endswith(".py") or not Path(file).is_file():
        return False
    source = Path(file).read_bytes()
    reached = _names_reached(source, site, file)
    if name in reached or "*" in reached:  # all that a module of the user has
        return True
    is_bound = any(name in each.bound for each in _statements(source))
    is_of_import = any(each == file for each, _ in site.importing)
    return also_unbound and bool(reached) and not is_bound and is_of_import


@dataclass(frozen=True)
class _Statement:
    """A statement of a module, its lines, and the names that it binds or changes, and loads."""

    node: ast.stmt
    first: int
    last: int
    bound: frozenset[str]
    loaded: frozenset[str]


@lru_cache(maxsize=8)
def _statements(source: bytes) -> tuple[_Statement, ...]:
    return tuple(
        _Statement(
            each, _first_line(each), each.end_lineno or each.lineno,
            frozenset(_bound(each)), frozenset(_loaded(each)),
        )
        for each in ast.parse(source).body
    )  # fmt: skip


@lru_cache(maxsize=4096)  # each program of a file asks for the lines of those before it
def _names_reached(source: bytes, site: Site, file: str) -> frozenset[str]:
    """Return the names that a module binds or changes by a line, or by what that line bound."""
    statements = _statements(source)
    line = next((line for each, line in site.importing if each == file), None)
    if line is None and site.place.file == relative(file):
        line = site.place.line
    # What another module of the user reads at its import, or keeps.
    places = (site.place.file, *(each for each, _ in site.importing))
    files = {os.path.abspath(each) for each in places if each}
    files = {each for each in files if kind_of_file(each) == "user"}
    reached = {
        name
        for each in statements
        if (_imports_one_of(each.node, files, file) if line is None
            else each.first <= line <= each.last)
        for name in each.bound
    }  # fmt: skip
    while True:
        # A function may use what is bound below it.
        more = {name for each in statements if each.loaded & reached for name in each.bound}
        if more <= reached:
            return frozenset(reached)
        reached |= more


def _imports_one_of(statement: ast.stmt, files: set[str], file: str) -> bool:
    """Say whether a statement of a module imports one of some files."""
    names = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            importer = next((m for m in [*sys.modules.values()] if _file_of(m) == file), None)
            package = getattr(importer, "__package__", None) or ""
            start = package.split(".")[: -(node.level - 1) or None] if node.level else []
            module = ".".join(filter(None, (*start, node.module)))
            names += [module, *(f"{module}.{each.name}" for each in node.names)]
    return any(_file_of(sys.modules.get(name)) in files for name in names)


def _file_of(module: object) -> str:
    return str(getattr(module, "__file__", None) or "")


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module binds there, or whose objects it may change."""
    nodes = list(ast.walk(statement))
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        declared = [name for node in nodes if isinstance(node, ast.Global) for name in node.names]
        return {statement.name, *declared}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    changed = {name for node in nodes for name in _changed(node)}
    return changed | {name for node in nodes if (name := _stored(node)) is not None}


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield names whose objects a node may change: `a` and `b` of `a.f(b)`, `a` of `a.b = 0`."""
    found: list[ast.expr] = []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        found = [node.value.func, *(each for each in node.value.args if isinstance(each, ast.Name))]
    elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        found = [node]
    for each in found:
        while isinstance(each, (ast.Attribute, ast.Subscript, ast.Call)):
            each = each.func if isinstance(each, ast.Call) else each.value
        if isinstance(each, ast.Name):
            yield each.id


def _stored(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return node.name if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None


def _loaded(statement: ast.stmt) -> set[str]:
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    loaded = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
    # A function binds what it declares as global when it is called.
    return loaded | ({statement.name} if isinstance(statement, ast.FunctionDef) else set())


# -- reads in calls --------------------------------------------------------------------------------

# A callback may read something in a later call alone.
_CALLS = 20
_SECONDS = 2.0


def reads_of_calls(
    load: Callable[[], Program], side: Side, file: Path, *, at_import: bool = False
) -> Reads:
    """Load a program, call it some times, and record what is read after its import.

    With `at_import`, what its import reads is recorded, and nothing is called. What it raises ends
    the record. `file` takes each read as it is made, since a callback may end the process. Stages
    that were made at import are known, so that their reads are told.
    """
    found = Reads()
    is_told = at_import

    def note(site: Site, seen: Seen) -> None:
        if is_told:
            found.log.append((site, seen))
            leave(site, seen)

    with left_in(file) as leave, recording(note):
        # A program may raise anything, and did so before on one of its sides.
        try:
            program = load()
            is_told = not at_import
            if is_told:
                _call(program, side)
        except (Exception, SystemExit):  # noqa: BLE001
            return found
    return found


def _call(program: Program, side: Side) -> None:
    built = stages.build(program, side, stages.StageClock(lambda name: None))
    end = time.monotonic() + _SECONDS
    for _ in range(_CALLS):
        jax.block_until_ready(built.ready()())
        jax.effects_barrier()
        if time.monotonic() > end:
            return
