"""Which arguments pytest takes in a project: from its settings, tox, a Makefile, or its folders."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity_tests.marked_programs import python_files

# The settings of pytest, in the order in which pytest looks for them, and their sections.
_SETTINGS = (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_FOLDERS = ("tests", "test")
# Options that do not choose tests; those of the second pattern may have a value.
_LEFT_OUT = re.compile(r"--no-cov|-[vq]+$|--verbose$|--quiet$")
_LEFT_OUT_WITH_VALUE = re.compile(r"--cov|--color|--junit")
_NOT_LITERAL = re.compile(r"[$`{}<>|;&()]")


def pytest_arguments(folder: Path) -> tuple[tuple[str, ...] | None, str]:
    """Return the arguments of pytest, and where they were found; None where there are no tests.

    Where pytest's own settings name the tests, it needs no argument.

    Example::

        pytest_arguments(Path("my_project")) == (("tests",), "the folder tests")
    """
    if (source := _in_settings(folder)) is not None:
        return (), source
    for file, lines in _commands(folder):
        for line in lines:
            if (found := _arguments_in(line)) is not None:
                return found, file
    tests = [file.relative_to(folder) for file in python_files(folder) if _is_test(file)]
    tops = {file.parts[0] for file in tests if len(file.parts) > 1}
    for name in _FOLDERS:
        if name in tops:
            return (name,), f"the folder {name}"
    if len(tops) < len({file.parts[0] for file in tests}):
        return (), "test files"  # some are beside pyproject.toml, where pytest begins
    return (tuple(sorted(tops)), "test files") if tests else (None, "")


def _is_test(file: Path) -> bool:
    """Say whether pytest takes a file for one with tests."""
    return file.name.startswith("test_") or file.name.endswith("_test.py")


def _in_settings(folder: Path) -> str | None:
    """Return where the settings of pytest name the tests."""
    file = folder / "pyproject.toml"
    if file.is_file():
        options = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("pytest", {})
        if "testpaths" in options or "testpaths" in options.get("ini_options", {}):
            return "testpaths in pyproject.toml"
    for name, section in _SETTINGS:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(folder / name, "utf-8")
        if parser.has_option(section, "testpaths"):
            return f"testpaths in {name}"
    return None


def _commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each file that holds commands, with the lines of them."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(folder / "tox.ini", "utf-8")
    for section in tox.sections():
        if section.startswith("testenv") and tox.has_option(section, "commands"):
            yield f"[{section}] of tox.ini", _joined(tox[section]["commands"])
    if (folder / "Makefile").is_file():
        yield "Makefile", _joined((folder / "Makefile").read_text("utf-8"))


def _joined(commands: str) -> list[str]:
    """Return the lines of commands; one that goes on after a backslash is one line."""
    return commands.replace("\\\n", " ").splitlines()


def _arguments_in(line: str) -> tuple[str, ...] | None:
    """Return the arguments of pytest in a line; None where it does not run pytest.

    Words with variables of tox, make or the shell are left out: they mean nothing elsewhere.
    """
    found = re.search(r"(?:^|[\s/@])(?:pytest|py\.test)(?:\s+(.*))?$", line)
    if found is None or "pip" in line or line.lstrip().startswith("#"):
        return None
    try:
        words = shlex.split(found[1] or "", comments=True)
    except ValueError:
        return None
    return tuple(each for each in _kept(words) if not _NOT_LITERAL.search(each))


def _kept(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command that say which tests run."""
    before = ""
    for word in words:
        is_value = before and "=" not in before and not word.startswith("-")
        before = word if _LEFT_OUT_WITH_VALUE.match(word) else ""
        if not (is_value or before or _LEFT_OUT.match(word)):
            yield word
