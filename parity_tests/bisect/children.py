"""Python processes that a process of the command starts, and that no site can be switched in.

A start-up file finds its way into a child by the environment alone. So a child with an environment
of its own, or with an option that shuts the environment out, is as without us: it can only be told.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from parity_tests.bisect import sites

# Audit events have the program and the words of the child first, and its environment there.
_ENVIRONMENT = {"subprocess.Popen": 3, "os.posix_spawn": 2, "os.exec": 2}
_STDLIB = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = ("site-packages", "dist-packages")
_MOST_OF_A_SHEBANG = 256  # characters


def watch(folder: Path) -> None:
    """Have this process tell which of its lines start a Python process that is not switched."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _ENVIRONMENT:
            return
        try:
            program, words = arguments[:2]
            environment = _texts(arguments[_ENVIRONMENT[event]])
            if why := why_not_switched([program, *words[1:]], environment):
                sites.tell(folder, "not switched", {f"{_starter()} starts Python {why}": ""})
        except Exception as error:  # noqa: BLE001 - or the command could not start its child
            sites.tell(folder, "not switched", {f"a child that cannot be read: {error!r}": ""})

    sys.addaudithook(hook)


def _texts(environment: Mapping[Any, Any] | None) -> Mapping[str, str]:
    """Return an environment as texts; that of this process for None, which a child inherits."""
    if environment is None:
        return os.environ
    return {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}


def why_not_switched(command: Sequence[Any], environment: Mapping[str, str]) -> str:
    """Return why Python that is started by these words is not switched; "" where it is, or none is.

    Python that a shell script starts, or any other program, is not looked for.

    Example::

        why_not_switched(["python", "-I", "a.py"], os.environ).startswith("with -I, which keeps")
    """
    words = list(map(os.fsdecode, command))
    words = _in_a_shell(words) or [*_interpreter(words[0], environment), *words]
    if not any(map(_is_python, words)):
        return ""
    if option := what_shuts_out(words):
        return f"with {option}, which keeps it from its environment"
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    if sites.VARIABLE in environment and sites.STARTUP in path:
        return ""
    return "in an environment without the variables of this run"


def _in_a_shell(words: Sequence[str]) -> list[str]:
    """Return the words of a command that a shell is given as one; none otherwise."""
    if len(words) < 3 or words[1] != "-c" or _is_python(words[0]):
        return []
    try:
        return shlex.split(words[2])
    except ValueError:  # an odd quote, which the shell may understand
        return words[2].split()


def _interpreter(program: str, environment: Mapping[str, str]) -> list[str]:
    """Return the words of the first line of a script, as of one that pip installs."""
    file = shutil.which(program, path=environment.get("PATH"))
    if file is None or _is_python(program):
        return []
    first = b""
    with contextlib.suppress(PermissionError), open(file, "rb") as script:
        first = script.readline(_MOST_OF_A_SHEBANG)
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []


def _is_python(word: str) -> bool:
    return re.fullmatch(r"python[0-9.]*", os.path.basename(word)) is not None


def what_shuts_out(words: Sequence[str]) -> str:
    """Return what keeps our start-up file out of Python, as "python -I"; "" for nothing.

    Example::

        what_shuts_out(["env", "-i", "python", "a.py"]) == "env -i"
    """
    for number, word in enumerate(words):
        others = words[number + 1 :]
        if os.path.basename(word) == "env":
            given = _options(others, _OF_ENV)
            if any(each in ("-", "-i", "--ignore-environment") for each in given):
                return "env -i"
        if _is_python(word):
            given = [each for each in _options(others, _OF_PYTHON) if not each.startswith("--")]
            for letter in "IES":
                if any(letter in each for each in given):
                    return f"{os.path.basename(word)} -{letter}"
    return ""


# Options with a value behind them.
_OF_PYTHON = ("-X", "-W")
_OF_ENV = ("-u", "-C", "--unset", "--chdir")


def _options(words: Sequence[str], with_value: Sequence[str]) -> list[str]:
    found, waiting = list[str](), list(words)
    while waiting and waiting[0].startswith("-") and waiting[0][:2] not in ("-c", "-m"):
        word = waiting.pop(0)
        if word in with_value:
            waiting[:1] = []
        elif word[:2] not in with_value:  # or the value is attached, as in -Wignore
            found.append(word)
    return found


def _starter() -> str:
    """Return "file:line" of the innermost frame outside of Python's own library, best a user's."""
    frames = [each for each in _frames(sys._getframe(2)) if _is_outside(each)]
    users = [each for each in frames if not any(part in _file(each) for part in _INSTALLED)]
    for frame in [*users, *frames]:
        return f"{sites.file_of(_file(frame))}:{frame.f_lineno}"
    return "a process"


def _frames(frame: FrameType | None) -> Iterable[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_outside(frame: FrameType) -> bool:
    file = _file(frame)
    is_installed = any(part in file for part in _INSTALLED)
    return is_installed or not file.startswith((_STDLIB, "<frozen"))


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename
