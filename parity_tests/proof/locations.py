"""Places in the user's code, from the locations of an MLIR module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from parity_tests.jaxpr.source_places import NOWHERE, Place, kind_of_file, relative


def place_of_locations(locations: Sequence[Any]) -> Place:
    """Return the innermost line of the user's own code, or `NOWHERE`.

    `locations` are those of an operation and of the calls around it, innermost first: JAX leaves
    the lines out of functions that it lowers once for several calls. A line of a library that is
    installed beside JAX comes last.

    Example::

        place_of_locations(step.source).line == 12
    """
    library = NOWHERE
    for location in locations:
        for file, line, function in _frames(location, ""):
            kind = kind_of_file(file)
            if kind == "user":
                return Place(relative(file), line, function)
            if kind == "library" and library is NOWHERE:
                library = Place(relative(file), line, function)
    return library


def _frames(location: Any, name: str) -> Iterator[tuple[str, int, str]]:
    """Yield the file, the line and the function of each frame, innermost first."""
    kind = type(location).__name__
    if kind == "FileLineColLoc":
        yield location.filename, location.start_line, name
    elif kind == "NameLoc":
        yield from _frames(location.child_loc, location.name_str)
    elif kind == "CallSiteLoc":
        yield from _frames(location.callee, name)
        yield from _frames(location.caller, name)
    elif kind == "FusedLoc":
        for each in location.locations:
            yield from _frames(each, name)
