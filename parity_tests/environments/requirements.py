"""Packages of the user for an environment, as `--with` names them: one requirement of pip each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_EDITABLE = re.compile(r"(?:-e|--editable)[\s=]*(.+)")
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
    environment that was made from other content is another environment.
    """

    text: str
    arguments: tuple[str, ...]
    content: str = ""


def parsed(texts: Iterable[str]) -> tuple[Requirement, ...]:
    """Read requirements, each once, in an order of its own. Raises `RequirementError`.

    Example::

        parsed(["flax>=0.12", "./my_project[extra]", "dist/mine-1.0-py3-none-any.whl"])
    """
    return tuple(sorted({_parsed(text) for text in texts}))


def _parsed(text: str) -> Requirement:
    text = text.strip()
    editable = _EDITABLE.fullmatch(text)
    if editable is not None:
        return _local(editable[1], text)
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


def _digest(files: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.name}\0".encode())
        with open(file, "rb") as content:
            whole.update(hashlib.file_digest(content, "sha256").digest())
    return whole.hexdigest()
