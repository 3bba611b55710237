"""The reports in CSV and Parquet: a result as tables, a file for each."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from reports import frames
from reports.frames import missing
from reports.rows import Campaign
from reports.rows.grid import Grid
from reports.rows.proofs import Proofs
from reports.views.texts import visible

if TYPE_CHECKING:
    from pandas import DataFrame

TableName = Literal["programs", "metrics", "captured_arrays", "claims"]
TABLES: dict[TableName, Callable[[Campaign | Grid], DataFrame]] = {
    "programs": frames.programs,
    "metrics": frames.metrics,
    "captured_arrays": frames.captured_arrays,
}
TABLES_OF_PROOFS: dict[TableName, Callable[[Proofs], DataFrame]] = {
    "programs": frames.proved_programs,
    "claims": frames.claims,
}
# A spreadsheet takes a cell that begins with one of these as a formula, and runs it.
_FORMULA = re.compile(r"^\s*[=+\-@]|^[\t\r\n]")


def render_csv(result: Campaign | Grid | Proofs, table: TableName = "programs") -> str:
    """Render a table as CSV with a header; what is missing is an empty cell.

    A text that a spreadsheet would run as a formula has an apostrophe before it, and control
    characters are spelled out. Figures have all their digits.

    Raises `TablesMissingError` where pandas is not installed.
    """
    frame = _table(result, table)
    texts = frame.select_dtypes("string").columns
    frame[texts] = frame[texts].map(_harmless, na_action="ignore")
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text


def render_parquet(result: Campaign | Grid | Proofs, table: TableName = "programs") -> bytes:
    """Render a table as Parquet; each column keeps its dtype, and each text is as it was.

    Raises `TablesMissingError` where pandas or pyarrow is not installed.
    """
    check_installed("pandas", "pyarrow")
    buffer = io.BytesIO()
    _table(result, table).to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def _table(result: Campaign | Grid | Proofs, table: TableName) -> DataFrame:
    return TABLES_OF_PROOFS[table](result) if isinstance(result, Proofs) else TABLES[table](result)


def check_installed(*libraries: str) -> None:
    """Raise `TablesMissingError`, which says how to get them, where libraries are missing."""
    for library in libraries:
        if find_spec(library) is None:
            raise frames.TablesMissingError(missing(library))


def _harmless(text: Any) -> str:
    shown = visible(str(text))
    return f"'{shown}" if _FORMULA.match(shown) else shown
