"""What a project declares: its Python and JAX, how its tests are installed, and how they run."""

from __future__ import annotations

import configparser
import itertools
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from packaging.dependency_groups import resolve_dependency_groups
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from parity_tests.environments.find_python import NEWEST_MINOR
from parity_tests.jobs import ProjectError
from parity_tests.marked_programs import python_files

# The names that projects give to what their tests need, the most special one first.
_FOR_TESTS = ("test", "tests", "testing", "dev", "develop", "development")
_REQUIREMENT_FILES = tuple(
    pattern.format(name)
    for name in ("test", "tests", "dev")
    for pattern in (
        "requirements-{}.txt",
        "{}-requirements.txt",
        "requirements_{}.txt",
        "requirements/{}.txt",
    )
)
_JAX = ("jax", "jaxlib")
_MINOR = re.compile(r"Programming Language :: Python :: 3\.(\d+)")


# The settings of pytest, in the order in which pytest looks for them, and their sections.
_SETTINGS = (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
_FOLDERS = ("tests", "test")
# Options that do not choose tests; those of the second pattern may have a value.
_LEFT_OUT = re.compile(r"--no-cov|-[vqx]+$|--(verbose|quiet|exitfirst|ff|failed-first)$")
_LEFT_OUT_WITH_VALUE = re.compile(r"--cov|--color|--junit|--maxfail")
# With these pytest runs no test, or those that failed last.
_RUNS_NONE = re.compile(
    r"(--collect-only|--co|--fixtures|--fixtures-per-test|--help|-h|--version|-V|--markers"
    r"|--setup-plan|--lf|--last-failed|--sw|--stepwise|--cache-show)$"
)
_ENDS = ";<>|&"
# Options of pytest that say nothing without the next word.
_HAS_VALUE = re.compile(r"-[kmnpcoW]$")
_NOT_LITERAL = re.compile(r"[$`{}<>|;&()]")


@dataclass(frozen=True)
class Declared:
    """What the project's files declare; each `of_...` says where it was found.

    `project` are the arguments of pip that install the project and what its tests need, and
    `packages` the same as --with takes them. `classified` are minor versions of Python.
    """

    requires_python: SpecifierSet
    of_python: str
    requires_jax: SpecifierSet
    of_jax: str
    classified: tuple[int, ...]
    installer: str
    project: tuple[str, ...]
    packages: tuple[str, ...]
    of_project: str


def declared(folder: Path) -> Declared:
    """Read what a project declares in pyproject.toml, setup.cfg and its requirement files.

    A setup.py is not run. Raises `ProjectError`.

    Example::

        declared(Path("my_project")).project == ("-e", ".[test]")
    """
    tables = _toml(folder / "pyproject.toml")
    config = _ini(folder / "setup.cfg")
    project = _of(tables, "project", dict)
    python = _of(project, "requires-python", str) or config.get("options", {}).get(
        "python_requires", ""
    )
    runtime = [*_of(project, "dependencies", list), *_lines(config, "options", "install_requires")]
    extras: dict[str, list[str]] = dict(_of(project, "optional-dependencies", dict))
    for name in config.get("options.extras_require", {}):
        extras.setdefault(name, _lines(config, "options.extras_require", name))
    runtime += _requirements(folder / "requirements.txt")
    everything = [*runtime, *(each for extra in extras.values() for each in extra)]
    jax = _bounds(everything)
    uses_uv = (folder / "uv.lock").exists() or "uv" in _of(tables, "tool", dict)
    arguments, packages, source = _installation(folder, tables, config, extras)
    return Declared(
        requires_python=_specifiers(python, "requires-python"),
        of_python=f"requires-python {python}" if python else "assumed: nothing requires another",
        requires_jax=jax,
        of_jax=f"dependencies: jax{jax}" if str(jax) else "no dependency bounds it",
        classified=tuple(
            int(found[1])
            for each in _of(project, "classifiers", list)
            if (found := _MINOR.fullmatch(each))
        ),
        installer="uv" if uses_uv else "pip",
        project=arguments,
        packages=packages,
        of_project=source,
    )


def _installation(
    folder: Path,
    tables: Mapping[str, Any],
    config: Mapping[str, Mapping[str, str]],
    extras: Mapping[str, Iterable[str]],
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the arguments of pip, the packages by name, and where both were found."""
    groups = tables.get("dependency-groups", {})
    is_package = (
        "project" in tables
        or "build-system" in tables
        or "metadata" in config
        or (folder / "setup.py").exists()
    )
    extra = next((name for name in _FOR_TESTS if name in extras), None)
    if is_package and extra is not None:
        return ("-e", f".[{extra}]"), (f".[{extra}]",), f"the extra {extra!r}"
    own, own_package = (("-e", "."), (".",)) if is_package else ((), ())
    group = next((name for name in _FOR_TESTS if name in groups), None)
    if group is not None:
        packages = (*own_package, *_requirements_of_group(groups, group))
        return (*own, "--group", group), packages, f"the dependency group {group!r}"
    file = next((name for name in _REQUIREMENT_FILES if (folder / name).is_file()), None)
    plain = "requirements.txt" if not own and (folder / "requirements.txt").is_file() else None
    files = [name for name in (plain, file) if name is not None]
    arguments = tuple(word for name in files for word in ("-r", name))
    listed = tuple(each for name in files for each in _requirements(folder / name))
    if file is not None:
        return (*own, *arguments), (*own_package, *listed), file
    packages = (*own_package, *listed, "pytest")
    return (*own, *arguments, "pytest"), packages, "no extra is named for tests"


def _requirements_of_group(groups: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the requirements of a dependency group, and of the groups that it includes."""
    try:
        return resolve_dependency_groups(groups, name)
    except ExceptionGroup as error:
        why = "; ".join(map(str, error.exceptions))
        raise ProjectError(f"the dependency group {name!r} cannot be read: {why}") from error


def _bounds(requirements: Iterable[str]) -> SpecifierSet:
    """Return all bounds that requirements set for JAX."""
    bounds = SpecifierSet()
    for text in requirements:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:  # pip says so better than we could, when the job installs it
            continue
        if canonicalize_name(requirement.name) in _JAX and _holds_for_some(requirement):
            bounds &= requirement.specifier
    return bounds


def _holds_for_some(requirement: Requirement) -> bool:
    """Say whether a requirement holds on a Python that constparity runs on."""
    marker = requirement.marker
    versions = (f"3.{minor}" for minor in range(11, NEWEST_MINOR + 1))
    return marker is None or any(
        marker.evaluate({"python_version": each, "python_full_version": f"{each}.0", "extra": ""})
        for each in versions
    )


def _specifiers(text: str, what: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ProjectError(f"{what} cannot be read: {error}") from error


_Kind = TypeVar("_Kind", dict[str, Any], list[Any], str)


def _of(table: Mapping[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    """Return an entry of pyproject.toml, which is empty where it is not there."""
    found = table.get(name, kind())
    if not isinstance(found, kind):
        is_, not_ = type(found).__name__, kind.__name__
        raise ProjectError(f"pyproject.toml cannot be read: {name} is a {is_} and no {not_}")
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"{file} cannot be read: {error}") from error


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ProjectError(f"{file} cannot be read: {error}") from error


def _ini(file: Path) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(file, "utf-8")
    except (OSError, configparser.Error, UnicodeDecodeError) as error:
        raise ProjectError(f"{file} cannot be read: {error}") from error
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _lines(config: Mapping[str, Mapping[str, str]], section: str, name: str) -> list[str]:
    return [each for each in config.get(section, {}).get(name, "").splitlines() if each.strip()]


def _requirements(file: Path) -> list[str]:
    """Return the requirements of a file of pip, without its options and comments."""
    if not file.is_file():
        return []
    lines = (line.partition(" #")[0].strip() for line in _text(file).splitlines())
    return [line for line in lines if line and not line.startswith(("#", "-"))]


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
    options = _of(_of(_toml(folder / "pyproject.toml"), "tool", dict), "pytest", dict)
    if "testpaths" in options or "testpaths" in _of(options, "ini_options", dict):
        return "testpaths in pyproject.toml"
    for name, section in _SETTINGS:
        if "testpaths" in _ini(folder / name).get(section, {}):
            return f"testpaths in {name}"
    return None


def _commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each file that holds commands, with the lines of them."""
    for section, options in _ini(folder / "tox.ini").items():
        if section.startswith("testenv") and "commands" in options:
            yield f"[{section}] of tox.ini", _joined(options["commands"])
    if (folder / "Makefile").is_file():
        text = _text(folder / "Makefile")
        for part in (*re.findall(r"(?m)^test\b[^=\n]*(?:\n(?:\t.*)?)*", text), text):
            yield "Makefile", [line for line in _joined(part) if line.startswith("\t")]


def _joined(commands: str) -> list[str]:
    """Return the lines of commands; one that goes on after a backslash is one line."""
    return commands.replace("\\\n", " ").splitlines()


def _arguments_in(line: str) -> tuple[str, ...] | None:
    """Return the arguments of pytest in a line; None where it does not run pytest.

    Words with variables of tox, make or the shell are left out: they mean nothing elsewhere.
    """
    told = re.sub(r"(^|\s)##.*", "", line)  # what a target of make is for
    found = re.search(r"(?:^|[\s/@])(?:pytest|py\.test)(?:\s+(.*))?$", told)
    if found is None or "pip" in line or re.match(r"[\s@-]*(#|echo\b|printf\b)", line):
        return None
    if re.search(r"\bcd\s", told[: found.start()]):
        return None  # its arguments mean something in that folder alone
    try:
        words = list(_one_command(found[1] or ""))
    except ValueError:
        return None
    if any(map(_RUNS_NONE.match, words)):
        return None
    kept = list(_kept(words))
    return tuple(
        word
        for word, after in zip(kept, [*kept[1:], ""], strict=True)
        if not _NOT_LITERAL.search(after if _HAS_VALUE.match(word) else word)
    )


def _one_command(text: str) -> Iterator[str]:
    """Yield the words up to where the shell ends a command, or sends what it prints elsewhere.

    Raises ValueError where quotes do not match.
    """
    lexer = shlex.shlex(re.sub(r"(?<=\s)\d(?=[<>])", "", text), posix=True, punctuation_chars=_ENDS)
    lexer.whitespace_split = True
    return itertools.takewhile(lambda word: set(word) - set(_ENDS) or not word, lexer)


def _kept(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command that say which tests run."""
    before = ""
    for word in words:
        is_value = before and "=" not in before and not word.startswith("-")
        before = word if _LEFT_OUT_WITH_VALUE.match(word) else ""
        if not (is_value or before or _LEFT_OUT.match(word)):
            yield word
