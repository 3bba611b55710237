"""The rows of one observation: what one side made of one program.

Sizes are in bytes, times in seconds. A field that is None was not measured; it never means zero.
"""

from __future__ import annotations

import base64
import zlib
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from reports.rows.calls import CallResults, Effects, Growth, KeptArray
from reports.rows.row import Row, Side


class MeasuredWith(Row):
    """What the process of a side ran on, told by that process itself."""

    python: str
    jax: str
    jaxlib: str
    backend: str


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


MOST_CHARACTERS = 100_000


class KeptText(Row):
    """A text, compressed: `data` is base64 of zlib of UTF-8.

    `cut` is the number of lines that the text had more, beyond the first 100,000 characters.

    Example::

        >>> KeptText.of("lambda a. let\\n  b = mul a a").text
        'lambda a. let\\n  b = mul a a'
    """

    data: str
    cut: int = 0

    @classmethod
    def of(cls, text: str) -> KeptText:
        """Keep a text, up to the last whole line within the first 100,000 characters.

        Example::

            >>> KeptText.of("a\\n" * 60_000).cut
            10000
        """
        kept = text
        if len(text) > MOST_CHARACTERS:
            whole_lines, line_break, _ = text[:MOST_CHARACTERS].rpartition("\n")
            # One line may be longer than all that is kept.
            kept = whole_lines + line_break or text[:MOST_CHARACTERS]
        cut = text.count("\n", len(kept)) + (not text.endswith("\n") and len(kept) < len(text))
        # Lone surrogates come from file names, which a printed jaxpr may hold.
        packed = zlib.compress(kept.encode("utf-8", "backslashreplace"), 9)
        return cls(data=base64.b64encode(packed).decode("ascii"), cut=cut)

    @property
    def text(self) -> str:
        """The text that was kept.

        Raises `ValueError` where `data` is damaged or larger than any text that is kept.
        """
        unpacker = zlib.decompressobj()
        try:
            packed = base64.b64decode(self.data, validate=True)
            # A character takes at most 10 bytes: "\\U0001f600" is the longest escape.
            content = unpacker.decompress(packed, 10 * MOST_CHARACTERS)
        except zlib.error as error:
            raise ValueError(f"the text is damaged: {error}") from error
        if not unpacker.eof:
            raise ValueError("the text is damaged: it is larger than any text that is kept")
        return content.decode("utf-8")


class ProgramTexts(Row):
    """The printed forms of a program on one side, large constants elided."""

    jaxpr: KeptText
    stablehlo: KeptText


class Proof(Row):
    """Evidence of the side that was really in force, counted in the results of each stage."""

    array_literals: int  # Literals above the embed threshold, in the jaxpr and in all its bodies
    constvars: int  # constvars, in the jaxpr and in all its bodies
    const_args: int  # arguments of the lowered main function that carry a constant
    unique_captured: int  # captured arrays above the embed threshold, unique by identity
    inlined_constant_bytes: int  # non-scalar stablehlo.constant above the embed threshold
    holds: bool  # False: the evidence contradicts the side, and the observation is an error
    statement: str  # the evidence in one sentence


class MovedArray(Row):
    """The result of converting or moving captured arrays alone, which legacy folds."""

    what: str  # "`convert_element_type` of bf16[64,64] to f32[64,64]"
    bytes: int
    file: str  # "" where the place is not known
    line: int


class JaxprCounts(Row):
    """Counts over the jaxpr and all its bodies."""

    equations: int
    captured_arrays: int
    captured_bytes: int
    captured_values: str | None = None  # a sha256 over the values of the captured arrays
    committed_arrays: int | None = None  # captured arrays that are committed to one device
    sharded_arrays: int | None = None  # captured arrays over several devices
    # Equations that compute, by primitive, without dead code and moves of elements; and the scalar
    # operations of one call, estimated by their shapes.
    working_equations: dict[str, int] | None = None
    operations: int | None = None
    # Equations that repeat a captured array along a new axis, as vmap does with operands of bodies.
    captured_repeated: int | None = None
    donated_types: int | None = None  # captured arrays of the type of a donated argument
    moved: MovedArray | None = None  # the largest; None in reports older than this field, too


# Operations that move, select or repeat elements, that order others, or hold a module together.
_MOVING = frozenset(
    {
        "bitcast_convert", "broadcast_in_dim", "case", "concatenate", "constant", "convert",
        "dynamic_slice", "dynamic_update_slice", "gather", "get_tuple_element", "if", "imag",
        "iota", "optimization_barrier", "pad", "real", "reshape", "return", "reverse", "select",
        "slice", "transpose", "tuple", "while",
    }
)  # fmt: skip


class StableHloCounts(Row):
    """Counts over the lowered module."""

    text_bytes: int
    bytecode_bytes: int | None = None
    operations: int
    functions: int
    constants: int
    constant_bytes: int  # all of stablehlo.constant, scalars included
    operations_by_name: dict[str, int]
    # Those that return arrays, those of a function once for each call of it.
    array_operations: dict[str, int] | None = None
    main_order: str | None = None  # the kinds of main's arguments, "token, const, argument"
    argument_types: str | None = None  # of the user's arguments of main, and donations
    callbacks: int | None = None  # calls into Python
    marks_lost: int | None = None  # operands marked jax.const by the caller, not by the callee
    inlined: tuple[str, ...] = ()  # the sha256 of constants above the embed threshold, not of all

    @property
    def working_operations(self) -> dict[str, int] | None:
        """The operations that compute, by name; None where they were not counted.

        They return arrays, and those of a function count once for each call of it. Loops and
        branches are left out, and operations of other dialects, which tell of shardings and
        functions.
        """
        if self.array_operations is None:
            return None
        names = {
            name.removeprefix("stablehlo."): count
            for name, count in self.array_operations.items()
            if name.startswith("stablehlo.")
        }
        return {name: count for name, count in names.items() if name not in _MOVING}


class ProgramNumber(Row):
    """A jaxpr or a module by value numbering: its digest, and how much that covers.

    Equal digests are one computation, in any process and on any machine (docs/trust/proof.md).
    """

    digest: str = ""  # "" where it is undecided
    # With calls that are not expanded; "" where the program is about as large as it is written.
    by_calls: str = ""
    undecided: str = ""  # what has no rule, by its name
    not_lowered: bool = False  # of a module: JAX cannot lower it, and `undecided` says why
    # Of a module for another platform than that of the process: the trace read the backend, so the
    # program may be another one there.
    traced_for_here: bool = False
    operations: int = 0
    constants: int = 0
    bodies: int = 0
    effects: int = 0
    callbacks: int = 0  # calls of Python functions, of which the digest has the places alone
    functions: str = ""  # the number of these functions; "" where it is not known
    writers: int = 0  # calls of Python functions that may write to a NumPy array
    # Of a jaxpr: it calls functions that are neither Python's nor JAX's, as by `jax.ffi`.
    is_native: bool = False


class Numbers(Row):
    """A program by value numbering: its jaxpr, and its modules by the platform they are for.

    The platform of this process is "". `is_one_jit` is False where its user calls more than the one
    jitted function that was traced; `calls_may_differ` says that a call as written may do something
    else than one of the traced program.
    """

    jaxpr: ProgramNumber
    types: str = ""  # of the arguments and the results, and the tree of these as it is printed
    tree: str = ""  # the digest of that tree with the functions and objects that it holds
    tree_undecided: str = ""  # what in the tree has no rule
    modules: dict[str, ProgramNumber] = Field(default_factory=dict)
    placement: str = ""  # the digest of its devices and of where its captured arrays lie
    is_one_jit: bool = True
    calls_may_differ: bool = False


class ExecutableCounts(Row):
    """Counts over the optimised HLO, and the executable."""

    instructions: int
    fusions: int
    constants: int  # with more than one element
    constant_bytes: int
    serialized_bytes: int | None
    devices: int = 1  # of this process, that it runs on
    flops: int | None = None  # XLA's count for one call, special functions counted as one
    digest: str = ""  # of the optimised module as it is printed, but for metadata and names
    # The number of the optimised module modulo constants (docs/trust/proof.md); "" is not known.
    program: str = ""


class HostMemory(Row):
    """Peak resident memory of the process in a stage, in bytes above what was resident before.

    `fresh` says that the process ran no other program before. Otherwise it may reuse memory that
    other programs left behind, which does not show in the peak.
    """

    trace_and_lower: int
    compile: int
    fresh: bool


class MemoryStats(Row):
    """XLA's own analysis of the compiled program, in bytes."""

    arguments: int
    outputs: int
    temporaries: int
    aliased: int
    generated_code: int


# A process that traces, lowers and compiles a program for longer, in seconds, is not run again
# where nothing depends on it.
LONG_STAGING = 10.0


# Ten nanoseconds are finer than the clock's own cost, and short in a result.
Seconds = Annotated[float, AfterValidator(lambda seconds: round(seconds, 8))]


class StageTimes(Row):
    """Seconds of each stage.

    Each is one sample of one process, judged only where it leaves no doubt. `call` is the median of
    `call_samples` calls after the first. `dispatch` is the median time until such a call returns,
    which may be before its results are there. `cached_compile` is compiling with the program in
    JAX's persistent compilation cache. `processor` is what trace, lower and compile together took
    of the processors, and `call_processor` the least that a call takes of them; other work on the
    machine does not lengthen these.
    """

    trace: Seconds
    lower: Seconds
    compile: Seconds
    first_call: Seconds
    call: Seconds | None
    dispatch: Seconds | None = None
    call_samples: int
    cached_compile: Seconds | None = None
    call_seconds: tuple[Seconds, ...] = ()  # of each call that `call` is the median of, in order
    processor: Seconds | None = None
    call_processor: Seconds | None = None

    @property
    def staging(self) -> float:
        """The seconds of trace, lower and compile: of the clock, or less of the processors."""
        clock = self.trace + self.lower + self.compile
        return clock if self.processor is None else min(clock, self.processor)

    @property
    def is_long(self) -> bool:
        """Whether one more process would trace, lower and compile for long."""
        return self.staging > LONG_STAGING


class OutputLeaf(Row):
    """One leaf of the result; the values themselves stay out of the report."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    sha256: str
    sharding: str | None = None  # the devices, and what each holds
    committed: bool | None = None  # None: not an array of JAX


class ArgumentLeaf(Row):
    """One leaf of the example arguments, as the program was built; "" in `sha256`: not read."""

    path: str  # with the name of the parameter: "x['w']"
    shape: tuple[int | str, ...]  # "b": a symbolic size
    dtype: str
    sha256: str


class Check(Row):
    """A law that each side must keep by itself, whatever the other sides do."""

    name: str
    holds: bool
    statement: str  # the finding in one sentence
    # False: the check itself failed. `statement` says how, and `holds` says nothing.
    measured: bool = True


# What helps where a limit was exceeded, by the kind of the failure.
OF_LIMITS: dict[str, str] = {
    "timeout": "raise --timeout, or find out what takes the time; constparity prove compiles and "
    "calls nothing",
    "memory": "raise --memory-limit, or find out what takes the memory",
}


class Failure(Row):
    """How a side failed: an exception, a crash of its process, or its limit of time or memory.

    A program that is "not here" is traced and lowered, and cannot run on this machine. One whose
    captured array was "written to" since JAX had lowered it has a module of other values.
    """

    kind: Literal[
        "exception",
        "crash",
        "timeout",
        "memory",
        "wrong side",
        "written to",
        "unavailable",
        "not here",
    ]
    stage: str
    type: str
    message: str
    traceback: str = ""
    where: str = ""  # the user's line that raised, or called what did: "model.py:12"
    limit: float | None = None  # the limit that was exceeded, in seconds or bytes
    of_jax: bool = False  # JAX raised it, and no line of a user or a library is in its traceback
    # The program as it is written runs: only the jit that constparity puts around it fails.
    runs_as_written: bool = False


class CallAsWritten(Row):
    """One call of a program as its user writes it: it fails, or gives a result.

    A leaf that is no array has its Python type as `dtype`. `kept` has the values of the leaves in
    order; it is empty where an earlier call gave the same ones.
    """

    failure: Failure | None = None
    tree: str = ""
    outputs: tuple[OutputLeaf, ...] = ()
    kept: tuple[KeptArray, ...] = ()
    effects: Effects | None = None  # callbacks and prints, where there are any


class Observation(Row):
    """One program on one side; either `failure` is set or the measurements are."""

    program: str
    side: Side
    # None in reports older than this field, and where the process was lost before it told.
    measured_with: MeasuredWith | None = None
    failure: Failure | None = None
    proof: Proof | None = None  # which side was really in force
    jaxpr: JaxprCounts | None = None  # of the traced program
    stablehlo: StableHloCounts | None = None  # of the lowered module
    numbers: Numbers | None = None  # of the traced program and of the lowered module
    executable: ExecutableCounts | None = None  # of what XLA made of the module
    memory: MemoryStats | None = None  # XLA's own analysis of one call
    # Bytes of the device buffers, each once, that hold captured arrays and const args after a call
    # of the compiled stage. Constants within an executable are in `executable.constant_bytes`.
    constant_buffers: int | None = None
    host_memory: HostMemory | None = None
    # Compilations, 0 or 1, for other values in the captured arrays, where JAX's persistent
    # compilation cache has the program.
    recompiles: int | None = None
    times: StageTimes | None = None
    arguments: tuple[ArgumentLeaf, ...] = ()  # what the program was called with
    outputs: tuple[OutputLeaf, ...] = ()  # the leaves, in the order of the tree
    tree: str | None = None  # the structure of the outputs, as JAX prints it
    ledger: tuple[CapturedArray, ...] = ()  # what became of each captured array
    effects: Effects | None = None  # callbacks and prints, by what they do
    calls: CallResults | None = None  # whether the results of all calls are the same bits
    # The calls of a program as it is written, where that is not one jitted function; stock sides.
    as_written: tuple[CallAsWritten, ...] = ()
    # The types of NumPy arrays that the program refers to, and that its trace, or its calls as
    # written, write into: "float32[64]".
    written_in_trace: tuple[str, ...] = ()
    written_in_calls: tuple[str, ...] = ()
    traced_in_each_call: bool = False  # of the calls as written: jits may capture anew in each
    growth: Growth | None = None  # what timed calls left in memory; None without timed calls
    checks: tuple[Check, ...] = ()  # what the side was held to by itself
    texts: ProgramTexts | None = None  # its jaxpr and its StableHLO, as printed
    # What the program changed for its whole process, each in a sentence; the programs after it ran
    # in a new process.
    changed_process: tuple[str, ...] = ()
