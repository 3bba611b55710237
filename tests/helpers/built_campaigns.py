"""Campaigns made by hand, with every verdict, every kind of failure and hostile text."""

from __future__ import annotations

import math

from reports import rows
from reports.rows import Side
from reports.rows.experiments import Sweep, SweepPoint

HOSTILE = (
    "<script>alert(1)</script> & \"quotes\" 'single' | pipe ` tick ``` fence\nline *b* _u_ [l](x)"
)

ENVIRONMENT = rows.Environment(
    constparity="0.1.0",
    python="3.11.7",
    jax="0.10.2",
    jaxlib="0.10.2",
    numpy="2.4.0",
    backend="cpu",
    device_kind="cpu",
    device_count=1,
    cpu_count=2,
    system="Linux x86_64",
)

ALL_SIDES: tuple[Side, ...] = rows.SIDES


def captured_array(**changes) -> rows.CapturedArray:
    fields = {
        "file": "model.py", "line": 12, "function": "step", "shape": (8, 8), "dtype": "float32",
        "bytes": 256, "sharding": "", "sha256": "a1" * 32, "uses": 1, "fate": "inlined",
        "copies": 1,
    }  # fmt: skip
    return rows.CapturedArray.model_validate(fields | changes)


def observation(program: str, side: Side, **changes) -> rows.Observation:
    hoisted = side.endswith("simplified")
    copies = 3 if side == "jax-simplified" else 1
    fields = {
        "program": program,
        "side": side,
        "proof": rows.Proof(
            array_literals=copies if hoisted else 0,
            constvars=0 if hoisted else 1,
            const_args=copies if hoisted else 0,
            unique_captured=1,
            inlined_constant_bytes=0 if hoisted else 4_194_304,
            holds=True,
            statement=(
                f"{copies} const args and no inlined array constant"
                if hoisted
                else "1 constvar, inlined as 4,194,304 bytes of stablehlo.constant"
            ),
        ),
        "jaxpr": rows.JaxprCounts(equations=7, captured_arrays=1, captured_bytes=4_194_304),
        "stablehlo": rows.StableHloCounts(
            text_bytes=817 if hoisted else 8_389_512,
            operations=12,
            functions=1,
            constants=1 if hoisted else 2,
            constant_bytes=4 if hoisted else 4_194_308,
            operations_by_name={
                "stablehlo.add": 4,
                "stablehlo.constant": 1 if hoisted else 2,
                "stablehlo.dot_general": 7,
            },
        ),
        "memory": rows.MemoryStats(
            arguments=4_194_308 if hoisted else 4,
            outputs=4096,
            temporaries=0,
            aliased=0,
            generated_code=12_288,
        ),
        "times": rows.StageTimes(
            trace=0.0021,
            lower=0.006 if hoisted else 0.17,
            compile=0.045 if hoisted else 1.43,
            first_call=0.0035,
            call=8.2e-6,
            call_samples=21,
        ),
        "outputs": (
            rows.OutputLeaf(
                path="['loss']", shape=(), dtype="float32", weak_type=True, sha256="a1" * 32
            ),
            rows.OutputLeaf(
                path="['y']", shape=(32, 32), dtype="float32", weak_type=False, sha256="b2" * 32
            ),
        ),
        "tree": "PyTreeDef({'loss': *, 'y': *})",
    }
    return rows.Observation.model_validate(fields | changes)


def failed(program: str, side: Side, kind: str, **changes) -> rows.Observation:
    fields = {"kind": kind, "stage": "compile", "type": "XlaRuntimeError", "message": "no"}
    return rows.Observation(
        program=program, side=side, failure=rows.Failure.model_validate(fields | changes)
    )


def comparison(metric: str, outcome: str, **changes) -> rows.Comparison:
    fields = {
        "metric": metric,
        "left": "legacy",
        "right": "simplified",
        "outcome": outcome,
        "left_value": "8,389,512",
        "right_value": "817",
    }
    return rows.Comparison.model_validate(fields | changes)


def timed(verdict: str, **changes) -> rows.TimeComparison:
    fields = {
        "metric": "call", "left": "jax-legacy", "right": "jax-simplified", "verdict": verdict,
        "ratio": 2.0, "low": 1.9, "high": 2.1, "p_value": 0.001, "margin": 0.05,
        "samples": (10, 10),
    }  # fmt: skip
    return rows.TimeComparison.model_validate(fields | changes)


def leaf(rung: str = "bitwise", **changes) -> rows.LeafComparison:
    fields = {
        "path": "['y']",
        "rung": rung,
        "max_abs": 0.0,
        "max_rel": 0.0,
        "max_ulp": 0,
        "mismatch_share": 0.0,
        "first_index": None,
        "passing_rtol": None,
    }
    return rows.LeafComparison.model_validate(fields | changes)


def parity(name: str = "matmul", sides: tuple[Side, ...] = ALL_SIDES) -> rows.ProgramRow:
    return rows.ProgramRow(
        name=name,
        source="parity_tests/corpus/plain.py:12",
        summary="One captured matrix, used once.",
        verdict="parity",
        reasons=("outputs are equal bit by bit",),
        observations=tuple(observation(name, side) for side in sides),
        comparisons=(
            comparison("outputs", "equal", left_value="2 leaves", right_value="2 leaves",
                       leaves=(leaf(), leaf(path="['loss']"))),
            comparison("StableHLO text", "expected difference",
                       detail="the constant is an argument on the simplified side"),
        ),
    )  # fmt: skip


def difference(name: str = "overwritten_numpy") -> rows.ProgramRow:
    worst = leaf(
        "mismatch", max_abs=3.5, max_rel=math.inf, max_ulp=2**40, mismatch_share=0.03125,
        first_index=(0, 17), passing_rtol=math.inf, note="the left value is 0",
    )  # fmt: skip
    unknown = leaf(
        "mismatch", path="['loss']", max_abs=math.nan, max_rel=math.nan, max_ulp=None,
        mismatch_share=1.0, first_index=(),
    )  # fmt: skip
    return rows.ProgramRow(
        name=name,
        source="models/overwritten.py:40",
        summary="A captured NumPy array is overwritten after the first call.",
        verdict="difference",
        reasons=("output ['y'] differs on 3.12% of its elements", "['loss'] is NaN on one side"),
        observations=(
            observation(name, "legacy"),
            observation(name, "simplified"),
            observation(name, "jax-legacy", times=None, memory=None),
            failed(name, "jax-simplified", "timeout", stage="call", type="TimeLimit",
                   message="no result after 60 s"),
        ),
        comparisons=(
            comparison("trace count", "equal", left_value="1", right_value="1"),
            comparison("compile time", "not judged", left_value="1.43 s", right_value="45.0 ms"),
            comparison("outputs", "different", leaves=(leaf(path="['z']"), worst, unknown)),
        ),
    )  # fmt: skip


def not_compared(name: str = f"hostile {HOSTILE}") -> rows.ProgramRow:
    traceback = f"Traceback (most recent call last):\n  File {HOSTILE!r}\n{HOSTILE}\n"
    proof = observation(name, "legacy").proof
    assert proof is not None
    return rows.ProgramRow(
        name=name,
        source=f"{HOSTILE}.py:1",
        summary=HOSTILE,
        verdict="could not compare",
        reasons=(HOSTILE,),
        observations=(
            failed(name, "legacy", "exception", stage=HOSTILE, type=HOSTILE, message=HOSTILE,
                   traceback=traceback),
            failed(name, "simplified", "crash", message="signal 11 \x1b[31m\x00\udc80"),
            failed(name, "jax-legacy", "wrong side").model_copy(
                update={"proof": proof.model_copy(update={"holds": False, "statement": HOSTILE})}
            ),
            failed(name, "jax-simplified", "unavailable"),
        ),
        comparisons=(
            comparison(HOSTILE, "not compared", left_value=HOSTILE, right_value=HOSTILE,
                       detail=HOSTILE, leaves=(leaf(path=HOSTILE, note=HOSTILE),)),
        ),
        flip=rows.FlipVerdict(
            left="jax-legacy", right="jax-simplified", outcome="could not compare",
            reasons=(rows.FlipReason(outcome="could not compare", kind="outputs", what=HOSTILE,
                                     where=HOSTILE, action=HOSTILE),),
        ),
    )  # fmt: skip


def campaign(
    *programs: rows.ProgramRow, sides: tuple[Side, ...] = ALL_SIDES, sweeps: tuple[Sweep, ...] = ()
) -> rows.Campaign:
    return rows.Campaign(
        created="2026-08-20T12:00:00Z",
        environment=ENVIRONMENT,
        sides=sides,
        programs=programs,
        sweeps=sweeps,
    )


def rich() -> rows.Campaign:
    odd = not_compared()
    swept = sweep(odd.name, odd.source, reason=HOSTILE)
    return campaign(parity(), difference(), odd, sweeps=(swept,))


def sweep(program: str, source: str, **changes) -> Sweep:
    """A sweep over four thresholds: the smallest two hoist all, the largest inlines all."""
    calls = {0: 8.0e-6, 32: 8.0e-6, 1024: 6.0e-6, 4_194_304: 5.0e-6}
    points = tuple(
        SweepPoint(
            threshold=threshold, const_args=3 - place, text_bytes=817 * 10**place,
            inlined_bytes=100 * place, optimised_constant_bytes=90 * place,
            argument_bytes=4_194_308, temporary_bytes=None, call_seconds=call,
            compile_seconds=0.045 * 2**place, dispatch_seconds=call / 2,
        )
        for place, (threshold, call) in enumerate(calls.items())
    )  # fmt: skip
    fields = {
        "created": "2026-07-26T15:00:00+00:00",
        "environment": ENVIRONMENT,
        "program": program,
        "source": source,
        "points": points,
        "call_noise": 0.0125,
        "compile_noise": 0.03,
        "recommended": 1024,
        "reason": "the smallest threshold with a call within 5% of the fastest",
    }
    return Sweep.model_validate(fields | changes)
