"""The captured arrays of a result: one row for each program, side and array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reports.frames.columns import PROGRAM, VERSION, Column, campaigns, frame
from reports.rows import Campaign
from reports.rows.grid import Grid

if TYPE_CHECKING:
    from pandas import DataFrame

CAPTURED_ARRAYS = (
    VERSION,
    PROGRAM,
    Column("side", "string", "the side that it was observed on"),
    Column("file", "string", 'file of the line that first uses it; "" where it is not known'),
    Column("line", "Int64", "that line, counted from 1; 0 where it is not known"),
    Column("function", "string", "the function of that line"),
    Column("code", "string", "the text of that line"),
    Column("shape", "string", "its lengths, as in 64,64; empty for a scalar"),
    Column("dtype", "string", "its dtype"),
    Column("bytes", "Int64", "its size", "bytes"),
    Column("sharding", "string", "its sharding; empty for an array of NumPy's"),
    Column("sha256", "string", "SHA-256 of its bytes; empty where it was not read"),
    Column("uses", "Int64", "equations and outputs that read it", "count"),
    Column("fate", "string", "inlined, embedded, hoisted, folded, unused, or not found"),
    Column("copies", "Int64", "const args or constants that hold it", "count"),
    Column("alike", "Int64", "captured arrays that share the copies", "count"),
    Column("written", "boolean", "whether it holds other values after the calls"),
    Column("note", "string", "what else is known of it"),
)


def captured_arrays(result: Campaign | Grid) -> DataFrame:
    """Return the captured arrays of a result as a DataFrame.

    Example::

        arrays = captured_arrays(load_result("result.json"))
        arrays[arrays.side == "jax-simplified"].groupby(["file", "line"]).bytes.max()
    """
    return frame(CAPTURED_ARRAYS, _rows(result))


def _rows(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in campaigns(result):
        for row in campaign.programs:
            for seen in row.observations:
                for array in seen.ledger:
                    shape = ",".join(map(str, array.shape))
                    of_array = array.model_dump() | {"shape": shape}
                    yield of_array | {"version": version, "program": row.name, "side": seen.side}
