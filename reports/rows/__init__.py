"""The records of a report, whose JSON is the one truth.

`campaign.py` is the root and explains them; `metrics.py` declares every metric that they hold.
"""

from reports.rows.campaign import (
    SCHEMA_VERSION,
    Campaign,
)
from reports.rows.captured_array import CapturedArray, Fate
from reports.rows.comparison import (
    TIME_METRICS,
    Comparison,
    ComparisonOutcome,
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
    ReasonKind,
    TooLate,
)
from reports.rows.hazard import Hazard, HazardKind
from reports.rows.headline import (
    ANSWER_OF,
    FLIP_ANSWERS,
    FlipAnswer,
    Headline,
    agreement_of,
    answer_of,
    worst_first,
)
from reports.rows.kept_text import (
    KeptText,
    ProgramTexts,
)
from reports.rows.observation import (
    ArgumentLeaf,
    CallAsWritten,
    Check,
    ExecutableCounts,
    Failure,
    HostMemory,
    JaxprCounts,
    MeasuredWith,
    MemoryStats,
    MovedArray,
    Numbers,
    Observation,
    OutputLeaf,
    ProgramNumber,
    Proof,
    StableHloCounts,
    StageTimes,
)
from reports.rows.program_row import (
    VERDICTS,
    Environment,
    ProgramRow,
    Verdict,
)
from reports.rows.row import (
    SIDES,
    Row,
    Side,
)

__all__ = [
    "ANSWER_OF",
    "FLIP_ANSWERS",
    "FLIP_OUTCOMES",
    "SCHEMA_VERSION",
    "SIDES",
    "TIME_METRICS",
    "VERDICTS",
    "ArgumentLeaf",
    "CallAsWritten",
    "Campaign",
    "CapturedArray",
    "Check",
    "Comparison",
    "ComparisonOutcome",
    "DriftAttribution",
    "DriftCause",
    "Environment",
    "ExecutableCounts",
    "Failure",
    "Fate",
    "FlipAnswer",
    "FlipOutcome",
    "FlipReason",
    "FlipVerdict",
    "Hazard",
    "HazardKind",
    "Headline",
    "HostMemory",
    "JaxprCounts",
    "KeptText",
    "LeafComparison",
    "MeasuredWith",
    "MemoryStats",
    "MovedArray",
    "Numbers",
    "Observation",
    "OutputLeaf",
    "ProgramNumber",
    "ProgramRow",
    "ProgramTexts",
    "Proof",
    "ReasonKind",
    "Row",
    "Rung",
    "Side",
    "StableHloCounts",
    "StageTimes",
    "TimeComparison",
    "TimeMetric",
    "TimeSamples",
    "TimeVerdict",
    "TooLate",
    "Verdict",
    "agreement_of",
    "answer_of",
    "worst_first",
]
