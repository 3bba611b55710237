"""Rows in, pages out: the records of a campaign and the pages made of them.

This file is the table of contents; `reports.rows` explains the records. A name is imported at its
first use: few processes write a page, and a command line that names formats needs no records.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reports.kinds import ReportFormat, formats_of
    from reports.output.files import ReportPathError, as_bytes, check_writable, write_atomically
    from reports.output.formats import (
        FORMATS,
        GRID_FORMATS,
        ReportRequest,
        check_available,
        check_formats,
        parse_report_option,
        render_grid,
        render_report,
        write_report,
    )
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

_MODULES = ("rows", "kinds", "output.files", "output.json_file", "output.formats")

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
    "formats_of",
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
        return import_module("reports.frames")
    if name in __all__:
        member = "load" if name == "load_campaign" else name
        modules = (import_module(f"reports.{each}") for each in _MODULES)
        return next(getattr(each, member) for each in modules if hasattr(each, member))
    raise AttributeError(f"module 'reports' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
