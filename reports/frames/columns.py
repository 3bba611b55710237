"""The columns of a table, and the one place that makes DataFrames of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from reports.rows import Campaign
from reports.rows.grid import Grid

if TYPE_CHECKING:
    from pandas import DataFrame

# "Int64", "UInt64", "string" and "boolean" have a value for what was not measured, pandas.NA;
# "float64" has NaN.
Dtype = Literal["string", "Int64", "UInt64", "float64", "boolean"]


class TablesMissingError(ImportError):
    """A library that makes tables is not installed; the message names the extra that brings it."""


@dataclass(frozen=True)
class Column:
    """One column: its name, the dtype that pandas has for it, its unit, and what it says."""

    name: str
    dtype: Dtype
    meaning: str
    unit: str = ""


# Where a program was measured; each table begins with it, so that tables join on the first columns.
VERSION = Column(
    "version", "string", "version of JAX; in a grid also what tells environments apart"
)
PROGRAM = Column("program", "string", "name of the program")


def campaigns(result: Campaign | Grid) -> Iterator[tuple[str, Campaign]]:
    """Yield each campaign of a result with its version.

    Example::

        [version for version, _ in campaigns(grid)] == ["0.10.2", "0.12.0.1"]
    """
    if isinstance(result, Campaign):
        yield result.environment.jax, result
        return
    for version in result.versions:
        if version.campaign is not None:
            yield version.label, version.campaign


def frame(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Make a DataFrame with these columns; a value that is None, or not there, is missing.

    Raises `TablesMissingError` where pandas is not installed.

    Example::

        frame([Column("program", "string", "its name")], [{"program": "step"}])
    """
    try:
        import pandas
    except ImportError as error:
        raise TablesMissingError(missing("pandas")) from error

    found = list(rows)
    return pandas.DataFrame(
        {
            column.name: pandas.Series(
                [_encodable(row.get(column.name)) for row in found], dtype=column.dtype
            )
            for column in columns
        }
    )


def missing(library: str) -> str:
    """Say how to install a library that makes tables.

    Example::

        >>> missing("pandas")
        "tables need pandas, which is not installed: pip install 'constparity[tables]'"
    """
    return f"tables need {library}, which is not installed: pip install 'constparity[tables]'"


def _encodable(value: Any) -> Any:
    # Lone surrogates come from file names, and no table stores them; JSON has this spelling, too.
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
