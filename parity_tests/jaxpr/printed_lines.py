"""The user's line for each line of a printed jaxpr."""

from __future__ import annotations

import re
from typing import Any

from parity_tests.jaxpr.source_places import relative

# JAX writes it behind the first line of an equation: "# /home/me/model.py:12:4 (step)".
_SOURCE = re.compile(r" # (?P<file>[^#]+?):(?P<line>\d+)(:\d+)? \([^#]*\)$")


def lines_of(closed: Any) -> tuple[str, ...]:
    """Return "model.py:12" for each line of `str(closed)`; "" where JAX names no line.

    Lines of an equation after its first have the line of the first.

    Example::

        lines_of(jax.make_jaxpr(f)(x))[1] == "model.py:12"
    """
    found, current = [], ""
    for printed in closed.jaxpr.pretty_print(source_info=True).splitlines():
        source = _SOURCE.search(printed)
        if source is not None:
            current = f"{relative(source['file'])}:{source['line']}"
        found.append(current)
    return tuple(found)
