"""The records of a report, whose JSON is the one truth; `campaign.py` explains them."""

from reports.rows.campaign import (
    FLIP_OUTCOMES as FLIP_OUTCOMES,
)
from reports.rows.campaign import (
    SCHEMA_VERSION as SCHEMA_VERSION,
)
from reports.rows.campaign import (
    SIDES as SIDES,
)
from reports.rows.campaign import (
    TIME_METRICS as TIME_METRICS,
)
from reports.rows.campaign import (
    Campaign as Campaign,
)
from reports.rows.campaign import (
    CapturedArray as CapturedArray,
)
from reports.rows.campaign import (
    Check as Check,
)
from reports.rows.campaign import (
    Comparison as Comparison,
)
from reports.rows.campaign import (
    DriftAttribution as DriftAttribution,
)
from reports.rows.campaign import (
    DriftCause as DriftCause,
)
from reports.rows.campaign import (
    Environment as Environment,
)
from reports.rows.campaign import (
    ExecutableCounts as ExecutableCounts,
)
from reports.rows.campaign import (
    Failure as Failure,
)
from reports.rows.campaign import (
    Fate as Fate,
)
from reports.rows.campaign import (
    FlipOutcome as FlipOutcome,
)
from reports.rows.campaign import (
    FlipReason as FlipReason,
)
from reports.rows.campaign import (
    FlipVerdict as FlipVerdict,
)
from reports.rows.campaign import (
    Hazard as Hazard,
)
from reports.rows.campaign import (
    HazardKind as HazardKind,
)
from reports.rows.campaign import (
    HostMemory as HostMemory,
)
from reports.rows.campaign import (
    JaxprCounts as JaxprCounts,
)
from reports.rows.campaign import (
    LeafComparison as LeafComparison,
)
from reports.rows.campaign import (
    MemoryStats as MemoryStats,
)
from reports.rows.campaign import (
    Observation as Observation,
)
from reports.rows.campaign import (
    OutputLeaf as OutputLeaf,
)
from reports.rows.campaign import (
    ProgramRow as ProgramRow,
)
from reports.rows.campaign import (
    Proof as Proof,
)
from reports.rows.campaign import (
    Row as Row,
)
from reports.rows.campaign import (
    Rung as Rung,
)
from reports.rows.campaign import (
    Side as Side,
)
from reports.rows.campaign import (
    StableHloCounts as StableHloCounts,
)
from reports.rows.campaign import (
    StageTimes as StageTimes,
)
from reports.rows.campaign import (
    TimeComparison as TimeComparison,
)
from reports.rows.campaign import (
    TimeMetric as TimeMetric,
)
from reports.rows.campaign import (
    TimeSamples as TimeSamples,
)
from reports.rows.campaign import (
    TimeVerdict as TimeVerdict,
)
from reports.rows.campaign import (
    Verdict as Verdict,
)
