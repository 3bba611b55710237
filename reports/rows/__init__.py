"""The records of a report, whose JSON is the one truth.

`campaign.py` is the root and explains them; `metrics.py` declares every metric that they hold.
"""

from reports.rows.campaign import (
    SCHEMA_VERSION,
    Campaign,
)
from reports.rows.comparison import (
    TIME_METRICS,
    Comparison,
    ComparisonOutcome,
    Growth,
    LeafComparison,
    Rung,
    TimeComparison,
    TimeMetric,
    TimeSamples,
    TimeVerdict,
)
from reports.rows.flip import (
    FLIP_OUTCOMES,
    DriftAttribution,
    DriftCause,
    FlipOutcome,
    FlipReason,
    FlipVerdict,
    Hazard,
    HazardKind,
    ReasonKind,
    TooLate,
)
from reports.rows.headline import (
    ANSWER_OF,
    FLIP_ANSWERS,
    FlipAnswer,
    Headline,
    agreement_of,
    answer_of,
    worst_first,
)
from reports.rows.observation import (
    ArgumentLeaf,
    CallAsWritten,
    CapturedArray,
    Check,
    ExecutableCounts,
    Failure,
    Fate,
    HostMemory,
    JaxprCounts,
    KeptText,
    MeasuredWith,
    MemoryStats,
    MovedArray,
    Numbers,
    Observation,
    OutputLeaf,
    ProgramNumber,
    ProgramTexts,
    Proof,
    StableHloCounts,
    StageTimes,
)
from reports.rows.program_row import (
    VERDICTS,
    Environment,
    NamedProgram,
    ProgramRow,
    Verdict,
)
from reports.rows.row import (
    SIDES,
    Row,
    Side,
    is_ours,
    now,
)
