"""The rows of the calls of a program: their effects, whether all gave the same, what they left."""

from __future__ import annotations

from reports.rows.row import Row


class KeptArray(Row):
    """The values of an array that is kept in a report, all of them or every `step`-th.

    `data` are the bytes, compressed and in base64; `kept` is the number of elements in them.
    """

    dtype: str
    shape: tuple[int, ...]
    kept: int
    step: int = 1
    data: str


class Effect(Row):
    """A Python function that a program calls back, or a line that it prints: one call of a program.

    Calls with arguments of other types are a row of their own. `arguments` has one array for each
    argument, with the calls along its first axis: in the order of the calls for an ordered effect,
    sorted by value for another. `sha256` is of all calls, `arguments` are of the first ones.
    """

    kind: str  # the primitive: "io_callback", "pure_callback", "debug_callback", "debug_print"
    function: str  # its name, or what is printed
    place: str  # file:line of the function, or of the line that prints; "" where it is not known
    ordered: bool
    types: tuple[str, ...]  # of the arguments
    static: str = ""  # arguments that are no arrays, as text
    calls: int  # in the first call of the jitted function
    calls_of_compiled: int  # in the call of the compiled stage
    later: tuple[int, ...] = ()  # in each timed call, whatever the types of the arguments
    sha256: str
    sha256_of_compiled: str
    arguments: tuple[KeptArray, ...] = ()
    text: tuple[str, ...] = ()  # the first lines that were printed


class Effects(Row):
    """The effects of one program on one side.

    The orders are of ordered effects, in the order of their calls, as text. JAX orders input and
    output among themselves, and debugging among itself.
    """

    found: tuple[Effect, ...] = ()
    io_order: str = ""
    debug_order: str = ""


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
