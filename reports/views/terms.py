"""The words of a page that name how far outputs are apart, each with its meaning.

A page explains the words that stand on it, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


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
