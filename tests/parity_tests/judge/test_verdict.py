"""The one place that concludes a verdict: what each finding makes of it, and of its reasons."""

import pytest
from built_campaigns import leaf

from parity_tests.judge.findings import Findings
from parity_tests.judge.verdict import Conclusion, RowDraft, conclude, worst
from reports.rows import (
    Comparison,
    DriftAttribution,
    Failure,
    NamedProgram,
    Observation,
)

PAIR = ("jax-legacy", "jax-simplified")


def outputs(rung, outcome="equal"):
    return Comparison(
        metric="outputs", left=PAIR[0], right=PAIR[1], outcome=outcome, left_value="1 leaf",
        right_value="1 leaf", detail="as planted", leaves=(leaf(rung),),
    )  # fmt: skip


def drift(cause):
    return DriftAttribution(left=PAIR[0], right=PAIR[1], cause=cause, evidence="as planted")


ULP, MISMATCH = outputs("ulp"), outputs("mismatch", "different")
RUNG = "jax-legacy and jax-simplified: outputs are equal, though not bitwise"
BUG = "jax-legacy and jax-simplified: outputs differ by a bug: as planted"


@pytest.mark.parametrize(
    ("findings", "verdict", "reasons"),
    [
        (Findings(comparisons=(outputs("bitwise"),)), "parity", []),
        (Findings(comparisons=(ULP,)), "parity", [RUNG]),
        (Findings(comparisons=(ULP,), drift=(drift("constant folding"),)), "parity", [RUNG]),
        (Findings(comparisons=(ULP,), drift=(drift("a bug"),)), "difference", [BUG, RUNG]),
        (
            Findings(comparisons=(MISMATCH,), drift=(drift("a bug"),)),
            "difference",
            ["jax-legacy and jax-simplified: outputs differ: as planted"],
        ),
        (
            Findings(comparisons=(ULP,), no_drift="no target", no_arbiter="not asked"),
            "parity",
            [RUNG, "the drift was not looked into: no target"],
        ),
        (
            Findings(comparisons=(MISMATCH,), no_drift="no target", no_arbiter="a string"),
            "difference",
            [
                "jax-legacy and jax-simplified: outputs differ: as planted",
                "there is no arbiter: a string",
                "the drift was not looked into: no target",
            ],
        ),
        (Findings(), "could not compare", ["there is no pair of sides to compare"]),
        (
            Findings(not_run="only A has it", drift=(drift("a bug"),)),
            "could not compare",
            ["only A has it"],
        ),
    ],
)
def test_each_finding_has_its_part_in_the_verdict(findings, verdict, reasons):
    found = conclude(findings)
    assert found.verdict == verdict
    assert len(found.reasons) == len(reasons)
    assert all(a.startswith(b) for a, b in zip(found.reasons, reasons, strict=True))
    assert found.flip is None


def test_the_flip_is_concluded_with_the_verdict():
    sides = tuple(Observation(program="p", side=side) for side in PAIR)
    found = conclude(Findings(sides, (ULP,), drift=(drift("a bug"),)), [PAIR])
    assert (found.flip.left, found.flip.right) == PAIR
    assert found.flip.outcome == "different"
    not_run = conclude(Findings(not_run="no jax"), [PAIR])
    assert [each.what for each in not_run.flip.reasons] == ["no jax"]


def test_the_worst_of_several_runs_is_the_first_of_its_verdict():
    one, other = Conclusion("difference", ("one",)), Conclusion("difference", ("other",))
    lost = Conclusion("could not compare", ("lost",))
    assert worst([Conclusion("parity", ()), lost, one, other]) is one
    assert worst([Conclusion("parity", ()), lost]) is lost


def test_a_draft_becomes_a_row_with_all_that_it_has():
    failure = Failure(kind="exception", stage="trace", type="ValueError", message="no")
    side = Observation(program="p", side=PAIR[0], failure=failure)
    findings = Findings((side,), (MISMATCH,), drift=(drift("a bug"),))
    named = NamedProgram(
        name="p", source="model.py:1", target="model.py:p", digest="d1", summary="a step",
        tags=("slow",),
    )  # fmt: skip
    draft = RowDraft(named, findings, (side,))
    row = draft.row(conclude(findings))
    assert (row.name, row.source, row.summary) == ("p", "model.py:1", "a step")
    assert (row.target, row.digest, row.observations) == ("model.py:p", "d1", (side,))
    assert (row.comparisons, row.drift) == (findings.comparisons, findings.drift)
    assert (row.verdict, row.tags) == ("difference", ("slow",))
    assert row.reasons[-1] == "jax-legacy: exception in trace: ValueError: no"
