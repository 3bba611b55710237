"""The files of the user that were imported: not those that are installed, and not ours."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path

import parity_tests

_INSTALLED = ("site-packages", "dist-packages")


def users_files(before: Collection[str], *errors: BaseException) -> list[str]:
    """Return the files of modules that are there now and were not `before`, by their names.

    Imports that raised `errors` leave no module, so the files count that their tracebacks name.

    Example::

        before = set(sys.modules)
        import my_model
        users_files(before) == ["/home/me/my_model.py"]
    """
    new = [module for name, module in list(sys.modules.items()) if name not in before]
    files = {str(file) for each in new if (file := getattr(each, "__file__", None))}
    named = {file for each in errors for file in _named_by(each)}
    return sorted(each for each in files | named if _is_users(each))


def _named_by(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from (each.filename for each in traceback.extract_tb(error.__traceback__))
        if isinstance(error, SyntaxError) and error.filename:
            yield error.filename
        error = error.__cause__ or error.__context__


def _is_users(file: str) -> bool:
    path = Path(os.path.realpath(file))
    ours = Path(parity_tests.__file__).resolve().parent
    library = Path(sysconfig.get_paths()["stdlib"]).resolve()
    if not path.is_file() or set(path.parts) & set(_INSTALLED):
        return False
    return not any(path.is_relative_to(each) for each in (ours, library))
