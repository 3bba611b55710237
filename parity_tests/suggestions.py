"""Suggestions: what was probably meant by a name that is not there, for an error message."""

from __future__ import annotations

import difflib
import pkgutil
import sys
from collections.abc import Iterable
from pathlib import Path

from parity_tests.marked_programs import programs_in

_CORPUS = Path(__file__).parent / "corpus"


def close(name: str, candidates: Iterable[str]) -> str:
    """Suggest the candidates that are spelt like a name; "" where none is.

    Example::

        close("frist", ["first", "second"]) == "; did you mean first?"
    """
    names = [candidate for candidate in candidates if not candidate.startswith("__")]
    return did_you_mean(difflib.get_close_matches(name, names, n=3, cutoff=0.6))


def did_you_mean(meant: Iterable[str]) -> str:
    """Suggest the first few of what may be meant; "" where there is nothing."""
    few = list(meant)[:3]
    return f"; did you mean {' or '.join(few)}?" if few else ""


def programs_here(name: str) -> str:
    """Suggest programs of the working directory or the corpus with a name like this, or modules.

    The other modules that Python could import are no guess at what was meant.
    """
    here = Path()
    files = sorted(here.glob("*.py"))
    programs = [f"{file}:{each}" for file in files for each in programs_in(file)]
    programs += [
        f"parity_tests.corpus.{file.stem}:{each}"
        for file in sorted(_CORPUS.glob("*.py"))
        for each in programs_in(file)
    ]
    by_name: dict[str, list[str]] = {}
    for each in programs:
        by_name.setdefault(each.rpartition(":")[2], []).append(each)
    alike = difflib.get_close_matches(name, by_name, n=3, cutoff=0.6)
    if alike:
        return did_you_mean(each for found in alike for each in by_name[found])
    packages = sorted(each.parent.name for each in here.glob("*/__init__.py"))
    return close(name, [*packages, *(file.stem for file in files)])


def modules_below(parent: str) -> list[str]:
    """Return the names of the modules of an imported package."""
    paths = sys.modules[parent].__path__ if parent in sys.modules else ()
    return [info.name for info in pkgutil.iter_modules(paths)]
