"""A result as tables of pandas, for notebooks and for the reports in CSV and Parquet.

Each function takes a campaign or a grid, and those of proofs take proofs, as `reports.load_result`
returns them. The page docs/use/frames.md has the columns on the site. pandas is imported at the
first call; the extra `tables` of constparity brings it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from reports.rows import (
    VERDICTS,
    Campaign,
    LeafComparison,
    ProgramRow,
    Rung,
    agreement_of,
    answer_of,
)
from reports.rows import metrics as declared
from reports.rows.grid import Grid
from reports.rows.proofs import Proofs, reason_of, reasons_of
from reports.rows.row import spelled_out

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


_COUNTS = ("operations", "constants", "bodies", "effects")  # of a claim

# Where a program was measured; each table begins with it, so that tables join on the first columns.
VERSION = Column(
    "version", "string", "version of JAX; in a grid also what tells environments apart"
)
PROGRAM = Column("program", "string", "name of the program")

# -- programs, a row for each ----------------------------------------------------------------------

_FACTS = ("constparity", "python", "jax", "jaxlib", "numpy", "backend", "device_kind", "system")

PROGRAMS = (
    VERSION,
    PROGRAM,
    Column("source", "string", "file:line of its declaration"),
    Column("target", "string", "loads it again"),
    Column("summary", "string", "the first line of its docstring"),
    Column("tags", "string", "its tags, separated by commas"),
    Column("verdict", "string", "; ".join(VERDICTS)),
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
    return _frame(PROGRAMS, _programs_of(result))


def _programs_of(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in _campaigns(result):
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


# -- metrics, a row for each program, side and metric that was measured ----------------------------

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
    return _frame(METRICS, _metrics_of(result))


def _metrics_of(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in _campaigns(result):
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


# -- captured arrays, a row for each program, side and array ---------------------------------------

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
    return _frame(CAPTURED_ARRAYS, _arrays_of(result))


def _arrays_of(result: Campaign | Grid) -> Iterator[dict[str, Any]]:
    for version, campaign in _campaigns(result):
        for row in campaign.programs:
            for seen in row.observations:
                for array in seen.ledger:
                    shape = ",".join(map(str, array.shape))
                    of_array = array.model_dump() | {"shape": shape}
                    yield of_array | {"version": version, "program": row.name, "side": seen.side}


# -- proofs, a row for each program, and for each of its claims ------------------------------------

PROVED_PROGRAMS = (
    VERSION,
    PROGRAM,
    Column("source", "string", "file:line of its declaration"),
    Column("target", "string", "loads it again"),
    Column("proof", "string", "proved, parted, refuted, undecided, or failed"),
    Column("may_break", "boolean", "whether it may break, or is proved in part"),
    Column("folds", "Int64", "operations on captured arrays alone, which XLA folds", "count"),
    Column("captured", "Int64", "captured arrays above the embed threshold", "count"),
    Column("hazards", "Int64", "hazards of the flip", "count"),
    Column("reason", "string", "why it is not proved or may break, each after a semicolon"),
    Column("before", "string", "the side before the flip"),
    Column("after", "string", "the side after the flip"),
    Column("created", "string", "when the programs were proved, ISO 8601, UTC"),
    *PROGRAMS[-len(_FACTS) :],
)
CLAIMS = (
    VERSION,
    PROGRAM,
    Column("of", "string", "jaxpr or module"),
    Column("platform", "string", "that the module is for; empty for that of the process"),
    Column("answer", "string", "what is claimed of both forms"),
    Column("digest_before", "string", "of the form before the flip; missing where it has none"),
    Column("digest_after", "string", "of the form after the flip"),
    Column("why", "string", "of each answer but proved, with the place where the forms part"),
    Column("operations", "Int64", "operations of the form before the flip", "count"),
    Column("constants", "Int64", "constants of the form before the flip", "count"),
    Column("bodies", "Int64", "bodies of the form before the flip", "count"),
    Column("effects", "Int64", "effects of the form before the flip", "count"),
)


def proved_programs(result: Proofs) -> DataFrame:
    """Return the programs of proofs as a DataFrame, in their order.

    Example::

        proved_programs(load_result("proof.json")).groupby("proof").size()
    """
    return _frame(PROVED_PROGRAMS, _proved(result))


def _proved(result: Proofs) -> Iterator[dict[str, Any]]:
    facts = result.environment.model_dump(include=set(_FACTS))
    for each in result.programs:
        yield {
            **facts,
            "version": result.environment.jax,
            "created": result.created,
            "program": each.name,
            "source": each.source,
            "target": each.target,
            "proof": each.answer,
            "may_break": each.may_break,
            "folds": len(each.folded),
            "captured": each.captured,
            "hazards": len(each.hazards),
            "reason": "; ".join(reasons_of(each)) or None,
            "before": result.sides[0],
            "after": result.sides[1],
        }


def claims(result: Proofs) -> DataFrame:
    """Return what is claimed of each program of proofs as a DataFrame.

    Example::

        claims(load_result("proof.json")).query("platform == 'tpu' and answer != 'proved'")
    """
    return _frame(CLAIMS, _claims_of(result))


def _claims_of(result: Proofs) -> Iterator[dict[str, Any]]:
    for program in result.programs:
        for each in program.claims:
            yield each.model_dump(include={"of", "platform", "answer", *_COUNTS}) | {
                "version": result.environment.jax,
                "program": program.name,
                "digest_before": each.before or None,
                "digest_after": each.after or None,
                "why": reason_of(each) or None,
            }


# -- the one place that makes DataFrames -----------------------------------------------------------


def _campaigns(result: Campaign | Grid) -> Iterator[tuple[str, Campaign]]:
    """Yield each campaign of a result with its version."""
    if isinstance(result, Campaign):
        yield result.environment.jax, result
        return
    for version in result.versions:
        if version.campaign is not None:
            yield version.label, version.campaign


def _frame(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Make a DataFrame with these columns; a value that is None, or not there, is missing.

    Raises `TablesMissingError` where pandas is not installed.
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
        'tables need pandas, which is not installed: install constparity[tables]'
    """
    return f"tables need {library}, which is not installed: install constparity[tables]"


def _encodable(value: Any) -> Any:
    return spelled_out(value) if isinstance(value, str) else value
