"""Places: where in the user's code an equation of a jaxpr was made."""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import sysconfig
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax

import parity_tests


class Place(NamedTuple):
    """A line of a function in a file; an empty `file` says that the place is not known."""

    file: str
    line: int
    function: str


NOWHERE = Place("", 0, "")
_MOST_CODE = 200  # characters of a line

_HERE = os.path.dirname(os.path.abspath(parity_tests.__file__)) + os.sep
# JAX, the tester and the engine stand between a user's line and the equation that it made.
# The corpus lies in the tester's folder and is a user like others.
_JAX = os.path.dirname(os.path.abspath(jax.__file__)) + os.sep
_MACHINERY = (
    _JAX,
    _HERE,
    contextlib.__file__,  # of settings that are held around a function
    *(
        os.path.join(os.path.dirname(os.path.dirname(_HERE)), package) + os.sep
        for package in ("engine", "legacy_closedjaxpr", "simplified_consts")
    ),
)
# Of IPython without a kernel, of its %%time and %%timeit, and what is read from standard input.
_TYPED = ("<ipython-input-", "<timed ", "<magic-timeit>", "<stdin>")
_CORPUS = os.path.join(_HERE, "corpus") + os.sep
_INSTALLED = tuple(
    {
        os.path.abspath(sysconfig.get_path(name)) + os.sep
        for name in ("stdlib", "purelib", "platlib")
    }
)
# Of the user (`pip install --user`), of Debian, or on PYTHONPATH, as of Nix and of HPC modules.
_PACKAGES = tuple(os.sep + name + os.sep for name in ("site-packages", "dist-packages"))


def place_of(equation: Any, within: Place = NOWHERE) -> Place:
    """Return the innermost frame of the user's own code that made an equation.

    `within` is the place of the equation that has this one in its body. Tracebacks of a body begin
    with the body, so a body of JAX's own has no frame of a user.

    A library that is installed beside JAX comes last, because the line of a model says more than a
    line of the layer that it calls. `jax.extend.source_info_util.summarize` was no choice: it takes
    these libraries and this tester for users. A file below the working directory has a relative
    path.
    """
    return place_in(equation.source_info.traceback, within)


def place_in(traceback: Any, within: Place = NOWHERE) -> Place:
    """Return the innermost frame of the user's own code in a traceback of JAX, as `place_of`."""
    library = NOWHERE
    for frame in traceback.frames if traceback is not None else ():
        kind = kind_of_file(frame.file_name)
        if kind == "user":
            return _place(frame)
        if kind == "library" and library is NOWHERE:
            library = _place(frame)
    return library if within is NOWHERE else within


def raised_at(error: BaseException) -> Place:
    """Return the user's line that raised an exception, or called what did.

    It is the innermost frame of the user's own code, else of a library; `NOWHERE` where there is
    neither.
    """
    found = {"user": NOWHERE, "library": NOWHERE, "machinery": NOWHERE}
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        place = Place(relative(code.co_filename), line, code.co_name)
        found[kind_of_file(code.co_filename)] = place
    return found["library"] if found["user"] is NOWHERE else found["user"]


def is_raised_by_jax(error: BaseException) -> bool:
    """Say whether the line that raised an exception is one of JAX's own."""
    # JAX may take its own lines out of the traceback, and leaves them to the exception's cause.
    if type(error.__cause__).__module__.startswith("jax."):
        return True
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(files) and files[-1].startswith(_JAX)


def relative(file: str) -> str:
    """Return a file's path, relative to the working directory if the file lies below it."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # a test may have removed it
        return file
    return _below(file, folder)


@lru_cache(maxsize=4096)  # a program has few files and many equations
def _below(file: str, folder: str) -> str:
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def code_at(file: str, line: int) -> str:
    """Return the text of a line, without the space around it; "" where it cannot be read.

    Example::

        code_at("model.py", 12) == "return x @ weights"
    """
    if not file or not line:
        return ""
    # linecache looks for a relative path along sys.path as well, and may find another file.
    path = file if file.startswith("<") else os.path.abspath(file)
    return linecache.getline(path, line).strip()[:_MOST_CODE]


def _place(frame: Any) -> Place:
    return Place(relative(frame.file_name), frame.line_num, frame.function_name)


@lru_cache(maxsize=4096)
def kind_of_file(file: str) -> Literal["user", "library", "machinery"]:
    """Say whose a file is; "machinery" is JAX's, the tester's or the engine's.

    Example::

        kind_of_file(jax.__file__) == "machinery"
    """
    if file.startswith(_CORPUS):
        return "user"
    if file.startswith(_MACHINERY) or (file.startswith("<") and not file.startswith(_TYPED)):
        return "machinery"
    is_installed = file.startswith(_INSTALLED) or any(each in file for each in _PACKAGES)
    return "library" if is_installed else "user"


# JAX writes it behind the first line of an equation: "# /home/me/model.py:12:4 (step)".
_SOURCE = re.compile(r" # (?P<file>[^#]+?):(?P<line>\d+)(:\d+)? \([^#]*\)$")


def lines_of(closed: Any) -> tuple[str, ...]:
    """Return "model.py:12" for each line of `str(closed)`; "" where JAX names no line.

    Lines of an equation after its first have the line of the first.

    Example::

        lines_of(jax.make_jaxpr(f)(x))[1] == "model.py:12"
    """
    found, current = [], ""
    for printed in closed.jaxpr.pretty_print(source_info=True).splitlines():
        source = _SOURCE.search(printed)
        if source is not None:
            current = f"{relative(source['file'])}:{source['line']}"
        found.append(current)
    return tuple(found)
