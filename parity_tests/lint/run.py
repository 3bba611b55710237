"""The steps of lint: read each file, look for each rule, leave out what comments silence."""

from __future__ import annotations

import ast
import codecs
import os
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import libcst as cst

from parity_tests.lint import fixing, ignores
from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module
from parity_tests.lint.records import Confidence, Finding, Match, Place, Result, Unread
from parity_tests.lint.rule import Rule
from parity_tests.lint.rules import CODES, RULES

_MOST_FIXES = 10  # a fix may make room for one that overlapped it


class UnreadableError(Exception):
    """A file cannot be linted; the message says why."""


def lint(
    paths: Iterable[Path],
    codes: Collection[str],
    at_least: Confidence = Confidence.MEDIUM,
    change: Callable[[Path, str, str], None] | None = None,
    progress: Callable[[int, int, str, tuple[int, int]], object] = lambda *told: None,
) -> Result:
    """Lint the Python files of the paths by the rules with these codes.

    `change` is given each file that a fix changes, its text before and after; the findings are
    then those of the text after. `progress` is told how many files are done, of how many, and how
    many bytes are, of how many: files differ in size, and so in time. Whoever is interrupted gets
    what was found so far.

    Example::

        lint([Path("src")], CODES).findings
    """
    result, files = Result(), list(python_files(paths))
    sizes = [0 if isinstance(each, Unread) else _size(each) for each in files]
    total, before = sum(sizes), 0
    done = 0
    try:
        for done, (found, size) in enumerate(zip(files, sizes, strict=True)):
            name = str(found.file if isinstance(found, Unread) else found)
            progress(done, len(files), name, (before, total))
            before += size
            if isinstance(found, Unread):
                result.unread.append(found)
                continue
            try:
                matches = _lint_file(found, codes, at_least, change)
            except UnreadableError as error:
                result.unread.append(Unread(found, str(error)))
            else:
                result.files.append(found)
                result.findings += [Finding(code, found, match) for code, match in matches]
    except KeyboardInterrupt:
        result.left = len(files) - done
    return result


def _lint_file(
    file: Path,
    codes: Collection[str],
    at_least: Confidence,
    change: Callable[[Path, str, str], None] | None,
) -> list[tuple[str, Match]]:
    source = _read(file)
    matches = lint_source(source, codes, at_least)
    if change is None or not any(match.edits for _, match in matches):
        return matches
    encoding = cst.parse_module(source).encoding
    before = after = source.decode(encoding)
    for _ in range(_MOST_FIXES):
        after = fixing.fixed(after, [match for _, match in matches])
        try:
            matches = lint_source(after.encode(encoding), codes, at_least)
        except UnreadableError:  # of the fixed text, which nobody wants
            return lint_source(source, codes, at_least)
        if not any(match.edits for _, match in matches):
            break
    change(file, before, after)
    return matches


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # reading it says so
        return 0


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from error


def lint_source(
    source: bytes, codes: Collection[str], at_least: Confidence = Confidence.MEDIUM
) -> list[tuple[str, Match]]:
    """Return the findings of a source, in order, each with the code of its rule.

    Raises `UnreadableError` where it is no Python.

    Example::

        lint_source(b"import jax", CODES) == []
    """
    if source.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableError("it is UTF-16, which is no encoding of Python: save it as UTF-8")
    # What triggers a rule is ASCII in every encoding of Python sources.
    text = source.decode("latin-1")
    rules = [rule for rule in RULES if rule.code in codes and rule.trigger.search(text)]
    if "jax" not in text.lower():
        rules = []
    if not rules and "constparity" not in text:
        return []
    if is_too_deep(source):
        raise UnreadableError("its expressions are nested too deeply")
    return on_deep_stack(lambda: _in_order(source, rules, codes, at_least))


def _in_order(
    source: bytes, rules: Sequence[Rule], codes: Collection[str], at_least: Confidence
) -> list[tuple[str, Match]]:
    module = _parsed(source)
    found = sorted(_found(module, rules, at_least), key=lambda each: (each[1].place, each[0]))
    kept = ignores.silence(found, ignores.ignores_in(module.text), codes, CODES)
    asked = (each for each in kept if each[0] in codes)
    return sorted(asked, key=lambda each: (each[1].place, each[0]))


def _found(
    module: Module, rules: Sequence[Rule], at_least: Confidence
) -> Iterable[tuple[str, Match]]:
    kinds, seen = Kinds(module), set[tuple[str, Place]]()
    for rule in rules:
        for match in rule.check(kinds):
            where = rule.code, match.place
            if match.confidence >= at_least and where not in seen:
                seen.add(where)
                yield rule.code, match


def _parsed(source: bytes) -> Module:
    try:
        return Module(source)
    except cst.ParserSyntaxError as error:
        raise UnreadableError(
            f"line {error.editor_line}, column {error.editor_column}: it is no Python"
        ) from error
    except (UnicodeError, LookupError, SyntaxError) as error:
        raise UnreadableError(f"its encoding cannot be read: {error}") from error


# -- which files are linted ------------------------------------------------------------------------

_PYTHON = (".py", ".pyi")
_NOTEBOOK = ".ipynb"
# Folders that hold other people's code, or none.
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


def python_files(paths: Iterable[Path]) -> Iterator[Path | Unread]:
    """Yield the Python files of the paths, each once, and what is not read with its reason.

    A file that was named is linted whatever its name is; of a folder, the files whose names end in
    .py or .pyi, without hidden folders and those of installed packages.
    """
    seen: set[Path] = set()
    for path in paths:
        for found in _below(path):
            if isinstance(found, Unread):
                yield found
            elif (real := Path(os.path.realpath(found))) not in seen:
                seen.add(real)
                yield found


def _below(path: Path) -> Iterator[Path | Unread]:
    if path.suffix == _NOTEBOOK:
        yield Unread(path, "notebooks are not linted; export it as a .py file", is_failure=False)
    elif path.is_dir():
        yield from _in_folder(path, above=())
    else:
        yield path  # also where it does not exist: reading it says so


def _in_folder(folder: Path, above: tuple[str, ...]) -> Iterator[Path | Unread]:
    real = os.path.realpath(folder)
    if real in above:
        return  # a link to a folder that it lies in
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError as error:
        yield Unread(folder, f"the folder cannot be read: {error.strerror or error}")
        return
    for entry in entries:
        path = folder / entry.name
        if _is_folder(entry):
            if entry.name not in _SKIPPED and not entry.name.startswith("."):
                yield from _in_folder(path, (*above, real))
        elif path.suffix in (*_PYTHON, _NOTEBOOK):
            # Nobody may write to a pipe that lies about; one that is named is read.
            is_pipe = path.is_fifo()
            yield from [Unread(path, "it is a pipe")] if is_pipe else _below(path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


# -- a deep stack ----------------------------------------------------------------------------------
# LibCST's parser is native code that recurses. A few thousand brackets, or the terms of a long sum,
# overflow the usual stack, which ends the whole process; a larger stack takes minutes for them.

_Result = TypeVar("_Result")

_MOST_LEVELS = 500
_STACK = 1 << 29  # bytes of address space; memory is used as far as the stack grows
_CALLS = 30_000
_lock = threading.Lock()  # both settings belong to the process


def is_too_deep(source: bytes) -> bool:
    """Say whether a source is nested more deeply than lint reads.

    Example::

        is_too_deep(b"x = 1") is False
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (RecursionError, MemoryError):
        return True
    except (SyntaxError, ValueError):
        # No Python, or one that is newer than this one. LibCST says which.
        return _brackets(source) > _MOST_LEVELS
    return _levels(tree) > _MOST_LEVELS


def _levels(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting += [(child, level + 1) for child in ast.iter_child_nodes(node)]
    return deepest


def _brackets(source: bytes) -> int:
    """Return how many brackets are open at most, those of strings and comments included."""
    deepest = level = 0
    for byte in source:
        level += (byte in b"([{") - (byte in b")]}")
        deepest = max(deepest, level)
    return deepest


def on_deep_stack(function: Callable[[], _Result]) -> _Result:
    """Return what a function returns; raises what it raises."""
    result: Future[_Result] = Future()

    def run() -> None:
        try:
            result.set_result(function())
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the caller's thread
            result.set_exception(error)

    with _lock:
        stack, calls = threading.stack_size(_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(calls, _CALLS))
        try:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            thread.join()
        finally:
            sys.setrecursionlimit(calls)
            threading.stack_size(stack)
    return result.result()
