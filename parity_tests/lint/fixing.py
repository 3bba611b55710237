"""Applies the fixes of findings to the text of a file."""

from __future__ import annotations

import difflib
import errno
import io
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

import libcst as cst

from parity_tests.lint.records import Edit, Match, Place


def fixed(text: str, matches: Iterable[Match]) -> str:
    """Return a text with the fixes of findings.

    A fix is applied whole or not at all: one that overlaps an earlier one waits for the next time.
    """
    offsets = _offsets(text)
    chosen: list[Edit] = []
    for match in matches:
        new = [each for each in match.edits if each not in chosen]
        is_free = not any(_overlap(one, other) for one in new for other in chosen)
        if is_free and all(_is_there(text, offsets, each) for each in new):
            chosen += new
    for edit in sorted(chosen, key=lambda each: (each.start, each.end), reverse=True):
        start, end = (_offset(offsets, place) for place in (edit.start, edit.end))
        text = text[:start] + edit.text + text[end:]
    return text


def _is_there(text: str, offsets: list[int], edit: Edit) -> bool:
    """Say whether the text has what an edit replaces there: LibCST counts no form feeds."""
    start, end = (_offset(offsets, place) for place in (edit.start, edit.end))
    return text[start:end] == edit.old


def write_back(file: Path, before: str, after: str) -> None:
    """Write a fixed file in the encoding and with the permissions that it had.

    Raises `OSError` where the file cannot be written, or is no longer what was linted; it stays as
    it was then.
    """
    target = file.resolve()  # of a link, the file that it leads to
    source = target.read_bytes()
    encoding = cst.parse_module(source).encoding
    if source.decode(encoding) != before:
        raise OSError(errno.ESTALE, "it was changed while it was linted", str(file))
    temporary = target.with_name(f".constparity-{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(after.encode(encoding))
        shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def difference(file: Path, before: str, after: str) -> str:
    """Return the unified difference of a file and its fixed text, as `patch` and git take it."""
    # Lines end at newlines alone: at no form feed, nor at a carriage return as Python's do.
    lines = difflib.unified_diff(
        io.StringIO(before, newline="\n").readlines(),
        io.StringIO(after, newline="\n").readlines(),
        fromfile=str(file),
        tofile=str(file),
    )
    unended = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else f"{line}{unended}" for line in lines)


def _overlap(one: Edit, other: Edit) -> bool:
    return one.start < other.end and other.start < one.end


def _offsets(text: str) -> list[int]:
    """Return where each line begins, lines ending as in Python: not at form feeds."""
    offsets = [0]
    for index, character in enumerate(text):
        is_first_of_two = character == "\r" and text[index + 1 : index + 2] == "\n"
        if character == "\n" or (character == "\r" and not is_first_of_two):
            offsets.append(index + 1)
    return offsets


def _offset(offsets: list[int], place: Place) -> int:
    return offsets[place.line - 1] + place.column - 1
