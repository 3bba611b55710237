"""Rows in, pages out: the records of a campaign and the pages made of them.

This file is the table of contents; `reports.rows` explains the records.
"""

from reports.output.files import ReportPathError, check_writable, write_atomically
from reports.output.formats import (
    FORMATS,
    ReportFormat,
    ReportRequest,
    parse_report_option,
    write_report,
)
from reports.output.json_file import ReportReadError
from reports.output.json_file import load as load_campaign
from reports.rows import (
    SCHEMA_VERSION,
    SIDES,
    Campaign,
    CapturedArray,
    Comparison,
    Environment,
    Failure,
    Fate,
    Hazard,
    HazardKind,
    JaxprCounts,
    LeafComparison,
    MemoryStats,
    Observation,
    OutputLeaf,
    ProgramRow,
    Proof,
    Rung,
    Side,
    StableHloCounts,
    StageTimes,
    Verdict,
)

__all__ = [
    "FORMATS",
    "SCHEMA_VERSION",
    "SIDES",
    "Campaign",
    "CapturedArray",
    "Comparison",
    "Environment",
    "Failure",
    "Fate",
    "Hazard",
    "HazardKind",
    "JaxprCounts",
    "LeafComparison",
    "MemoryStats",
    "Observation",
    "OutputLeaf",
    "ProgramRow",
    "Proof",
    "ReportFormat",
    "ReportPathError",
    "ReportReadError",
    "ReportRequest",
    "Rung",
    "Side",
    "StableHloCounts",
    "StageTimes",
    "Verdict",
    "check_writable",
    "load_campaign",
    "parse_report_option",
    "write_atomically",
    "write_report",
]
