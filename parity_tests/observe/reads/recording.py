"""Recordings of reads: over a block, over the import of a module, and over calls of a program.

For the time of a block, properties that record stand in the place of JAX's own on the public
classes of `jax.extend.core`, on `jax.config` and on `os.environ`.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import jax

from parity_tests import targets
from parity_tests.observe import stages
from parity_tests.observe.reads import flag, jaxpr
from parity_tests.observe.reads.backend import backend_reads
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


def backend_read_at_import(target: str) -> Iterator[Site]:
    """Yield the lines that read the backend at import, and on which a program depends."""
    found = _found.get(targets.split(target)[0], _Imported())
    return (site for site in found.of_backend if _reaches(target, site, found.file))


def _reaches(target: str, site: Site, file: str) -> bool:
    name = targets.split(target)[1] or ""
    return bool(name) and name.partition(".")[0] in _names_reached(site, file)


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
