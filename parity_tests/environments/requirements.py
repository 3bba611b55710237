"""Packages of the user for an environment, as `--with` names them: one requirement of pip each.

A constraints file, `-c FILE`, installs nothing: it limits the versions of all that is installed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_EDITABLE = re.compile(r"(?:-e|--editable)[\s=]*(.+)")
_CONSTRAINTS = re.compile(r"(?:-c|--constraint)[\s=]*(.+)")
_ANOTHER_FILE = ("-c", "-r", "--constraint", "--requirement")  # how a line begins that names one
_WITH_EXTRAS = re.compile(r"(.+?)(\[[^\[\]]*\])?")
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tar.xz")
# What says which packages a project needs; the project's own code is read where it lies.
_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


class RequirementError(ValueError):
    """A requirement cannot be installed; the message names it and says why."""


@dataclass(frozen=True, order=True)
class Requirement:
    """One requirement: `text` names it in messages, `arguments` are those of pip.

    `content` is the digest of the user's file, or of the files that say what a project needs. An
    environment that was made from other content is another environment. `constraints` are the lines
    of a constraints file, which has no arguments: its place does not matter.
    """

    text: str
    arguments: tuple[str, ...]
    content: str = ""
    constraints: str = ""


def parsed(texts: Iterable[str | Requirement]) -> tuple[Requirement, ...]:
    """Read requirements, each once, in an order of its own. Raises `RequirementError`.

    One that was read before stays as it is.

    Example::

        parsed(["flax>=0.12", "./my_project[extra]", "dist/mine-1.0-py3-none-any.whl"])
    """
    found = {each if isinstance(each, Requirement) else _parsed(each) for each in texts}
    return tuple(sorted(found))


def constraints(name: str, lines: str) -> Requirement:
    """Return the requirement of the lines of a constraints file, which messages call `name`.

    Raises `RequirementError` where a line names another file, whose content nobody would know.

    Example::

        constraints("pins.txt", "numpy==2.4.6\nscipy==1.17.1\n")
    """
    for line in lines.splitlines():
        if line.lstrip().startswith(_ANOTHER_FILE):
            raise RequirementError(
                f"the constraints file {name} names another file, in {line.strip()!r}: write the "
                "lines of that file into it"
            )
    return Requirement(f"-c {name}", (), hashlib.sha256(lines.encode()).hexdigest(), lines)


def _parsed(text: str) -> Requirement:
    text = text.strip()
    editable = _EDITABLE.fullmatch(text)
    if editable is not None:
        return _local(editable[1], text)
    limiting = _CONSTRAINTS.fullmatch(text)
    if limiting is not None:
        return constraints(limiting[1], _lines(Path(limiting[1]).expanduser().absolute(), text))
    if not text or text.startswith("-"):
        raise RequirementError(
            f"--with {text!r} is no requirement: name one package, file or folder, as pip does"
        )
    is_url = "://" in text or " @ " in text
    looks_local = "/" in text or text.startswith((".", "~")) or text.endswith(_ARCHIVES)
    if looks_local and not is_url:
        return _local(text, text)
    return Requirement(text, (text,))


def _local(named: str, text: str) -> Requirement:
    """Return the requirement of a folder or a file.

    A folder is installed as `pip install -e` does, so that nobody tests a copy of old code.
    """
    found = _WITH_EXTRAS.fullmatch(named)
    assert found is not None, named  # a text that is not empty
    path, extras = Path(found[1]).expanduser().absolute(), found[2] or ""
    where = f"{path}{extras}"
    if path.is_file():
        return Requirement(where, (where,), _digest([path]))
    if not path.is_dir():
        raise RequirementError(f"--with {text}: {path} does not exist")
    files = [path / name for name in _PROJECT_FILES if (path / name).is_file()]
    if not files or files == [path / "setup.cfg"]:
        raise RequirementError(
            f"--with {text}: {path} is no project that pip can install, for it has neither "
            "pyproject.toml nor setup.py"
        )
    return Requirement(f"-e {where}", ("-e", where), _digest(files))


def _lines(path: Path, text: str) -> str:
    """Return the content of a constraints file."""
    if not path.is_file():
        raise RequirementError(f"--with {text}: the constraints file {path} does not exist")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequirementError(f"--with {text}: {path} cannot be read: {error}") from error


def _digest(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.name}\0".encode())
        with open(file, "rb") as content:
            whole.update(hashlib.file_digest(content, "sha256").digest())
    return whole.hexdigest()
