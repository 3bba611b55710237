"""Runs of one side, compared by hand: chance, what other programs left, and what is neither."""

from dataclasses import replace

import numpy as np
import pytest
from built_campaigns import captured_array

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.chance import without_chance
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.repetition import (
    Runs,
    differs_in_one_mode_too,
    is_confirmed,
    judge_runs,
    repeats,
    to_run_again,
    varies,
)
from parity_tests.judge.sides import PAIRS
from parity_tests.judge.unrepeated import changes
from parity_tests.judge.verdict import Conclusion, RowDraft, conclude
from reports.rows import (
    ArgumentLeaf,
    Failure,
    HostMemory,
    JaxprCounts,
    NamedProgram,
    Observation,
    OutputLeaf,
    agreement_of,
)

PAIR = ("jax-legacy", "jax-simplified")
JAXPR = "{ lambda ; a:f32[]. let\n    b:f32[] = mul a 1.0:f32[]\n  in (b,) }"


def evidence(side, *numbers, jaxpr=JAXPR, **known):
    values = tuple(Value(f"['{n}']", np.float32(each)) for n, each in enumerate(numbers))
    leaves = tuple(
        OutputLeaf(path=v.path, shape=(), dtype="float32", weak_type=False, sha256="")
        for v in values
    )
    return Evidence(
        Observation(program="p", side=side, outputs=leaves, tree="*", **known), values, jaxpr
    )


def failed(side, kind="exception"):
    failure = Failure(kind=kind, stage="call", type="ValueError", message="no")
    return Evidence(Observation(program="p", side=side, failure=failure))


def found_between(*sides):
    return Findings(
        observed=tuple(each.observation for each in sides),
        comparisons=compare_pairs([(sides[0], sides[1])]),
    )


def runs(side, *numbers):
    """The first run, the second, and those alone, by their one output."""
    first, again, *alone = (evidence(side, each) for each in numbers)
    return Runs(first, again, tuple(alone))


def judged(left, right):
    findings = found_between(left.first, right.first)
    return findings, judge_runs(findings, PAIR, left, right, "model.py:9")


def concluded(findings, finding):
    with_finding = Findings(findings.observed, findings.comparisons, not_repeatable=finding)
    return conclude(with_finding, [PAIR])


def test_sides_that_differ_in_every_run_differ():
    left, right = runs(PAIR[0], 1, 1), runs(PAIR[1], 2, 2)
    findings, finding = judged(left, right)
    assert finding is None
    assert repeats(findings, PAIR, left, right)
    assert concluded(findings, None).verdict == "difference"


@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 3, 4, 5), (2, 6)), ((1, 1, 1, 1), (2, 3, 4, 5)), ((1, 3), (2, 2))],
)
def test_a_side_that_differs_from_itself_does_not_repeat_itself(left, right):
    findings, finding = judged(runs(PAIR[0], *left), runs(PAIR[1], *right))
    assert "does not repeat itself: in a second run output ['0'] is another" in finding.what
    assert finding.side == PAIR[len(set(left)) == 1]
    found = concluded(findings, finding)
    assert (found.verdict, found.flip.outcome) == ("not repeatable", "not repeatable")
    assert found.reasons[0].startswith(finding.what)


def test_noise_that_is_far_smaller_explains_nothing():
    findings, finding = judged(runs(PAIR[0], 1, 1.001), runs(PAIR[1], 2, 2.001))
    assert finding is None
    assert findings.comparisons


def test_a_clock_is_chance_though_runs_at_one_time_are_near_to_each_other():
    left, right = runs(PAIR[0], 400, 10, 200, 205), runs(PAIR[1], 600, 30, 215, 217)
    _, finding = judged(left, right)
    assert "does not repeat itself" in finding.what


def test_noise_that_is_smaller_than_the_difference_asks_for_more_runs():
    left, right = runs(PAIR[0], 1, 1.001), runs(PAIR[1], 2, 2)
    findings, _ = judged(left, right)
    assert varies(findings, PAIR, left, right)
    assert not varies(findings, PAIR, runs(PAIR[0], 1, 1), runs(PAIR[1], 2, 2))


def test_what_other_programs_left_is_told_where_both_sides_agree_alone():
    findings, finding = judged(runs(PAIR[0], 1, 2, 2, 2), runs(PAIR[1], 3, 2, 2, 2))
    assert "depends on what ran before it in its process" in finding.what
    assert concluded(findings, finding).verdict == "not repeatable"


def test_sides_that_differ_alone_in_fresh_processes_differ():
    _, finding = judged(runs(PAIR[0], 1, 2, 2, 2), runs(PAIR[1], 3, 4, 4, 4))
    assert finding is None


def test_an_output_that_differs_in_every_run_is_told_from_one_that_does_not():
    def of(side, *pairs):
        first, again = (evidence(side, *each) for each in pairs)
        return Runs(first, again)

    left, right = of(PAIR[0], (1, 1), (2, 1)), of(PAIR[1], (3, 2), (4, 2))
    findings, finding = judged(left, right)
    [outputs] = [
        each
        for each in without_chance(
            Findings(findings.observed, findings.comparisons, not_repeatable=finding)
        ).comparisons
        if each.metric == "outputs"
    ]
    assert [leaf.path for leaf in outputs.leaves] == ["['1']"]
    assert "at ['1']" in outputs.detail
    found = concluded(findings, finding)
    assert (found.verdict, found.flip.outcome) == ("difference", "different")
    assert any("does not repeat itself" in reason for reason in found.reasons)


def test_a_row_marks_what_is_chance_and_our_pipelines_are_not_blamed_for_it():
    """Ours and stock JAX of one mode differ by chance in a program that differs in any case."""
    pair = ("legacy", "jax-legacy")
    left, right = (
        Runs(evidence(side, 1, n), evidence(side, 1, n + 2)) for n, side in enumerate(pair)
    )
    findings = found_between(left.first, right.first)
    finding = judge_runs(findings, pair, left, right, "model.py:9")
    found = replace(findings, not_repeatable=finding)
    named = NamedProgram(name="f", source="model.py:9", summary="")
    row = RowDraft(named, found).row(Conclusion("difference", ()))
    [outputs] = [each for each in row.comparisons if each.metric == "outputs"]
    assert (outputs.outcome, [leaf.rung for leaf in outputs.leaves]) == (
        "not judged",
        ["bitwise", "mismatch"],
    )
    assert agreement_of(row) == "not compared"
    assert agreement_of(row.model_copy(update={"verdict": "not repeatable"})) is None


def test_a_failure_that_does_not_come_back_is_no_difference():
    works, fails = evidence(PAIR[0], 1), failed(PAIR[1])
    left, right = Runs(works, works), Runs(fails, evidence(PAIR[1], 1))
    findings = found_between(works, fails)
    assert to_run_again(findings, [PAIR]) == PAIR
    finding = judge_runs(findings, PAIR, left, right, "model.py:9")
    assert "one run gave ValueError in call and another a result" in finding.what
    found = concluded(findings, finding)
    assert (found.verdict, found.flip.outcome) == ("not repeatable", "not repeatable")
    assert judge_runs(findings, PAIR, left, Runs(fails, fails), "model.py:9") is None


@pytest.mark.parametrize("kind", ["timeout", "memory"])
def test_a_limit_is_nothing_to_run_again_for_and_says_nothing_of_a_run(kind):
    works = evidence(PAIR[0], 1)
    assert to_run_again(found_between(works, failed(PAIR[1], kind)), [PAIR]) is None
    left, right = Runs(works, failed(PAIR[0], kind)), runs(PAIR[1], 2, 2)
    assert judge_runs(found_between(works, right.first), PAIR, left, right, "") is None


def findings(**by_side):
    """Four sides by their one output; None fails."""
    names = {side.replace("_", "-"): n for side, n in by_side.items()}
    of = {name: failed(name) if n is None else evidence(name, n) for name, n in names.items()}
    return Findings(
        tuple(each.observation for each in of.values()),
        compare_pairs([(of[a], of[b]) for a, b in PAIRS]),
    )


def test_the_pair_across_the_flip_is_run_again_where_it_differs():
    noisy = findings(legacy=1, simplified=2, jax_legacy=3, jax_simplified=4)
    assert to_run_again(noisy, PAIRS) == PAIR
    assert differs_in_one_mode_too(noisy, PAIR, PAIRS)
    ours = findings(legacy=1, simplified=2, jax_legacy=2, jax_simplified=2)
    assert to_run_again(ours, PAIRS) == ("legacy", "jax-legacy")
    assert not differs_in_one_mode_too(ours, ("legacy", "jax-legacy"), PAIRS)
    flipped = findings(legacy=1, simplified=2, jax_legacy=1, jax_simplified=2)
    assert not differs_in_one_mode_too(flipped, PAIR, PAIRS)
    assert (
        to_run_again(findings(legacy=1, simplified=1, jax_legacy=1, jax_simplified=1), PAIRS)
        is None
    )


@pytest.mark.parametrize(
    ("legacy", "simplified", "jax_legacy", "jax_simplified", "confirmed"),
    [
        pytest.param(1, 2, 1, 2, True, id="both flips alike"),
        pytest.param(1, None, 1, None, True, id="both flips fail alike"),
        pytest.param(1, 1, 1, 2, False, id="stock JAX alone"),
        pytest.param(1, 2, 1, 1, False, id="ours alone"),
        pytest.param(1, 2, 3, 4, False, id="noise"),
        pytest.param(1, 3, 1, 2, False, id="another value in one mode"),
        pytest.param(1, None, 1, 2, False, id="one of both fails"),
        pytest.param(1, 1, 1, 1, False, id="nothing"),
    ],
)
def test_a_flip_is_confirmed_where_both_implementations_show_it_alike(
    legacy, simplified, jax_legacy, jax_simplified, confirmed
):
    found = findings(
        legacy=legacy, simplified=simplified, jax_legacy=jax_legacy, jax_simplified=jax_simplified
    )
    assert is_confirmed(found, PAIRS) == confirmed
    stock = Findings(
        found.observed, tuple(c for c in found.comparisons if (c.left, c.right) == PAIR)
    )
    assert not is_confirmed(stock, [PAIR])  # one pair alone confirms nothing


def test_a_flip_that_fails_in_another_way_on_each_implementation_is_not_confirmed():
    found = findings(legacy=1, simplified=None, jax_legacy=1, jax_simplified=None)
    *others, stock = found.observed
    assert (stock.side, is_confirmed(found, PAIRS)) == ("jax-simplified", True)
    crash = stock.failure.model_copy(update={"kind": "crash", "type": "SIGSEGV"})
    stock = stock.model_copy(update={"failure": crash})
    assert not is_confirmed(Findings((*others, stock), found.comparisons), PAIRS)


def test_runs_were_fresh_where_both_were_the_first_of_their_process():
    def run(fresh):
        memory = HostMemory(trace_and_lower=0, compile=0, fresh=fresh)
        return evidence(PAIR[0], 1, host_memory=memory)

    assert Runs(run(True), run(True)).were_fresh
    assert not Runs(run(False), run(True)).were_fresh
    assert not Runs(evidence(PAIR[0], 1), evidence(PAIR[0], 1)).were_fresh


# -- what changed ----------------------------------------------------------------------------------


def captured(sha256, **changes):
    return captured_array(sha256=sha256, shape=(3,), bytes=12, **changes)


def argument(sha256, **changes):
    known = {"path": "x['w']", "shape": (3,), "dtype": "float32"}
    return ArgumentLeaf(**{**known, **changes}, sha256=sha256)


def changed(first, other):
    found = changes(
        evidence(PAIR[0], 1, **first), evidence(PAIR[0], 2, **other), source="model.py:9"
    )
    return [(each.what, each.where) for each in found]


def test_an_argument_and_a_captured_array_are_named_with_their_lines():
    first = {"arguments": (argument("a"),), "ledger": (captured("a"), captured("b"))}
    other = {"arguments": (argument("b"),), "ledger": (captured("b"), captured("c"))}
    assert changed(first, other) == [
        ("argument x['w'] float32[3] has other values", "model.py:9"),
        ("captured array float32[3] holds other values", "model.py:12"),
    ]


def test_an_argument_of_another_type_explains_another_trace():
    first = {"arguments": (argument("a"),)}
    other = {"arguments": (argument("b", shape=(4,)),), "jaxpr": "another"}
    [(what, _)] = changed(first, other)
    assert what == "argument x['w'] has another type: float32[3] against float32[4]"


def test_an_array_too_large_for_a_digest_of_its_own_is_named_by_the_digest_of_all():
    def known(digest):
        counts = JaxprCounts(
            equations=1, captured_arrays=2, captured_bytes=24, captured_values=digest
        )
        return {"ledger": (captured("a"), captured("", line=40)), "jaxpr_counts": counts}

    first, other = (known(each) for each in "ab")
    runs_of = []
    for each in (first, other):
        made = evidence(PAIR[0], 1, ledger=each["ledger"])
        observation = made.observation.model_copy(update={"jaxpr": each["jaxpr_counts"]})
        runs_of.append(Evidence(observation, made.outputs, made.jaxpr))
    [change] = changes(*runs_of, source="")
    assert change.where == "model.py:40"


def test_another_trace_shows_the_first_lines_that_differ():
    [(what, where)] = changed({}, {"jaxpr": JAXPR.replace("1.0", "2.0")})
    assert what == (
        "the traced program is another: b:f32[] = mul a 1.0:f32[] against b:f32[] = mul a 2.0:f32[]"
    )
    assert where == ""


def test_outputs_are_named_where_nothing_before_them_changed():
    [(what, where)] = changed({}, {})
    assert what.startswith("output ['0'] is another, though no argument")
    assert where == "model.py:9"
