"""The programs of a result: one row for each, with its verdicts and what they rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

from reports.frames.columns import PROGRAM, VERSION, Column, campaigns, frame
from reports.rows import Campaign, LeafComparison, ProgramRow, Rung, agreement_of, answer_of
from reports.rows.grid import Grid

if TYPE_CHECKING:
    from pandas import DataFrame

_FACTS = ("constparity", "python", "jax", "jaxlib", "numpy", "backend", "device_kind", "system")

PROGRAMS = (
    VERSION,
    PROGRAM,
    Column("source", "string", "file:line of its declaration"),
    Column("target", "string", "loads it again"),
    Column("summary", "string", "the first line of its docstring"),
    Column("tags", "string", "its tags, separated by commas"),
    Column("verdict", "string", "parity, could not compare, not repeatable, or difference"),
    Column("answer", "string", "may the default be flipped for it? missing where nobody asked"),
    Column("flip", "string", "what a flip comes to; missing where nobody asked"),
    Column("before", "string", "the side before the flip"),
    Column("after", "string", "the side after the flip"),
    Column("reason", "string", "the worst reason of the flip verdict, else of the verdict"),
    Column("where", "string", "the lines that the reason is about"),
    Column("action", "string", "the smallest action that helps"),
    Column("ratio", "float64", "of the time or size in the reason, after to before", "ratio"),
    Column("reasons", "Int64", "reasons of the flip verdict", "count"),
    Column("hazards", "Int64", "hazards of the flip", "count"),
    Column("failures", "string", "the sides that failed, and how"),
    Column("pipelines", "string", "agree, differ or not compared: ours with stock JAX"),
    Column("rung", "string", "the worst rung of an output across the flip"),
    Column("max_abs", "float64", "largest absolute difference of an output across the flip"),
    Column("max_rel", "float64", "largest relative difference of an output across the flip"),
    Column("max_ulp", "UInt64", "largest difference of an output across the flip", "ULP"),
    Column("created", "string", "when the campaign was run, ISO 8601, UTC"),
    *(Column(name, "string", "of the environment: " + name.replace("_", " ")) for name in _FACTS),
)


def programs(result: Campaign | Grid) -> DataFrame:
    """Return the programs of a result as a DataFrame, in their order.

    Example::

        programs(load_result("result.json")).groupby("flip").size()
    """
    return frame(PROGRAMS, _rows(result))


def _rows(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in campaigns(result):
        facts = campaign.environment.model_dump(include=set(_FACTS))
        for row in campaign.programs:
            yield {
                **facts,
                "version": version,
                "created": campaign.created,
                "program": row.name,
                "source": row.source,
                "target": row.target,
                "summary": row.summary,
                "tags": ",".join(row.tags),
                "verdict": row.verdict,
                "hazards": len(row.hazards),
                "failures": "; ".join(_failures(row)),
                "pipelines": agreement_of(row),
                "reason": next(iter(row.reasons), None),
                **_of_flip(row),
                **_of_outputs(row),
            }


def _failures(row: ProgramRow) -> Iterator[str]:
    for seen in row.observations:
        if failure := seen.failure:
            yield f"{seen.side}: {failure.kind} at {failure.stage}: {failure.type}"


def _of_flip(row: ProgramRow) -> dict[str, Any]:
    if row.flip is None:
        return {}
    found: dict[str, Any] = {
        "answer": answer_of(row.flip),
        "flip": row.flip.outcome,
        "before": row.flip.left,
        "after": row.flip.right,
        "reasons": len(row.flip.reasons),
    }
    for worst in row.flip.reasons[:1]:
        found |= {
            "reason": worst.what,
            "where": worst.where,
            "action": worst.action,
            "ratio": worst.ratio,
        }
    return found


def _of_outputs(row: ProgramRow) -> dict[str, Any]:
    """Return the largest differences of the outputs across the flip; nothing without leaves."""
    leaves = list(_leaves(row))
    if not leaves:
        return {}
    rungs = get_args(Rung)  # from the strictest on
    return {
        "rung": max((leaf.rung for leaf in leaves), key=rungs.index),
        "max_abs": max(leaf.max_abs for leaf in leaves),
        "max_rel": max(leaf.max_rel for leaf in leaves),
        "max_ulp": max((leaf.max_ulp for leaf in leaves if leaf.max_ulp is not None), default=None),
    }


def _leaves(row: ProgramRow) -> Iterator[LeafComparison]:
    for each in row.comparisons:
        if row.flip and (each.left, each.right) == (row.flip.left, row.flip.right):
            yield from each.leaves
