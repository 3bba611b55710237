"""The judge on observations written by hand: each rule with its planted difference."""

import numpy as np
import pytest

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import judge
from reports.rows import (
    Failure,
    JaxprCounts,
    MemoryStats,
    Observation,
    OutputLeaf,
    Proof,
    StableHloCounts,
    StageTimes,
)


def observation(side, *, literals=0, constvars=0, const_args=0, inlined=0, equations=3, tree="*"):
    return Observation(
        program="p",
        side=side,
        proof=Proof(
            array_literals=literals,
            constvars=constvars,
            const_args=const_args,
            unique_captured=1,
            inlined_constant_bytes=inlined,
            holds=True,
            statement="",
        ),
        jaxpr=JaxprCounts(equations=equations, captured_arrays=1, captured_bytes=308),
        stablehlo=StableHloCounts(
            text_bytes=100 + inlined,
            operations=5,
            functions=1,
            constants=1,
            constant_bytes=inlined,
            operations_by_name={},
        ),
        memory=MemoryStats(arguments=4, outputs=4, temporaries=0, aliased=0, generated_code=0),
        times=StageTimes(
            trace=1.0, lower=1.0, compile=1.0, first_call=1.0, call=1.0, call_samples=3
        ),
        outputs=(OutputLeaf(path="", shape=(2,), dtype="float32", weak_type=False, sha256=""),),
        tree=tree,
    )


def failed(side, type_="ValueError"):
    failure = Failure(kind="exception", stage="trace", type=type_, message="no")
    return Observation(program="p", side=side, failure=failure)


def judged(*observations, outputs=None, jaxprs=None):
    printed = {each.side: "{ lambda ; a:f32[2]. let in (a,) }" for each in observations}
    printed |= jaxprs or {}
    same = (Value("", np.float32([1.0, 2.0])),)
    given = {each.side: same for each in observations} | (outputs or {})
    evidence = {
        each.side: Evidence(each, given[each.side], printed[each.side]) for each in observations
    }
    pairs = [(evidence[left], evidence[right]) for left, right in pairs_of(evidence)]
    return judge(pairs, list(evidence.values()))


def outcomes(judgement, metric):
    return {
        (each.left, each.right): (each.outcome, each.detail)
        for each in judgement.comparisons
        if each.metric == metric
    }


FOUR = (
    observation("legacy", constvars=1, inlined=308),
    observation("simplified", literals=1, const_args=1),
    observation("jax-legacy", constvars=1, inlined=308),
    observation("jax-simplified", literals=1, const_args=1),
)


def test_four_sides_make_four_pairs():
    judgement = judged(*FOUR)
    assert judgement.verdict == "parity"
    assert judgement.reasons == ()
    assert list(outcomes(judgement, "outputs")) == [
        ("legacy", "jax-legacy"),
        ("simplified", "jax-simplified"),
        ("legacy", "simplified"),
        ("jax-legacy", "jax-simplified"),
    ]


def test_only_pairs_that_are_there_are_compared():
    assert list(outcomes(judged(FOUR[0], FOUR[1]), "outputs")) == [("legacy", "simplified")]


@pytest.mark.parametrize("sides", [(), FOUR[:1], (FOUR[0], FOUR[3])])
def test_without_a_pair_nothing_could_be_compared(sides):
    judgement = judged(*sides)
    assert judgement.verdict == "could not compare"
    assert judgement.reasons == ("there is no pair of sides to compare",)


def test_what_the_migration_is_about_is_expected_across_modes():
    judgement = judged(FOUR[0], FOUR[1])
    for metric in ("constvars", "array literals", "const args", "inlined constant bytes"):
        [(outcome, why)] = outcomes(judgement, metric).values()
        assert outcome == "expected difference"
        assert "simplified" in why


@pytest.mark.parametrize("changes", [{"equations": 4}, {"constvars": 2}, {"literals": 1}])
def test_two_pipelines_of_one_mode_must_trace_alike(changes):
    ours = observation("legacy", **{"constvars": 1, "inlined": 308} | changes)
    judgement = judged(ours, FOUR[2])
    assert judgement.verdict == "difference"
    assert "two different programs" in judgement.reasons[0]


def test_equations_must_agree_across_modes_where_legacy_has_no_constvars():
    legacy, simplified = observation("legacy"), observation("simplified", equations=4)
    assert judged(legacy, simplified).verdict == "difference"


def test_with_constvars_transformations_write_equations_for_operands():
    legacy = observation("legacy", constvars=1, inlined=308, equations=5)
    judgement = judged(legacy, FOUR[1])
    assert judgement.verdict == "parity"
    [(outcome, why)] = outcomes(judgement, "jaxpr equations").values()
    assert outcome == "expected difference"
    assert "operands of bodies in legacy alone" in why


@pytest.mark.parametrize(("more", "verdict"), [("legacy", "parity"), ("simplified", "difference")])
def test_legacy_alone_may_keep_what_a_dropped_body_captured(more, verdict):
    counts = JaxprCounts(equations=3, captured_arrays=2, captured_bytes=616)
    pair = [each.model_copy(update={"jaxpr": counts} if each.side == more else {}) for each in FOUR]
    judgement = judged(pair[0], pair[1])
    assert judgement.verdict == verdict
    for metric in ("captured arrays", "captured bytes"):
        [(outcome, _)] = outcomes(judgement, metric).values()
        assert outcome == ("expected difference" if more == "legacy" else "different")


@pytest.mark.parametrize(
    ("ours", "stock", "verdict", "why"),
    [
        (1, 3, "parity", "stock passes 3 for 1 unique array"),
        (2, 1, "difference", "ours passes more const args than stock JAX"),
    ],
)
def test_ours_may_pass_fewer_const_args_than_stock(ours, stock, verdict, why):
    judgement = judged(
        observation("simplified", literals=1, const_args=ours),
        observation("jax-simplified", literals=1, const_args=stock),
    )
    assert judgement.verdict == verdict
    [(_, detail)] = outcomes(judgement, "const args").values()
    assert detail == why


def test_ours_may_inline_less_than_stock_and_not_more():
    stock = observation("jax-legacy", constvars=1, inlined=308)
    less, more = (observation("legacy", constvars=1, inlined=size) for size in (300, 616))
    assert judged(less, stock).verdict == "parity"
    assert judged(more, stock).verdict == "difference"


def test_stock_keeps_typed_keys_as_constvars():
    stock = observation("jax-simplified", constvars=1, literals=1, const_args=1, inlined=64)
    ours = observation("simplified", literals=2, const_args=2)
    judgement = judged(ours, stock)
    assert judgement.verdict == "parity"
    for metric in ("constvars", "array literals", "const args", "inlined constant bytes"):
        [(outcome, why)] = outcomes(judgement, metric).values()
        assert outcome == "expected difference"
        assert "PRNG key" in why


def test_times_are_never_judged():
    slow = FOUR[2].times.model_copy(update={"compile": 1000.0})
    judgement = judged(FOUR[0], FOUR[2].model_copy(update={"times": slow}))
    assert judgement.verdict == "parity"
    [(outcome, _)] = outcomes(judgement, "compile seconds").values()
    assert outcome == "not judged"


def test_an_output_that_differs_is_a_difference():
    wrong = (Value("", np.float32([1.0, 3.0])),)
    judgement = judged(FOUR[0], FOUR[2], outputs={"legacy": wrong})
    assert judgement.verdict == "difference"
    assert "the first at [1]: 3.0 and 2.0" in judgement.reasons[0]


def test_outputs_that_were_lost_are_not_compared():
    judgement = judged(FOUR[0], FOUR[2], outputs={"legacy": ()})
    assert outcomes(judgement, "outputs") == {
        ("legacy", "jax-legacy"): ("not compared", "the output arrays were not handed on")
    }
    assert judgement.verdict == "could not compare"


def test_another_structure_leaves_outputs_uncompared():
    judgement = judged(FOUR[0], observation("jax-legacy", constvars=1, inlined=308, tree="(*,)"))
    assert judgement.verdict == "difference"
    assert "output structure: * against (*,)" in judgement.reasons[0]
    [(outcome, _)] = outcomes(judgement, "outputs").values()
    assert outcome == "not compared"


def test_a_failed_side_leaves_its_pairs_uncompared():
    judgement = judged(FOUR[0], FOUR[1], FOUR[2], failed("jax-simplified"))
    assert judgement.verdict == "could not compare"
    assert judgement.reasons == ("jax-simplified: exception in trace: ValueError: no",)
    assert outcomes(judgement, "outputs")["legacy", "jax-legacy"][0] == "equal"


def test_ours_are_not_compared_with_values_from_before_a_write():
    """Stock JAX keeps what an array held in a call before; ours has what it holds by now."""
    before = failed("jax-legacy")
    written = before.failure.model_copy(update={"kind": "written to"})
    before = before.model_copy(update={"failure": written})
    old = (Value("", np.float32([5.0, 5.0])),)
    judgement = judged(FOUR[0], FOUR[1], before, FOUR[3], outputs={"jax-simplified": old})
    outcome, detail = outcomes(judgement, "outputs")["simplified", "jax-simplified"]
    assert outcome == "not compared"
    assert detail.endswith("stock JAX may have what a captured array held before it was written to")
    assert judgement.verdict == "could not compare"
    assert not any(each.leaves for each in judgement.comparisons if each.outcome == outcome)


def test_a_first_line_that_ends_in_a_colon_is_not_the_reason():
    side = failed("legacy")
    failure = side.failure.model_copy(update={"message": "The mismatches are:\na key\nand more"})
    judgement = judged(side.model_copy(update={"failure": failure}), FOUR[2])
    [reason] = judgement.reasons
    assert reason == "legacy: exception in trace: ValueError: The mismatches are: a key"


def test_a_difference_outweighs_a_failed_side():
    wrong = (Value("", np.float32([1.0, 3.0])),)
    judgement = judged(FOUR[0], FOUR[2], failed("jax-simplified"), outputs={"legacy": wrong})
    assert judgement.verdict == "difference"
    assert len(judgement.reasons) == 2


@pytest.mark.parametrize(
    ("type_", "detail"), [("ValueError", "both sides fail alike"), ("TypeError", "a side that")]
)
def test_two_sides_that_fail_alike_agree_on_that(type_, detail):
    judgement = judged(failed("legacy"), failed("jax-legacy", type_))
    assert judgement.verdict == "could not compare"
    assert outcomes(judgement, "outputs")["legacy", "jax-legacy"][1].startswith(detail)


def test_one_mode_must_print_one_jaxpr():
    judgement = judged(*FOUR, jaxprs={"simplified": "{ lambda ; a:f32[2]. let in (b,) }"})
    assert judgement.verdict == "difference"
    [reason] = judgement.reasons
    assert reason == (
        "simplified and jax-simplified: printed jaxpr: 1 line against 1 line ("
        "--- simplified\n+++ jax-simplified\n@@ -1 +1 @@\n"
        "-{ lambda ; a:f32[2]. let in (b,) }\n+{ lambda ; a:f32[2]. let in (a,) })"
    )


def test_printed_jaxprs_are_compared_within_a_mode_alone():
    rows = outcomes(judged(*FOUR), "printed jaxpr")
    assert set(rows) == {("legacy", "jax-legacy"), ("simplified", "jax-simplified")}


def test_the_diff_of_two_jaxprs_is_cut_to_what_a_report_shows():
    texts = {
        side: "\n".join(f"{letter * 300} = line {n}" for n in range(40))
        for side, letter in [("legacy", "a"), ("jax-legacy", "b")]
    }
    [(_, detail)] = outcomes(judged(FOUR[0], FOUR[2], jaxprs=texts), "printed jaxpr").values()
    lines = detail.splitlines()
    assert len(lines) == 13
    assert max(map(len, lines)) == 161
    assert lines[-1] == "and 71 more lines"


def test_jaxprs_that_were_lost_are_not_compared():
    judgement = judged(FOUR[0], FOUR[2], jaxprs={"legacy": ""})
    assert judgement.verdict == "could not compare"
    assert judgement.reasons == ("the printed jaxprs were not handed on",)
