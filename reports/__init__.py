"""Stub until the real package is merged: JSON reports only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports.rows import Campaign


@dataclass(frozen=True)
class ReportRequest:
    """One requested report."""

    kind: str
    path: Path


def parse_report_option(text: str) -> ReportRequest:
    """Parse KIND:PATH. Raises ValueError."""
    kind, colon, path = text.partition(":")
    if not colon or kind != "json":
        raise ValueError(f"--report {text!r}: write json:PATH")
    return ReportRequest(kind, Path(path))


def check_writable(path: Path) -> None:
    """Raise OSError where the path cannot be written."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no folder {path.parent} for the report {path}")
    existed = path.exists()
    path.open("a").close()
    if not existed:
        path.unlink()


def write_report(request: ReportRequest, campaign: Campaign) -> None:
    """Write one report."""
    request.path.write_text(campaign.model_dump_json(indent=1))
