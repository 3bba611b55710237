"""The rows a report is made of: what was observed, how it compared, and the verdict.

Everything that a report prints comes from here, and the JSON report is these records as they are,
written by `reports.output.json.render`, so JSON is the one truth and the pages are views of it.
Sizes are in bytes, times in seconds. A field that is None was not measured; it never means zero.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 2

Side = Literal["legacy", "simplified", "jax-legacy", "jax-simplified"]
SIDES: tuple[Side, ...] = ("legacy", "simplified", "jax-legacy", "jax-simplified")

Verdict = Literal["parity", "difference", "could not compare"]


class Row(BaseModel):
    """A frozen record: unknown fields are refused, so that a typo never loses a value."""

    # JSON has no infinities and no NaN: as strings they read back, as pydantic's null they do not.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class Environment(Row):
    """What the numbers were measured with; figures from unequal environments do not compare."""

    constparity: str
    python: str
    jax: str
    jaxlib: str
    numpy: str
    backend: str
    device_kind: str
    device_count: int
    cpu_count: int
    system: str


class Proof(Row):
    """Evidence of the side that was really in force, counted in what that side produced."""

    array_literals: int  # Literals above the embed threshold, in the jaxpr and in all its bodies
    constvars: int  # constvars, in the jaxpr and in all its bodies
    const_args: int  # arguments of the lowered main function that carry a constant
    unique_captured: int  # captured arrays above the embed threshold, unique by identity
    inlined_constant_bytes: int  # non-scalar stablehlo.constant above the embed threshold
    holds: bool  # False: the evidence contradicts the side, and the observation is an error
    statement: str  # the evidence in one sentence


class JaxprCounts(Row):
    """Counts over the jaxpr and all its bodies."""

    equations: int
    captured_arrays: int
    captured_bytes: int
    captured_values: str | None = None  # a sha256 over what the captured arrays hold
    committed_arrays: int | None = None  # captured arrays that are committed to one device
    sharded_arrays: int | None = None  # captured arrays over several devices


class StableHloCounts(Row):
    """Counts over the lowered module."""

    text_bytes: int
    bytecode_bytes: int | None = None
    operations: int
    functions: int
    constants: int
    constant_bytes: int  # all of stablehlo.constant, scalars included
    operations_by_name: dict[str, int]
    main_order: str | None = None  # the kinds of main's arguments, "token, const, argument"
    argument_types: str | None = None  # of those of main's arguments that are the user's
    callbacks: int | None = None  # calls into Python
    marks_lost: int | None = None  # operands marked jax.const by the caller, not by the callee


class ExecutableCounts(Row):
    """Counts over the optimised HLO, and the executable."""

    instructions: int
    fusions: int
    constants: int  # with more than one element
    constant_bytes: int
    serialized_bytes: int | None
    devices: int = 1  # of this process, that it runs on


class HostMemory(Row):
    """Peak resident memory of the process in a stage, in bytes above what was resident before.

    Where the process ran other programs before, memory that these left behind is taken again
    unseen: `fresh` says that it did not.
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


class StageTimes(Row):
    """Seconds of each stage, reported and never judged.

    One sample of one process each; `call` is the median of `call_samples` calls after the first,
    `dispatch` that of the time until such a call returns, its results not yet there.
    `cached_compile` is compiling where JAX's persistent compilation cache has the program.
    """

    trace: float
    lower: float
    compile: float
    first_call: float
    call: float | None
    dispatch: float | None = None
    call_samples: int
    cached_compile: float | None = None


class OutputLeaf(Row):
    """One leaf of the result; the values themselves stay out of the report."""

    path: str
    shape: tuple[int, ...]
    dtype: str
    weak_type: bool
    sha256: str
    sharding: str | None = None  # the devices, and what each holds
    committed: bool | None = None  # None: no array of JAX


class Check(Row):
    """Something that a side was held to by itself, beside being compared."""

    name: str
    holds: bool
    statement: str  # what was found, in one sentence


# What a side made of a captured array. "embedded" is inlined at or below the embed threshold,
# "folded" inlined at first and gone when XLA was done (no constant of as many elements is left in
# the optimised HLO, or else it is said to be inlined); an array is "unused" where dead code alone
# reads it, and "not found" where it is read and yet in no const arg and no constant.
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
    alike: int = 1  # captured arrays that `copies` are of, where their values are equal or unread
    note: str = ""


HazardKind = Literal[
    "writeable NumPy array",
    "captured and donated",
    "incompatible devices",
    "placement of outputs",
    "hoisted more than once",
    "folded by legacy alone",
]


class Hazard(Row):
    """Something that may change for a program when JAX's default flips, and the smallest fix."""

    kind: HazardKind
    file: str  # the line that the captured array is first used on; "" where it is not known
    line: int
    array: str  # its type in words
    what: str
    fix: str


class Failure(Row):
    """How a side failed: an exception, a crash of its process, or its limit of time or memory."""

    kind: Literal["exception", "crash", "timeout", "memory", "wrong side", "unavailable"]
    stage: str
    type: str
    message: str
    traceback: str = ""


class Observation(Row):
    """One program on one side. `failure` is set or the measurements are, never both."""

    program: str
    side: Side
    failure: Failure | None = None
    proof: Proof | None = None
    jaxpr: JaxprCounts | None = None
    stablehlo: StableHloCounts | None = None
    executable: ExecutableCounts | None = None
    memory: MemoryStats | None = None
    # Bytes of the device buffers, each once, that hold captured arrays and const args after a call
    # of the compiled stage. Constants within an executable are in `executable.constant_bytes`.
    constant_buffers: int | None = None
    host_memory: HostMemory | None = None
    # Compilations, 0 or 1, for other values in the captured arrays, where JAX's persistent
    # compilation cache has the program.
    recompiles: int | None = None
    times: StageTimes | None = None
    outputs: tuple[OutputLeaf, ...] = ()
    tree: str | None = None
    ledger: tuple[CapturedArray, ...] = ()
    checks: tuple[Check, ...] = ()


Rung = Literal["bitwise", "ulp", "tolerance", "arbiter", "mismatch"]


class LeafComparison(Row):
    """One output leaf on two sides; `rung` is the strictest rung that it stands on."""

    path: str
    rung: Rung
    max_abs: float
    max_rel: float
    max_ulp: int | None
    mismatch_share: float
    first_index: tuple[int, ...] | None
    passing_rtol: float | None  # the relative tolerance that would have passed
    note: str = ""


ComparisonOutcome = Literal[
    "equal", "expected difference", "different", "not compared", "not judged"
]


class Comparison(Row):
    """One metric on two sides."""

    metric: str
    left: Side
    right: Side
    outcome: ComparisonOutcome
    left_value: str
    right_value: str
    detail: str = ""
    leaves: tuple[LeafComparison, ...] = ()


TimeMetric = Literal[
    "trace", "lower", "compile", "cached compile", "first call", "call", "dispatch"
]
TIME_METRICS: tuple[TimeMetric, ...] = get_args(TimeMetric)
TimeVerdict = Literal["faster", "slower", "equivalent", "inconclusive", "not measured"]


class TimeSamples(Row):
    """The times of one stage of a program on a side: one sample of each process, in order."""

    side: Side
    metric: TimeMetric
    seconds: tuple[float, ...]


class TimeComparison(Row):
    """The times of one stage on two sides; a ratio above 1 says that `right` takes longer."""

    metric: TimeMetric
    left: Side
    right: Side
    verdict: TimeVerdict
    ratio: float  # of the medians
    low: float | None  # the bootstrap interval of the ratio
    high: float | None
    p_value: float | None  # Mann-Whitney, corrected over the programs
    margin: float  # what a side is away from itself, as a ratio less 1
    samples: tuple[int, int]


DriftCause = Literal["constant folding", "layout or fusion", "a bug", "not attributed"]


class DriftAttribution(Row):
    """Why the outputs of two sides are not bitwise equal, found by running both sides again.

    `equation` is the first one whose result differs when every result is an output of the program,
    with the line of the user's that made it; it is "" where none does, or none was found.
    """

    left: Side
    right: Side
    cause: DriftCause
    evidence: str
    equation: str = ""  # the primitive, and the number of the equation: "dot_general, equation 3"
    file: str = ""
    line: int = 0


FlipOutcome = Literal[
    "safe",
    "safe but slower or larger",
    "numerics drift, explained",
    "different",
    "could not compare",
]
FLIP_OUTCOMES: tuple[FlipOutcome, ...] = get_args(FlipOutcome)  # from the best to the worst


class FlipReason(Row):
    """One thing that was seen across the flip; alone it would come to `outcome`."""

    outcome: FlipOutcome
    what: str
    where: str = ""  # the lines that the captured arrays are first used on, "model.py:12"
    action: str = ""  # the smallest that helps; "" where nothing needs to be done


class FlipVerdict(Row):
    """What a flip of the default comes to for one program, the worst reason first.

    "safe" says that nothing that was measured differs for the worse; what was not measured, and
    what may differ in another run, is in the reasons.
    """

    left: Side
    right: Side
    outcome: FlipOutcome
    reasons: tuple[FlipReason, ...]


class ProgramRow(Row):
    """All that is known of one program."""

    name: str
    source: str  # file:line, relative to the working directory where it lies below it
    target: str = ""  # what loads it again; "" in reports of before this was written
    digest: str = ""  # SHA-256 of the file of `source`
    summary: str
    verdict: Verdict
    reasons: tuple[str, ...]
    observations: tuple[Observation, ...]
    comparisons: tuple[Comparison, ...]
    time_samples: tuple[TimeSamples, ...] = ()
    times: tuple[TimeComparison, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    drift: tuple[DriftAttribution, ...] = ()  # none where it was not asked for, or none is there
    flip: FlipVerdict | None = None  # None: no two sides across the flip were to be compared


class Campaign(Row):
    """One run of the tester: the root of a report."""

    schema_version: int = SCHEMA_VERSION
    created: str  # ISO 8601, UTC
    environment: Environment
    sides: tuple[Side, ...]
    programs: tuple[ProgramRow, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the programs; a campaign over nothing could not compare."""
        verdicts = {row.verdict for row in self.programs}
        if "difference" in verdicts:
            return "difference"
        if "could not compare" in verdicts or not verdicts:
            return "could not compare"
        return "parity"
