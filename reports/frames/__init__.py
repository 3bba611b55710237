"""A result as tables of pandas, for notebooks and for the reports in CSV and Parquet.

Each function takes a campaign or a grid, as `reports.load_result` returns them. docs/frames.md has
the columns. pandas is imported at the first call; the extra `tables` of constparity brings it.
"""

from reports.frames.columns import Column, TablesMissingError
from reports.frames.of_captured_arrays import CAPTURED_ARRAYS, captured_arrays
from reports.frames.of_metrics import METRICS, metrics
from reports.frames.of_programs import PROGRAMS, programs

__all__ = [
    "CAPTURED_ARRAYS",
    "METRICS",
    "PROGRAMS",
    "Column",
    "TablesMissingError",
    "captured_arrays",
    "metrics",
    "programs",
]
