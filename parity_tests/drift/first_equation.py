"""Find the first equation whose results differ, where both sides return every result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.values import Value
from parity_tests.processes.protocol import EquationValue, EquationValues


@dataclass(frozen=True)
class FirstDifference:
    """The first equation whose results differ on two sides; `said` describes it in words."""

    said: str
    equation: EquationValue | None = None
    written: str = ""  # how the two sides write that equation, where they write it differently
    misfit: bool = False  # the other side has another equation in its place, or none
    beyond_rounding: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether an equation that both sides have gives them other bits."""
        return self.equation is not None and not self.misfit


def first_difference(
    left: EquationValues,
    right: EquationValues,
    left_arrays: Sequence[Value],
    right_arrays: Sequence[Value],
    among: str = "with every result an output",
) -> FirstDifference:
    """Return the first equation whose results are not bitwise equal on two sides, in order.

    `among` says in words which results these are. One side may write more equations than the other,
    for operands that the other lacks. Equations are compared as long as they correspond in
    primitive, line and types.
    """
    for a, b in zip(left.equations, right.equations, strict=False):
        if _kind(a) != _kind(b):
            return FirstDifference(
                f"the two sides have the same equations only up to {named(a)} on the one and "
                f"{named(b)} on the other",
                b,
                misfit=True,
            )
        for i, j in zip(a.saved, b.saved, strict=True):
            one, two = left_arrays[i].array, right_arrays[j].array
            if (one.shape, one.dtype) != (two.shape, two.dtype):
                return FirstDifference(
                    f"the results of {named(a)} have other types on the other side", b, misfit=True
                )
            leaf = tolerance_ladder.compare("", one, two)
            if leaf.rung != "bitwise":
                apart = f"max rel {leaf.max_rel:.2g}"
                if leaf.max_ulp is not None:
                    apart += f", {leaf.max_ulp} ULP"
                written = f"{a.written} against {b.written}" if a.written != b.written else ""
                return FirstDifference(
                    f"{among}, the first that differs is that of {named(a)} ({apart})",
                    a,
                    written,
                    beyond_rounding=leaf.rung == "mismatch",
                )
    longer, shorter = sorted((left.equations, right.equations), key=len, reverse=True)
    if len(longer) > len(shorter):
        extra = longer[len(shorter)]
        return FirstDifference(f"one side alone has {named(extra)}", extra, misfit=True)
    left_out = left.left_out + right.left_out
    more = f" ({left_out} results were too large to be kept)" if left_out else ""
    return FirstDifference(f"the outputs differ, and no result of an equation does{more}")


def _kind(equation: EquationValue) -> tuple[str, str, int, int]:
    return equation.primitive, equation.file, equation.line, len(equation.saved)


def named(equation: EquationValue) -> str:
    """Name an equation by its primitive and its position: "dot_general, equation 3"."""
    position = ".".join(map(str, equation.position))
    return f"{equation.primitive}, equation {position}"
