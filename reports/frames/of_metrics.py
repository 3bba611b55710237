"""The metrics of a result: one row for each program, side and metric that was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reports.frames.columns import PROGRAM, VERSION, Column, campaigns, frame
from reports.rows import Campaign
from reports.rows import metrics as declared
from reports.rows.grid import Grid

if TYPE_CHECKING:
    from pandas import DataFrame

METRICS = (
    VERSION,
    PROGRAM,
    Column("side", "string", "the side that it was measured on"),
    Column("metric", "string", "name of the metric, as in `reports/rows/metrics.py`"),
    Column("unit", "string", "count, bytes, seconds, or words"),
    Column("value", "float64", "the figure; NaN where the unit is words", "that of `unit`"),
    Column("words", "string", "the text of a metric whose unit is words"),
)


def metrics(result: Campaign | Grid) -> DataFrame:
    """Return the metrics of a result as a DataFrame in long form.

    A metric that was not measured has no row. Times are those of one process; `call seconds` is a
    median.

    Example::

        frame = metrics(load_result("result.json"))
        frame.pivot(index="program", columns=["metric", "side"], values="value")
    """
    return frame(METRICS, _rows(result))


def _rows(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in campaigns(result):
        for row in campaign.programs:
            for seen in row.observations:
                for metric in declared.METRICS:
                    value = metric.read(seen)
                    if value is not None:
                        yield {
                            "version": version,
                            "program": row.name,
                            "side": seen.side,
                            "metric": metric.name,
                            "unit": metric.unit,
                            "words" if metric.unit == "words" else "value": value,
                        }
