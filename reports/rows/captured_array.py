"""The rows of one captured array: what became of it, and what a flip may change for it."""

from __future__ import annotations

from typing import Literal

from reports.rows.row import Row

# What a side made of a captured array:
# "embedded": inlined, at or below the embed threshold.
# "folded": inlined, and XLA left no constant with as many elements in the optimised HLO.
# "unused": only dead code reads it.
# "not found": it is read, but no const arg and no constant holds it.
Fate = Literal["inlined", "embedded", "hoisted", "folded", "unused", "not found"]


class CapturedArray(Row):
    """One captured array on one side: where it is first used, what it is, what became of it.

    The place is the innermost line of the user's own code. Arrays are unique by identity, scalars
    are left out.
    """

    file: str  # "" where the place is not known
    line: int
    function: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    sharding: str  # "" for a NumPy array
    sha256: str  # of its bytes; "" where they are many or on other hosts
    uses: int  # equations and outputs that read it, those in bodies included
    fate: Fate
    copies: int  # const args, or constants in the StableHLO module
    alike: int = 1  # captured arrays that share `copies`: their values are equal or unread
    note: str = ""
    written: bool = False  # it holds other values after the calls than before them
    code: str = ""  # the text of the line; "" where it is not known
