"""The rows of the calls of a program: whether all gave the same, and what they left in memory."""

from __future__ import annotations

from reports.rows.effects import KeptArray
from reports.rows.row import Row

RESIDENT_BYTES = 2**20


class OtherResult(Row):
    """A result that is not the first one: where it differs, and its leaves."""

    apart: str
    sha256: str
    leaves: tuple[KeptArray, ...] = ()  # empty beyond the first few


class CallResults(Row):
    """The results of all calls of a program on one side, compared bit by bit.

    The calls are, in order, the first one of the jitted function, the call of the compiled stage,
    each timed call, and one that follows them. `pattern` has for each the number of its result: 0
    for the first result, n for the n-th of `others`.
    """

    pattern: tuple[int, ...]
    others: tuple[OtherResult, ...] = ()


class Growth(Row):
    """What a timed call left in memory when its result was gone: medians over the calls."""

    calls: int
    arrays: int  # on devices
    bytes: int  # of these arrays
    resident: int | None = None  # bytes of host memory; None where there were too few calls

    @property
    def grows_on_devices(self) -> bool:
        """Whether each call leaves arrays."""
        return self.arrays > 0

    @property
    def grows_on_host(self) -> bool:
        """Whether each call leaves more host memory than an allocator keeps for itself."""
        return self.resident is not None and self.resident >= RESIDENT_BYTES
