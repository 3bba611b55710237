"""Text out of rows, made fit to be shown: cut to a length, and nothing in it invisible."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reports.rows import Failure

_NEWLINES = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Control characters (terminal colours in a traceback begin with one), the marks that reverse the
# order of what is read, the halves of characters that file names outside UTF-8 leave behind, and
# what Unicode says is no character, which HTML and XML refuse.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\ufdd0-\ufdef\ufffe\uffff]"
)
# Folders up to that of installed packages, where a path begins: at the start, behind a space, a
# quote or a bracket. Debian has dist-packages.
_INSTALLED = re.compile(
    r"(?<![^\s\"'`(\[<=,;])(?=[/.])(?:[^\s\"'`()\[\]<>=,;/]*/)+(?:site|dist)-packages/"
)
_TERMINAL_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def visible(text: str) -> str:
    r"""Return `text` with one kind of newline, and with its invisible characters spelled out.

    Example::

        >>> visible("\x1b[31mred\x1b[0m\r\nnul\x00")
        'red\nnul\\x00'
    """
    text = _NEWLINES.sub("\n", _TERMINAL_COLOUR.sub("", text))
    return _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text)


def from_package_on(text: str) -> str:
    """Return `text` with each path of an installed file from its package on.

    A path with spaces stays whole, for nobody could say where it begins.

    Example::

        >>> from_package_on("/home/me/.venv/lib/python3.11/site-packages/jax/core.py:7 (x)")
        'jax/core.py:7 (x)'
    """
    return _INSTALLED.sub("", text) if "-packages/" in text else text


def cut(text: str, length: int) -> str:
    """Return `text`, or its first `length` characters and how many more there are.

    Example::

        >>> cut("a long story", 6)
        'a long … (6 more characters)'
    """
    if len(text) <= length:
        return text
    return f"{text[:length]} … ({len(text) - length:,} more characters)"


def cut_middle(text: str, head: int, tail: int) -> str:
    r"""Return `text`, or its beginning and its end, which in a traceback is what matters most.

    Example::

        >>> cut_middle("first\nsecond\nlast", 5, 4)
        'first\n… (8 characters left out here; the JSON report has them) …\nlast'
    """
    if len(text) <= head + tail:
        return text
    left_out = len(text) - head - tail
    notice = f"… ({left_out:,} characters left out here; the JSON report has them) …"
    return f"{text[:head]}\n{notice}\n{text[-tail:]}"


def left_out(found: Sequence[object], shown: Sequence[object], what: str) -> str:
    """Say how many of `found` are not among those `shown`, in a sentence; "" where all are.

    Example::

        >>> left_out("abc", "a", "letters")
        '2 more letters are left out here; the JSON report has them.'
    """
    return more(len(found) - len(shown), what) if len(found) > len(shown) else ""


def more(count: int, what: str) -> str:
    """Say that `count` more are in the JSON report alone.

    Example::

        >>> more(2, "letters")
        '2 more letters are left out here; the JSON report has them.'
    """
    return f"{count:,} more {what} are left out here; the JSON report has them."


def counted(number: int, noun: str) -> str:
    """Put a number before its noun, in the plural where it should be.

    Example::

        >>> counted(1, "const arg"), counted(2, "leaf"), counted(10_000, "row")
        ('1 const arg', '2 leaves', '10,000 rows')
    """
    plural = {
        "leaf": "leaves",
        "library": "libraries",
        "copy": "copies",
        "process": "processes",
    }.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"


def type_of(array: Any) -> str:
    """Write the type of what has a dtype and a shape.

    Example::

        type_of(np.zeros((2, 3))) == "float64[2,3]"
    """
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def failed(failure: Failure) -> str:
    """Say how a program failed, in one line.

    Example::

        failed(failure) == "crash in compile: signal SIGABRT: the process ended"
    """
    line = next(iter(failure.message.strip().splitlines()), "")
    at = f" ({failure.where})" if failure.where else ""
    return f"{failure.kind} in {failure.stage}: {failure.type}{f': {line}' if line else ''}{at}"


@dataclass(frozen=True)
class Term:
    """A word and its meaning; the meaning stands behind a colon."""

    word: str
    meaning: str


# By the pattern that finds a word as reasons and tables write it.
_TERMS = {
    r"\bulp at ": Term(
        "ulp", "apart by rounding, at most 4 units in the last place (1 in 16 bits and less)"
    ),
    r"\btolerance at ": Term(
        "tolerance", "further apart than that, within JAX's default tolerance of the dtype"
    ),
    r"\barbiter at ": Term(
        "arbiter", "beyond the tolerance, and equally near to a run in double precision"
    ),
    r"\bmismatch at ": Term("mismatch", "beyond all of these: the outputs are different"),
    r"\bmax (?:rel|abs) ": Term(
        "max rel, max abs, ULP",
        "the largest distance of two elements: relative, absolute, in units in the last place",
    ),
    r"\b(?:ulp|tolerance|arbiter|mismatch) at \[": Term(
        "at ['w']", "the output that is furthest apart, by its path in the result"
    ),
    r"[(\[]\*|: \*": Term("*", "in a structure such as ([*]), an array"),
}


def terms_of(texts: Iterable[str]) -> tuple[Term, ...]:
    """Return the words that texts use, in the order of the ladder.

    Example::

        >>> [each.word for each in terms_of(["output structure: ([*]) against (*)"])]
        ['*']
    """
    text = "\n".join(texts)
    return tuple(term for pattern, term in _TERMS.items() if re.search(pattern, text))
