"""The rule of the flip verdict for a program that writes into an array that it captured."""

from __future__ import annotations

from collections.abc import Sequence

from parity_tests.advice import advice
from parity_tests.judge.across_flip import AcrossFlip, lines_of
from reports.rows import Comparison, FlipReason, Hazard
from reports.rows.check_names import AGREE
from reports.views.ledger import listed, place

# What a write decides: the results of the first call, and those of the later ones.
OF_VALUES = ("outputs", AGREE)


def of_written(flip: AcrossFlip, comparison: Comparison) -> FlipReason:
    """Return the reason for other values where a captured NumPy array was written to.

    Example::

        of_written(flip, outputs).action.startswith("capture a copy")
    """
    hazard = flip.hazard("writeable NumPy array")
    is_outputs = comparison.metric == "outputs"
    said = "outputs are different in their values" if is_outputs else comparison.metric
    return FlipReason(
        outcome="different",
        kind="outputs" if is_outputs else "structure or count",
        subject=comparison.metric,
        what=f"{said}: {comparison.detail}; a captured array holds other values after the "
        "calls than before: the program writes to it, and stock simplified on a CPU computes with "
        "the new ones",
        where=_where(flip, hazard or ()),
        action=hazard[0].fix if hazard else advice("capture a copy"),
    )


def _where(flip: AcrossFlip, hazards: Sequence[Hazard]) -> str:
    """Return the lines of the arrays, in the words of the hazard where it is about the same."""
    lines = {(each.file, each.line) for each in flip.written}
    if {(each.file, each.line) for each in hazards} == lines:
        return lines_of(hazards)
    return listed([place(*each) for each in sorted(lines)])
