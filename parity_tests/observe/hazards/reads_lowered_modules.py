"""Hazard: code that reads a lowered module or a compiled program, or calls its executable itself.

Legacy has captured arrays as constants there, simplified as arguments of the main function.
Look-alikes: a module whose function captures nothing, and calls of a compiled stage, which passes
captured arrays by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.observe.hazards.both_forms import BothForms, read_at
from reports.rows import Hazard
from reports.views.texts import counted

NAME = "a lowered module or compiled program"


def find(both: BothForms) -> Iterator[Hazard]:
    """Find the lines that read a module in which captured arrays are."""
    for told in both.told():
        if told.site.subject == "module":
            arrays = counted(told.after.count, "captured array")
            are = "is a constant" if told.after.count == 1 else "are constants"
            yield read_at(
                "reads lowered modules",
                told,
                NAME,
                f"{arrays} {are} there in legacy, and passed to its main function in simplified",
                advice("module"),
                decides=True,
            )
