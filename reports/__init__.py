"""Rows in, pages out: the records of a campaign and the pages made of them.

This file is the table of contents; `reports.rows` explains the records. The writers of pages are
imported at their first use: every process that measures has records, and few write a page.
"""

import importlib
from typing import TYPE_CHECKING, Any

from reports.output.files import ReportPathError, as_bytes, check_writable, write_atomically
from reports.output.json_file import ReportReadError, load_result
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

if TYPE_CHECKING:
    from reports.output.formats import (
        FORMATS,
        GRID_FORMATS,
        ReportFormat,
        ReportRequest,
        check_available,
        check_formats,
        parse_report_option,
        render_grid,
        render_report,
        write_report,
    )

_OF_FORMATS = (
    "FORMATS", "GRID_FORMATS", "ReportFormat", "ReportRequest", "check_available",
    "check_formats", "parse_report_option", "render_grid", "render_report", "write_report",
)  # fmt: skip

__all__ = [
    "FORMATS",
    "GRID_FORMATS",
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
    "as_bytes",
    "check_available",
    "check_formats",
    "check_writable",
    "load_campaign",
    "load_result",
    "parse_report_option",
    "render_grid",
    "render_report",
    "write_atomically",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "frames":
        return importlib.import_module("reports.frames")
    if name in _OF_FORMATS:
        return getattr(importlib.import_module("reports.output.formats"), name)
    raise AttributeError(f"module 'reports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
