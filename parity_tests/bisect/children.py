"""Python processes that a process of the command starts, and that no site can be switched in.

A start-up file finds its way into a child by the environment alone. So a child with an environment
of its own, or with an option that shuts the environment out, is as without us: it can only be told.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from parity_tests.bisect import sites
from parity_tests.processes.side_environment import JAX_FLAG

# Audit events have the program and the words of the child first, and its environment there.
_ENVIRONMENT = {"subprocess.Popen": 3, "os.posix_spawn": 2, "os.exec": 2}
_SHELLS = ("sh", "bash", "dash", "zsh")
_STDLIB = os.path.join(os.path.dirname(os.__file__), "")
_INSTALLED = ("site-packages", "dist-packages")
_MOST_OF_A_SHEBANG = 256  # bytes


def watch(folder: Path) -> None:
    """Have this process tell which of its lines start a Python process that is not switched.

    With each it tells whether JAX's own flag reaches the process.
    """

    def tell(command: Sequence[Any], given: Mapping[Any, Any] | None) -> None:
        environment = _texts(given)
        if what := not_switched(command, environment):
            by_flag = "by JAX's flag" if JAX_FLAG in environment else ""
            sites.tell(folder, "not_switched", {f"{_starter()} starts {what}": by_flag})

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        try:
            if event == "os.system":
                tell(["sh", "-c", *arguments], None)
            elif event in _ENVIRONMENT:
                program, words = arguments[:2]
                tell([program, *words[1:]], arguments[_ENVIRONMENT[event]])
        except Exception as error:  # noqa: BLE001 - or the command could not start its child
            sites.tell(folder, "not_switched", {f"a child that cannot be read: {error!r}": ""})

    sys.addaudithook(hook)


def _texts(environment: Mapping[Any, Any] | None) -> Mapping[str, str]:
    """Return an environment as texts; that of this process for None, which a child inherits."""
    if environment is None:
        return os.environ
    return {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}


def not_switched(command: Sequence[Any], environment: Mapping[str, str]) -> str:
    """Say that Python which these words start is not switched, and why; "" where it is, or none is.

    What a shell script starts is not looked for; that it is started without our variables is told.

    Example::

        not_switched(["python", "-I", "a.py"], os.environ).startswith("Python with python -I, ")
    """
    words = list(map(os.fsdecode, command))
    words = _in_a_shell(words) or [*_interpreter(words[0], environment), *words]
    is_python = any(map(_is_python, words))
    is_script = len(words) > 1 and os.path.basename(words[0]) in _SHELLS
    option = what_shuts_out(words)
    if is_python and option:
        return f"Python with {option}, which keeps it from its environment"
    path = environment.get("PYTHONPATH", "").split(os.pathsep)
    if (sites.VARIABLE in environment and sites.STARTUP in path) or not (is_python or is_script):
        return ""
    kind = "Python" if is_python else "a shell script"
    return f"{kind} in an environment without the variables of this run"


def _in_a_shell(words: Sequence[str]) -> list[str]:
    """Return the words of a command that a shell is given as one; none otherwise."""
    if len(words) < 3 or os.path.basename(words[0]) not in _SHELLS or words[1][-1:] != "c":
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
    try:
        script = os.open(file, os.O_RDONLY)  # the command's tests may have replaced `open`
    except PermissionError:  # it may be run and not be read
        return []
    try:
        first = os.read(script, _MOST_OF_A_SHEBANG)
    finally:
        os.close(script)
    lines = first.splitlines()
    return os.fsdecode(lines[0][2:]).split() if first.startswith(b"#!") else []


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
    frames = [each for each, _ in traceback.walk_stack(sys._getframe(1)) if _is_outside(each)]
    users = [each for each in frames if not any(part in _file(each) for part in _INSTALLED)]
    for frame in [*users, *frames]:
        return f"{sites.file_of(_file(frame))}:{frame.f_lineno}"
    return "a process"


def _is_outside(frame: FrameType) -> bool:
    file = _file(frame)
    is_installed = any(part in file for part in _INSTALLED)
    return file != __file__ and (is_installed or not file.startswith((_STDLIB, "<frozen")))


def _file(frame: FrameType) -> str:
    return frame.f_code.co_filename
