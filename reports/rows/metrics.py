"""The metrics of an observation, one declaration each: read, judged, held to a limit, shown.

A new metric is an entry of `METRICS` and a field of `reports/rows/observation.py` that a file of
`parity_tests/observe/` fills in (of the optimised HLO: `optimised_hlo.py`); a new time is a name of
`TimeMetric` and a field of `StageTimes`. The judge, the flip verdict and the pages go by this
table; a store has those of `KEY_METRICS` in `reports/rows/history.py` as columns. Its order is the
order of the comparisons in a report. Readers use `metrics.METRICS` at the moment that they need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.rows import metric_rules as rules
from reports.rows.comparison import TIME_METRICS, TimeMetric
from reports.rows.metric_records import (
    Figure,
    Larger,
    LeafProperty,
    Metric,
    OverviewColumn,
    Picture,
    Read,
    TerminalColumn,
)
from reports.rows.observation import Observation
from reports.rows.row import Side


def _field(section: str, name: str) -> Read:
    def read(observation: Observation) -> Any:
        found = getattr(observation, section)
        return None if found is None else getattr(found, name)

    return read


def _device_memory(observation: Observation) -> int | None:
    if observation.constant_buffers is None or observation.executable is None:
        return None
    return observation.constant_buffers + observation.executable.constant_bytes


def _memory_of_a_call(observation: Observation) -> int | None:
    memory, executable = observation.memory, observation.executable
    if memory is None or executable is None:
        return None
    held = memory.arguments + memory.outputs + memory.temporaries - memory.aliased
    return held + executable.constant_bytes


def _total(section: str, name: str) -> Read:
    def read(observation: Observation) -> int | None:
        names = getattr(getattr(observation, section), name, None)
        return None if names is None else sum(names.values())

    return read


def _fresh(observation: Observation) -> bool:
    return observation.host_memory is not None and observation.host_memory.fresh


def _larger_peak(of: str) -> Larger:
    return Larger(f"peak host memory of {of}", share=0.30, bytes=3 * 2**26, only_where=_fresh)


# The stages that are timed are the names of `TimeMetric`; few of them have more to declare.
_TIME_COLUMNS: Mapping[TimeMetric, OverviewColumn] = {
    "compile": OverviewColumn("compile time", 4, as_ratio=True),
    "call": OverviewColumn("call time", 5, as_ratio=True),
}
_TIME_PICTURES: Mapping[TimeMetric, Picture] = {
    "compile": Picture("Compile time", "compile", 2, sampled=True),
    "call": Picture("Call time", "call", 3, sampled=True),
}
_FOLDING_HELPS: frozenset[TimeMetric] = frozenset({"first call", "call"})


def _time(stage: TimeMetric) -> Metric:
    return Metric(
        f"{stage} seconds",
        _field("times", stage.replace(" ", "_")),
        "seconds",
        within=rules.ONE_SAMPLE,
        across=rules.ONE_SAMPLE,
        again=rules.ONE_SAMPLE,
        stage=stage,
        folding_helps=stage in _FOLDING_HELPS,
        figure=Figure("time", stage),
        overview=_TIME_COLUMNS.get(stage),
        picture=_TIME_PICTURES.get(stage),
    )


_MODES: tuple[tuple[Side, ...], ...] = (("legacy", "jax-legacy"), ("simplified", "jax-simplified"))
_OURS_AND_STOCK: tuple[tuple[Side, ...], ...] = (("simplified",), ("jax-simplified",))

# -- what was traced -------------------------------------------------------------------------------

_JAXPR = (
    Metric(
        "jaxpr equations",
        _field("jaxpr", "equations"),
        within=rules.SAME_PROGRAM,
        across=rules.EQUATIONS,
        figure=Figure("jaxpr", "equations"),
    ),
    Metric(
        "working equations",
        _total("jaxpr", "working_equations"),
        within=rules.SAME_PROGRAM,
        across=rules.EQUATIONS_AT_WORK,
        figure=Figure("jaxpr", "working equations"),
    ),
    Metric(
        "operations of a call",
        _field("jaxpr", "operations"),
        within=rules.SAME_PROGRAM,
        across=rules.OPERATIONS,
        figure=Figure("jaxpr", "operations of a call (estimate)"),
    ),
    Metric(
        "captured arrays",
        _field("jaxpr", "captured_arrays"),
        within=rules.SAME_PROGRAM,
        across=rules.CAPTURED,
        figure=Figure("jaxpr", "captured arrays"),
    ),
    Metric(
        "captured bytes",
        _field("jaxpr", "captured_bytes"),
        "bytes",
        within=rules.SAME_PROGRAM,
        across=rules.CAPTURED,
        figure=Figure("jaxpr", "captured bytes"),
    ),
    Metric(
        "captured values",
        _field("jaxpr", "captured_values"),
        "words",
        within=rules.VALUES,
        across=rules.VALUES_ACROSS,
    ),
)

# -- which side was in force -----------------------------------------------------------------------

_PROOF = (
    Metric(
        "constvars",
        _field("proof", "constvars"),
        within=rules.CONSTVARS,
        across=rules.REPRESENTED,
        figure=Figure("proof", "constvars"),
    ),
    Metric(
        "array literals",
        _field("proof", "array_literals"),
        within=rules.LITERALS,
        across=rules.REPRESENTED,
        figure=Figure("proof", "array literals", early=True),
    ),
    Metric(
        "const args",
        _field("proof", "const_args"),
        within=rules.CONST_ARGS,
        across=rules.HOISTED,
        figure=Figure("proof", "const args"),
        overview=OverviewColumn("const args (unique captured)", 3, beside="unique captured arrays"),
        terminal=TerminalColumn("const args\nours / stock", 2, _OURS_AND_STOCK),
    ),
    Metric(
        "unique captured arrays",
        _field("proof", "unique_captured"),
        figure=Figure("proof", "unique captured"),
        terminal=TerminalColumn("unique\narrays", 3),
    ),
    Metric(
        "inlined constant bytes",
        _field("proof", "inlined_constant_bytes"),
        "bytes",
        within=rules.INLINED,
        across=rules.HOISTED,
        figure=Figure("proof", "inlined constants"),
        overview=OverviewColumn("inlined constants", 2),
    ),
)

# -- what was lowered ------------------------------------------------------------------------------

_STABLEHLO = (
    Metric(
        "order of main's arguments",
        _field("stablehlo", "main_order"),
        "words",
        within=rules.ORDER,
        across=rules.ORDER_ACROSS,
    ),
    Metric(
        "types of main's arguments",
        _field("stablehlo", "argument_types"),
        "words",
        within=rules.ARGUMENTS,
        across=rules.ARGUMENTS,
    ),
    Metric(
        "marks lost",
        _field("stablehlo", "marks_lost"),
        within=rules.MARKS,
        across=rules.MARKS,
    ),
    Metric(
        "callbacks",
        _field("stablehlo", "callbacks"),
        within=rules.CALLBACKS,
        across=rules.CALLBACKS,
    ),
    Metric(
        "StableHLO bytes",
        _field("stablehlo", "text_bytes"),
        "bytes",
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        larger=Larger("StableHLO"),
        figure=Figure("StableHLO", "text bytes", early=True),
        overview=OverviewColumn("StableHLO size", 1),
        terminal=TerminalColumn("StableHLO bytes\nlegacy / simplified", 1, _MODES),
        picture=Picture("StableHLO size", "StableHLO", 1),
    ),
    Metric(
        "StableHLO operations",
        _field("stablehlo", "operations"),
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        figure=Figure("StableHLO", "operations"),
    ),
    Metric(
        "working StableHLO operations",
        _total("stablehlo", "working_operations"),
        within=rules.LOWERED_WORK,
        across=rules.LOWERED_WORK_ACROSS,
        figure=Figure("StableHLO", "working operations"),
    ),
    Metric(
        "StableHLO functions",
        _field("stablehlo", "functions"),
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        figure=Figure("StableHLO", "functions"),
    ),
    Metric(
        "StableHLO constants",
        _field("stablehlo", "constants"),
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        figure=Figure("StableHLO", "constants"),
    ),
    Metric(
        "StableHLO constant bytes",
        _field("stablehlo", "constant_bytes"),
        "bytes",
        figure=Figure("StableHLO", "constant bytes"),
    ),
    Metric(
        "StableHLO bytecode bytes",
        _field("stablehlo", "bytecode_bytes"),
        "bytes",
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        again=rules.WITH_PLACES,
        figure=Figure("StableHLO", "bytecode bytes", early=True),
    ),
)

# -- what was compiled -----------------------------------------------------------------------------

_EXECUTABLE = (
    Metric(
        "optimised HLO instructions",
        _field("executable", "instructions"),
        within=rules.OTHER_WORDS,
        across=rules.FOLDED,
        figure=Figure("executable", "instructions"),
    ),
    Metric(
        "optimised HLO fusions",
        _field("executable", "fusions"),
        within=rules.OTHER_WORDS,
        across=rules.FOLDED,
        figure=Figure("executable", "fusions"),
    ),
    Metric(
        "floating-point operations",
        _field("executable", "flops"),
        within=rules.OTHER_WORDS,
        across=rules.FOLDED,
        figure=Figure("executable", "floating-point operations"),
    ),
    Metric(
        "optimised HLO constants",
        _field("executable", "constants"),
        figure=Figure("executable", "constants"),
    ),
    Metric(
        "optimised HLO constant bytes",
        _field("executable", "constant_bytes"),
        "bytes",
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        figure=Figure("executable", "constant bytes"),
    ),
    Metric(
        "devices of the executable",
        _field("executable", "devices"),
        within=rules.DEVICES,
        across=rules.PLACEMENT,
    ),
    Metric(
        "serialized bytes",
        _field("executable", "serialized_bytes"),
        "bytes",
        within=rules.VARYING,
        across=rules.HOISTED,
        again=rules.VARYING,
        larger=Larger("serialized executable"),
        figure=Figure("executable", "serialized bytes"),
    ),
)

# -- what a call holds in memory, and what other values cost ---------------------------------------

_MEMORY = (
    Metric(
        "argument bytes",
        _field("memory", "arguments"),
        "bytes",
        within=rules.OTHER_WORDS,
        across=rules.HOISTED,
        figure=Figure("memory", "arguments"),
    ),
    Metric(
        "recompiles for other values",
        lambda observation: observation.recompiles,
        within=rules.RECOMPILES,
        across=rules.COMPILED_IN,
        figure=Figure("recompiles for other values"),
    ),
    Metric(
        "device buffers of constants",
        lambda observation: observation.constant_buffers,
        "bytes",
        within=rules.BUFFERS,
        across=rules.HOISTED,
        again=rules.WHERE_IT_LIES,
        figure=Figure("device buffers of constants"),
    ),
    Metric(
        "device memory of constants",
        _device_memory,
        "bytes",
        larger=Larger("device memory of constants"),
    ),
    Metric(
        "output bytes", _field("memory", "outputs"), "bytes", figure=Figure("memory", "outputs")
    ),
    Metric(
        "temporary bytes",
        _field("memory", "temporaries"),
        "bytes",
        within=rules.OTHER_WORDS,
        across=rules.FOLDED,
        larger=Larger("temporaries of a call"),
        figure=Figure("memory", "temporaries"),
    ),
    Metric(
        "aliased bytes", _field("memory", "aliased"), "bytes", figure=Figure("memory", "aliased")
    ),
    Metric(
        "memory of a call",
        _memory_of_a_call,
        "bytes",
        picture=Picture(
            "Memory of a call",
            "memory",
            4,
            "arguments, outputs, temporaries and constants, as XLA counts them",
        ),
    ),
    Metric(
        "generated code bytes",
        _field("memory", "generated_code"),
        "bytes",
        figure=Figure("memory", "generated code"),
    ),
    # Peaks of host memory are no counters: they vary, and depend on what the process ran before. A
    # side has one sample of each, so a flip makes them larger beyond thrice the usual limit alone.
    Metric(
        "peak host memory of tracing and lowering",
        _field("host_memory", "trace_and_lower"),
        "bytes",
        larger=_larger_peak("tracing and lowering"),
        figure=Figure("peak host memory", "trace and lower"),
    ),
    Metric(
        "peak host memory of compiling",
        _field("host_memory", "compile"),
        "bytes",
        larger=_larger_peak("compiling"),
        figure=Figure("peak host memory", "compile"),
        picture=Picture(
            "Peak host memory of compiling",
            "host peak",
            5,
            "one sample each; a process that ran other programs before reuses their memory",
            sampled=True,
        ),
    ),
)

# -- how long each stage takes: reported here, and judged where rounds were run --------------------

_TIMES = (
    *map(_time, TIME_METRICS),
    Metric("call samples", _field("times", "call_samples"), figure=Figure("time", "call samples")),
)

METRICS: tuple[Metric, ...] = (*_JAXPR, *_PROOF, *_STABLEHLO, *_EXECUTABLE, *_MEMORY, *_TIMES)

NAMES = frozenset(each.name for each in METRICS)

# The order of the headings in the figures of a program; others follow. "proof" has its own table.
HEADINGS = (
    "jaxpr",
    "StableHLO",
    "executable",
    "device buffers of constants",
    "recompiles for other values",
    "memory",
    "peak host memory",
    "time",
)


def metric(name: str) -> Metric:
    """Return the metric of a name. Raises `LookupError` where there is none."""
    for each in METRICS:
        if each.name == name:
            return each
    raise LookupError(f"there is no metric {name!r}")


# -- what each output leaf is ----------------------------------------------------------------------

LEAF_PROPERTIES = (
    LeafProperty("output shapes", lambda leaf: list(leaf.shape), is_type=True),
    LeafProperty("output dtypes", lambda leaf: leaf.dtype, is_type=True),
    LeafProperty("output weak types", lambda leaf: leaf.weak_type),
    LeafProperty(
        "output shardings", lambda leaf: leaf.sharding, rules.PLACEMENT, is_placement=True
    ),
    LeafProperty(
        "output committed", lambda leaf: leaf.committed, rules.PLACEMENT, is_placement=True
    ),
)
