"""Which files are linted: the Python files of the paths that were named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from parity_tests.lint.records import Unread

_PYTHON = (".py", ".pyi")
_NOTEBOOK = ".ipynb"
# Folders that hold other people's code, or none.
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "build", "dist"}


def python_files(paths: Iterable[Path]) -> Iterator[Path | Unread]:
    """Yield the Python files of the paths, each once, and what is not read with its reason.

    A file that was named is linted whatever its name is; of a folder, the files whose names end in
    .py or .pyi, without hidden folders and those of installed packages.

    Example::

        list(python_files([Path("my_model.py"), Path("src")]))
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
            yield from _below(path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
