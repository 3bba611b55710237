"""The records of a report, whose JSON is the one truth.

`campaign.py` is the root and explains them; `metrics.py` declares every metric that they hold.
"""

from reports.rows.campaign import (
    SCHEMA_VERSION,
    VERDICTS,
    Campaign,
    Environment,
    ProgramRow,
    Verdict,
)
from reports.rows.captured_array import (
    CapturedArray,
    Fate,
    Hazard,
    HazardKind,
)
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
)
from reports.rows.observation import (
    ArgumentLeaf,
    Check,
    ExecutableCounts,
    Failure,
    HostMemory,
    JaxprCounts,
    MemoryStats,
    Observation,
    OutputLeaf,
    Proof,
    StableHloCounts,
    StageTimes,
)
from reports.rows.row import (
    SIDES,
    Row,
    Side,
)

__all__ = [
    "FLIP_OUTCOMES",
    "SCHEMA_VERSION",
    "SIDES",
    "TIME_METRICS",
    "VERDICTS",
    "ArgumentLeaf",
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
    "FlipOutcome",
    "FlipReason",
    "FlipVerdict",
    "Hazard",
    "HazardKind",
    "HostMemory",
    "JaxprCounts",
    "LeafComparison",
    "MemoryStats",
    "Observation",
    "OutputLeaf",
    "ProgramRow",
    "Proof",
    "Row",
    "Rung",
    "Side",
    "StableHloCounts",
    "StageTimes",
    "TimeComparison",
    "TimeMetric",
    "TimeSamples",
    "TimeVerdict",
    "Verdict",
]
