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


HazardKind = Literal[
    "writeable NumPy array",
    "captured and donated",
    "incompatible devices",
    "implicit transfer",
    "placement of outputs",
    "hoisted more than once",
    "folded by legacy alone",
    "reads jaxpr constants",
    "reads the flag",
    "reads lowered modules",
    "hands on the environment",
]


class Hazard(Row):
    """Something that may change for a program when JAX's default flips, and the smallest fix."""

    kind: HazardKind
    # The line that the captured array is first used on, or that reads; "" where it is not known.
    file: str
    line: int
    array: str  # its type in words; of a read, the name of what is read
    what: str
    fix: str
    # Of a read: the traced program is another one because of it, or cannot be traced.
    changes_program: bool = False
    commits_outputs: bool = False  # of a placement: all outputs, whatever the program computes
    operations: float | None = None  # scalar operations that each call adds, estimated
    gist: str = ""  # of work: "`cumsum` and 5 more"; "" in reports older than this field
    code: str = ""  # the text of the line; "" where it is not known
