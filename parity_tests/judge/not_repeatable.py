"""The finding that a program does not repeat itself, and which differences it explains."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from reports.rows import Comparison, Side

# A metric, with the path of the output leaf where it is "outputs".
Difference = tuple[str, str]

FAILURE: Difference = ("failure", "")


@dataclass(frozen=True)
class NotRepeatable:
    """One side of a program gives other results when it is run again.

    `what` says what changed from run to run, `where` on which lines, `action` how to keep it from
    changing. `explained` has the differences between sides that are as large between runs of one
    side. With `is_ours` they explain nothing: the side is ours, and stock JAX of its mode repeats
    itself, so our pipeline is at fault. `trace` is the printed jaxpr of one run where the traced
    program changed, else "", and `calls_python` says that outputs alone changed, of a program with
    callbacks.
    """

    side: Side
    what: str
    where: str = ""
    action: str = ""
    explained: frozenset[Difference] = field(default_factory=frozenset)
    trace: str = ""
    calls_python: bool = False
    is_ours: bool = False

    def explains(self, comparison: Comparison, checks: Collection[str]) -> bool:
        """Say whether two sides differ here as runs of one side do.

        `checks` are the names of the checks of a side: a program that is another at every trace may
        fail them, and nothing says why.
        """
        if FAILURE in self.explained or comparison.metric in checks:
            return True
        if comparison.metric == "outputs" and not comparison.leaves:
            return False  # a side failed, or the types differ: the values were not compared
        paths = [leaf.path for leaf in comparison.leaves if leaf.rung == "mismatch"] or [""]
        return all((comparison.metric, path) in self.explained for path in paths)
