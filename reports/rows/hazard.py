"""Hazards: what may change for a program when JAX's default flips.

A kind of hazard has a name in `HazardKind`, and traits in `TRAITS` by which the flip verdict goes.
What else a new kind needs is listed in `parity_tests/observe/hazards/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reports.rows.row import Row

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


@dataclass(frozen=True)
class Traits:
    """What the rules of the flip verdict have to know of a kind of hazard."""

    reads: str = ""  # what its code reads; "" where it is about captured arrays
    only_costs: bool = False  # it breaks no program
    # The failures after the flip that are laid to it.
    explains: Literal["", "forbidden transfers", "other failures"] = ""


TRAITS: Mapping[HazardKind, Traits] = {
    "writeable NumPy array": Traits(),
    "captured and donated": Traits(explains="other failures"),
    "incompatible devices": Traits(explains="other failures"),
    "implicit transfer": Traits(explains="forbidden transfers"),
    "placement of outputs": Traits(),
    "hoisted more than once": Traits(only_costs=True),
    "folded by legacy alone": Traits(only_costs=True),
    "reads jaxpr constants": Traits(reads="a jaxpr"),
    "reads the flag": Traits(reads="the flag"),
    "reads lowered modules": Traits(reads="a lowered module"),
    "hands on the environment": Traits(reads="the environment"),
}
READS: tuple[HazardKind, ...] = tuple(kind for kind, each in TRAITS.items() if each.reads)


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
