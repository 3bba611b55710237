"""Describe a program that a suite ran: what it is, where it stands, and what it captured."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from engine.ir.jaxprs import bodies_in
from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.jaxpr.source_places import relative
from reports.rows.suite import SuiteArray, SuiteProgram
from reports.views.texts import type_of

_WHERE = re.compile(r"^(?P<name>.*) at (?P<file>.*):(?P<line>\d+)$", re.DOTALL)


def describe(closed: Any, name: str, *, one_executable: bool = False) -> SuiteProgram:
    """Return the row of a program that is about to run, of which nothing is known yet."""
    source = source_of(closed)
    arguments = tuple(aval.str_short() for aval in closed.in_avals)
    equations = sum(len(body.eqns) for body in bodies_in(closed))
    captured = captured_arrays(closed)
    total = sum(each.bytes for each in captured)
    told_by = (name, source, *arguments, str(equations), str(len(captured)), str(total))
    return SuiteProgram(
        identity=hashlib.sha256("\n".join(told_by).encode()).hexdigest()[:16],
        name=name,
        source=source,
        arguments=arguments,
        equations=equations,
        captured=len(captured),
        captured_bytes=total,
        one_executable=one_executable,
        rung=None,
    )


def source_of(closed_jaxpr: Any) -> str:
    """Return "file:line" of the function that a closed_jaxpr was traced from; "" if JAX forgot."""
    said = getattr(closed_jaxpr.jaxpr.debug_info, "func_src_info", "") or ""
    found = _WHERE.match(said)
    return f"{relative(found['file'])}:{found['line']}" if found else ""


def captured_arrays(closed_jaxpr: Any) -> tuple[SuiteArray, ...]:
    """Return the arrays that a program captured, largest first, with the lines that use them."""
    rows = [
        SuiteArray(
            file=use.place.file,
            line=use.place.line,
            function=use.place.function,
            aval=type_of(use.array.value),
            bytes=use.array.bytes,
            uses=use.uses,
        )
        for use in captured_uses(closed_jaxpr)
    ]
    return tuple(sorted(rows, key=lambda row: -row.bytes))
