"""The flip verdict on rows written by hand: each rule, and what only looks like its case."""

from dataclasses import replace

import pytest
from built_campaigns import captured_array, leaf, timed

from parity_tests.advice import advice
from parity_tests.judge.across_flip import said_once
from parity_tests.judge.findings import Findings, NotRepeatable
from parity_tests.judge.flip_verdict import decide
from parity_tests.judge.sides import FLIPS
from reports.rows import (
    ArgumentLeaf,
    CallAsWritten,
    Comparison,
    DriftAttribution,
    ExecutableCounts,
    Failure,
    FlipReason,
    Hazard,
    HostMemory,
    JaxprCounts,
    MeasuredWith,
    MemoryStats,
    MovedArray,
    Numbers,
    Observation,
    ProgramNumber,
    StageTimes,
)

BEFORE, AFTER = FLIPS[0]
MIB = 2**20

WEIGHTS = captured_array(fate="hoisted", sha256="")
TABLE = WEIGHTS.model_copy(update={"line": 40, "bytes": 4})
FOLDED = Hazard(
    kind="folded by legacy alone", file="model.py", line=7, array="4 MiB of results",
    what="3 equations on captured arrays alone", fix="compute them before",
)  # fmt: skip
DONATED = Hazard(
    kind="captured and donated", file="model.py", line=12, array="jax.Array float32[8,8]",
    what="fails when it is called", fix="capture a copy",
)  # fmt: skip


def observation(side, **changes):
    hoisted = (TABLE, WEIGHTS) if side == AFTER else ()
    return Observation(program="p", side=side, ledger=hoisted, **changes)


def failed(side, kind="exception", message="no\nmore"):
    failure = Failure(kind=kind, stage="call", type="ValueError", message=message, traceback="")
    return Observation(program="p", side=side, failure=failure)


def comparison(metric, outcome, leaves=(), pair=(BEFORE, AFTER)):
    return Comparison(
        metric=metric, left=pair[0], right=pair[1], outcome=outcome, left_value="1",
        right_value="2", detail="here", leaves=leaves,
    )  # fmt: skip


EQUAL = comparison("outputs", "equal", (leaf("bitwise"),))


def time(verdict, metric="call", pair=(BEFORE, AFTER)):
    return timed(verdict, metric=metric, left=pair[0], right=pair[1])


def decided(*comparisons, before=None, after=None, times=(), hazards=(), drift=(), pairs=FLIPS):
    findings = Findings(
        observed=(before or observation(BEFORE), after or observation(AFTER)),
        comparisons=comparisons or (EQUAL,), times=times, hazards=hazards, drift=drift,
    )  # fmt: skip
    return decide(findings, ("as the judge says",), pairs)


def worst(*comparisons, **known):
    verdict = decided(*comparisons, **known)
    assert verdict.outcome == verdict.reasons[0].outcome
    return verdict.reasons[0]


def test_nothing_that_differs_is_safe_and_what_was_not_measured_is_said():
    verdict = decided()
    assert (verdict.left, verdict.right, verdict.outcome) == (BEFORE, AFTER, "safe")
    [reason] = verdict.reasons
    assert reason.what == "times were not judged"
    assert "--rounds" in reason.action
    assert decided(times=[time("equivalent"), time("not measured", "compile")]).reasons == ()


def test_times_of_too_few_rounds_or_of_another_pair_were_not_judged():
    few = [time("not measured", metric) for metric in ("trace", "call")]
    of_another_pair = [time("slower", pair=FLIPS[1])]
    for times in (few, of_another_pair):
        [reason] = decided(times=times).reasons
        assert (reason.outcome, reason.what) == ("safe", "times were not judged")


def test_a_hazard_is_a_reason_even_where_nothing_differed():
    [_, reason] = decided(hazards=[FOLDED]).reasons
    assert reason.outcome == "safe"
    assert reason.what == "folded by legacy alone: 3 equations on captured arrays alone"
    assert (reason.where, reason.action) == ("model.py:7 (4 MiB of results)", "compute them before")


def test_donating_a_captured_array_fails_though_the_sides_were_run_without_donation():
    reason = worst(hazards=[FOLDED, DONATED])
    assert reason.outcome == "different"
    assert reason.where == "model.py:12 (jax.Array float32[8,8])"


READ = Hazard(
    kind="reads jaxpr constants", file="lib.py", line=3, array="`.consts` of a closed_jaxpr",
    what="it is read at lib.py:3", fix="evaluate it", changes_program=True,
)  # fmt: skip
HARMLESS = READ.model_copy(update={"line": 9, "fix": "nothing", "changes_program": False})


@pytest.mark.parametrize(
    "known",
    [
        {"after": "failed"},
        {"comparison": comparison("outputs", "different", (leaf("mismatch"),))},
        {"comparison": comparison("output shapes", "different")},
        {"comparison": comparison("callbacks", "different")},
    ],
)
def test_a_read_that_changes_the_program_is_the_cause_and_said_once(known):
    after = failed(AFTER) if known.get("after") else None
    verdict = decided(
        known.get("comparison", FAILED), after=after, hazards=[HARMLESS, READ], drift=[]
    )
    reason, *others = verdict.reasons
    assert (reason.outcome, reason.action) == ("different", "evaluate it")
    assert reason.where == "lib.py:3 (`.consts` of a closed_jaxpr)"
    assert reason.what.endswith("; it is read at lib.py:3")
    assert [each.action for each in others if each.where] == ["nothing"]


def test_a_read_is_said_once_where_it_makes_two_programs_that_agree_here():
    read = FlipReason(outcome="safe", kind="hazard", what="read", where="lib.py:3", action="do not")
    parts = read.model_copy(update={"outcome": "agrees here, not proved", "kind": "proof"})
    assert said_once([parts, read]) == [parts]


def test_a_program_that_another_run_makes_otherwise_is_not_refuted():
    numbers = [Numbers(jaxpr=ProgramNumber(digest=text, effects=len(text))) for text in ("d", "ee")]
    observed = [
        observation(side, numbers=each) for side, each in zip(FLIPS[0], numbers, strict=True)
    ]
    refuted = Findings(observed=tuple(observed), comparisons=(EQUAL,))
    assert decide(refuted, (), FLIPS).outcome == "different"
    draws = NotRepeatable(side=BEFORE, what="it draws")
    assert decide(replace(refuted, not_repeatable=draws), (), FLIPS).outcome == "not repeatable"


def test_a_read_alone_is_safe_and_one_that_changes_nothing_is_no_cause():
    assert decided(hazards=[READ, HARMLESS]).outcome == "safe"
    action = worst(FAILED, after=failed(AFTER), hazards=[HARMLESS]).action
    assert action.startswith("no captured array is hoisted: find out what the read at ")


@pytest.mark.parametrize("kind", ["captured and donated", "incompatible devices"])
def test_a_hazard_that_fails_by_itself_goes_before_a_read(kind):
    fails = DONATED.model_copy(update={"kind": kind})
    reason = worst(FAILED, after=failed(AFTER), hazards=[READ, fails])
    assert reason.action == "capture a copy"


def test_a_read_does_not_explain_a_time_or_a_placement():
    for metric, outcome in [("dispatch in C++", "different"), ("output committed", "different")]:
        assert worst(comparison(metric, outcome), hazards=[READ]).action != "evaluate it"


@pytest.mark.parametrize(
    ("metric", "outcome", "verdict"),
    [
        ("output shapes", "different", "different"),
        ("callbacks", "different", "different"),
        ("output committed", "expected difference", "placed otherwise"),
        ("output shardings", "expected difference", "placed otherwise"),
        ("output shardings", "not compared", "safe"),
        ("const args", "expected difference", "safe"),
        ("StableHLO bytes", "not judged", "safe"),
        ("recompiles", "different", "safe but slower or larger"),
        ("dispatch in C++", "different", "safe but slower or larger"),
    ],
)
def test_what_a_comparison_comes_to(metric, outcome, verdict):
    reason = worst(EQUAL, comparison(metric, outcome))
    assert reason.outcome == verdict
    if verdict != "safe":
        assert reason.what == f"{metric}: 1 against 2 (here)"
        assert reason.action


def test_comparisons_and_times_of_other_pairs_do_not_count():
    ours = ("legacy", AFTER)
    elsewhere = comparison("output shapes", "different", pair=ours)
    verdict = decided(EQUAL, elsewhere, times=[time("slower", pair=ours), time("equivalent")])
    assert (verdict.outcome, verdict.reasons) == ("safe", ())


def test_where_outputs_are_placed_has_the_fix_of_its_hazard():
    placed = DONATED.model_copy(update={"kind": "placement of outputs", "fix": "commit them"})
    moved = comparison("output committed", "expected difference")
    assert worst(EQUAL, moved, hazards=[FOLDED, placed]).action == "commit them"


@pytest.mark.parametrize("rung", ["ulp", "tolerance", "arbiter"])
def test_rounding_is_drift_that_is_explained_and_names_the_largest_array(rung):
    reason = worst(comparison("outputs", "equal", (leaf("bitwise"), leaf(rung))))
    assert reason.outcome == "numerics drift, explained"
    assert reason.where == "model.py:12"


def test_two_computations_are_no_rounding_where_no_cause_was_looked_for():
    rounding = comparison("outputs", "equal", (leaf("ulp"),))
    before, after = (
        observation(side, numbers=Numbers(jaxpr=ProgramNumber(digest=side))) for side in FLIPS[0]
    )
    reason = worst(rounding, before=before, after=after)
    assert (reason.outcome, reason.action) == ("different", advice("one program"))
    assert "no cause was looked for, and the two forms part" in reason.what
    reason = worst(rounding, hazards=[HARMLESS, READ])
    assert (reason.outcome, reason.action) == ("different", "evaluate it")


def test_sides_that_were_called_with_other_arguments_say_so_and_blame_nothing_else():
    proved = Numbers(jaxpr=ProgramNumber(digest="d"))
    before, after = (
        observation(
            side,
            numbers=proved,
            arguments=(ArgumentLeaf(path="x", shape=(3,), dtype="float32", sha256=side),),
        )
        for side in FLIPS[0]
    )
    why = "the sides were called with other arguments: argument x float32[3] has other values"
    for rung, outcome in (("ulp", "equal"), ("mismatch", "different")):
        outputs = comparison("outputs", outcome, (leaf(rung),))
        verdict = decided(outputs, before=before, after=after)
        assert verdict.outcome == "different"
        assert why in verdict.reasons[0].what
        assert verdict.reasons[0].action == advice("other arguments")
        assert verdict.reasons[-1].what == f"both forms are proved one computation; {why}"


@pytest.mark.parametrize(
    ("digests", "outcome"), [("dd", "safe"), ("de", "could not compare"), ("", "could not compare")]
)
def test_outputs_of_other_arguments_that_are_equal_tell_nothing_without_a_proof(digests, outcome):
    before, after = (
        observation(
            side,
            numbers=Numbers(jaxpr=ProgramNumber(digest=digests[n])) if digests else None,
            arguments=(ArgumentLeaf(path="x", shape=(3,), dtype="float32", sha256=side),),
        )
        for n, side in enumerate(FLIPS[0])
    )
    equal = comparison("outputs", "equal", (leaf("bitwise"),))
    verdict = decided(equal, before=before, after=after)
    assert verdict.outcome == outcome
    assert any("called with other arguments" in each.what for each in verdict.reasons)


def test_a_side_that_failed_before_its_arguments_were_read_was_not_called_with_others():
    argument = ArgumentLeaf(path="x", shape=(), dtype="float32", sha256="d")
    after = observation(AFTER, arguments=(argument,))
    verdict = decided(before=failed(BEFORE), after=after)
    assert not any("called with other arguments" in each.what for each in verdict.reasons)


def test_of_many_other_arguments_some_are_named():
    before, after = (
        observation(
            side,
            arguments=tuple(
                ArgumentLeaf(path=f"x[{n}]", shape=(), dtype="float32", sha256=side)
                for n in range(500)
            ),
        )
        for side in FLIPS[0]
    )
    outputs = comparison("outputs", "different", (leaf("mismatch"),))
    reason = worst(outputs, before=before, after=after)
    assert reason.what.endswith(", argument x[3] float32[] has other values, and 496 more")


def test_values_beyond_rounding_differ():
    reason = worst(comparison("outputs", "different", (leaf("mismatch"),)))
    assert reason.outcome == "different"
    assert "culprit" in reason.action


def attributed(cause, pair=(BEFORE, AFTER), wrong=None):
    return DriftAttribution(
        left=pair[0], right=pair[1], cause=cause, evidence="as it was found",
        equation="exp, equation 2", file="model.py", line=77, wrong=wrong,
    )  # fmt: skip


@pytest.mark.parametrize("cause", ["constant folding", "layout or fusion"])
def test_what_xla_does_is_drift_that_is_explained_at_its_line(cause):
    outputs = comparison("outputs", "equal", (leaf("ulp"),))
    reason = worst(outputs, drift=[attributed(cause)])
    assert reason.outcome == "numerics drift, explained"
    assert f"cause: {cause}, first in exp, equation 2 (as it was found)" in reason.what
    assert reason.where == "model.py:77"


@pytest.mark.parametrize("wrong", [BEFORE, AFTER, None])
def test_values_that_xla_folds_wrongly_are_not_to_be_kept(wrong):
    outputs = comparison("outputs", "different", (leaf("mismatch"),))
    reason = worst(outputs, drift=[attributed("constant folding", wrong=wrong)])
    assert reason.outcome == "different"
    assert (reason.action == advice("folded wrong")) == (wrong == BEFORE)
    assert ("keep the array inlined" in reason.action) == (wrong != BEFORE)


@pytest.mark.parametrize("cause", ["constant folding", "layout or fusion"])
def test_values_beyond_the_tolerance_differ_whatever_the_cause(cause):
    outputs = comparison("outputs", "different", (leaf("mismatch"),))
    reason = worst(outputs, drift=[attributed(cause)])
    assert (reason.outcome, reason.where) == ("different", "model.py:77")
    assert "outputs are different in their values" in reason.what
    assert f"cause: {cause}" in reason.what
    assert "the program magnifies a rounding" in reason.action
    assert "nothing" not in reason.action
    assert "culprit" not in reason.action


@pytest.mark.parametrize(
    ("seen", "cause", "outcome"),
    [
        (("equal", "ulp"), "a bug", "different"),
        (("different", "mismatch"), "a bug", "different"),
        (("different", "mismatch"), "not attributed", "different"),
        (("equal", "ulp"), "not attributed", "different"),
    ],
)
def test_a_bug_differs_and_what_was_looked_into_in_vain_is_not_explained(seen, cause, outcome):
    outputs = comparison("outputs", seen[0], (leaf(seen[1]),))
    reason = worst(outputs, drift=[attributed(cause)])
    assert reason.outcome == outcome
    assert f"cause: {cause}" in reason.what


def test_a_cause_that_was_not_found_in_time_makes_no_rounding_a_difference():
    late = attributed("not attributed").model_copy(update={"out_of_time": True})
    for rung, why in {
        "ulp": "that is within the rounding of the outputs' dtypes",
        "arbiter": "both sides are equally near to double precision",
    }.items():
        reason = worst(comparison("outputs", "equal", (leaf(rung),)), drift=[late])
        assert (reason.outcome, reason.action) == (
            "numerics drift, explained", advice("fused drift"),
        )  # fmt: skip
        assert "cause: not attributed" in reason.what
        assert reason.what.endswith(f"(as it was found); {why}")
    beyond = worst(comparison("outputs", "different", (leaf("mismatch"),)), drift=[late])
    assert (beyond.outcome, beyond.action) == ("different", advice("cause not known"))


def test_the_drift_of_another_pair_says_nothing_of_the_flip():
    outputs = comparison("outputs", "different", (leaf("mismatch"),))
    ours = attributed("constant folding", ("legacy", "simplified"))
    assert worst(outputs, drift=[ours]).outcome == "different"


def test_outputs_that_could_not_be_compared_are_not_safe():
    assert worst(comparison("outputs", "not compared")).outcome == "could not compare"


def test_a_call_that_is_slower_for_want_of_folding_names_the_line_of_the_work():
    reason = worst(times=[time("slower")], hazards=[FOLDED])
    assert reason.outcome == "safe but slower or larger"
    assert reason.what == (
        "each call takes 2.00x as long: 3 equations on captured arrays alone; 1.90x to 2.10x"
    )
    assert reason.where == "model.py:7 (4 MiB of results)"
    assert reason.action == "compute them before"


WRITEABLE = DONATED.model_copy(update={"kind": "writeable NumPy array"})


@pytest.mark.parametrize(
    ("operations", "others", "said"),
    [
        (8_200, [], ""),
        (8_200, [WRITEABLE], ": NumPy arrays go to the device"),
        (1_000_000, [WRITEABLE], ": 3 equations on captured arrays alone"),
    ],
)
def test_work_that_is_too_little_for_the_time_is_not_its_cause(operations, others, said):
    before, after = (
        observation(
            side,
            times=StageTimes(
                trace=1, lower=1, compile=1, first_call=seconds, call=None, call_samples=0
            ),
        )
        for side, seconds in zip(FLIPS[0], (0.0006, 0.0021), strict=True)
    )
    folded = FOLDED.model_copy(update={"operations": operations})
    known = {"before": before, "after": after, "hazards": [folded, *others]}
    reason = worst(times=[time("slower", "first call")], **known)
    assert reason.what == f"the first call takes 2.00x as long{said}; 1.90x to 2.10x"


def test_a_slower_compilation_is_not_laid_to_what_only_a_call_folds():
    reason = worst(times=[time("slower", "compile")], hazards=[FOLDED])
    assert reason.what == "compiling takes 2.00x as long; 1.90x to 2.10x"
    assert (reason.where, reason.action) == ("model.py:12", advice("compile culprit"))


def counted(side, flops=0, moved=None):
    counts = JaxprCounts(equations=1, captured_arrays=2, captured_bytes=260, moved=moved)
    executable = ExecutableCounts(
        instructions=1, fusions=0, constants=0, constant_bytes=0, serialized_bytes=None, flops=flops
    )
    return observation(side, jaxpr=counts, executable=executable)


MOVED = MovedArray(what="`transpose` of f32[9] to f32[9]", bytes=MIB, file="model.py", line=9)


@pytest.mark.parametrize(
    ("before", "after", "cause", "where", "action"),
    [
        (100, 109, "", "model.py:12", advice("tune")),
        (100, 111, ": XLA computes more", "model.py:12", advice("computes more")),
    ],
)
def test_a_slower_call_is_laid_to_more_work_only_where_xla_counts_more(
    before, after, cause, where, action
):
    pair = counted(BEFORE, before), counted(AFTER, after)
    reason = worst(before=pair[0], after=pair[1], times=[time("slower")])
    assert reason.what == f"each call takes 2.00x as long{cause}; 1.90x to 2.10x"
    assert (reason.where, reason.action) == (where, action)


def test_the_largest_price_is_first_and_drift_last():
    drift = comparison("outputs", "equal", (leaf("ulp"),))
    verdict = decided(drift, times=[time("slower", "compile"), time("slower")])
    assert verdict.outcome == "safe but slower or larger"
    assert [each.subject or each.kind for each in verdict.reasons] == ["call", "compile", "outputs"]


def test_a_slower_call_is_laid_to_a_large_conversion_that_legacy_folds():
    def reason(moved):
        return worst(after=counted(AFTER, moved=moved), times=[time("slower")])

    large, small = reason(MOVED), reason(MOVED.model_copy(update={"bytes": MIB - 1}))
    assert large.what.startswith(f"each call takes 2.00x as long: XLA no longer folds {MOVED.what}")
    assert (large.where, large.action) == ("model.py:9", advice("convert before"))
    assert small.action == advice("tune")


def test_a_slower_call_without_a_hoisted_array_is_measured_again():
    after = Observation(program="p", side=AFTER)
    assert "measure again" in worst(times=[time("slower")], after=after).action


@pytest.mark.parametrize("verdict", ["faster", "equivalent", "inconclusive", "not measured"])
def test_other_verdicts_on_times_are_safe(verdict):
    assert decided(times=[time(verdict)]).outcome == "safe"


def temporaries(side, count):
    memory = MemoryStats(
        arguments=0, outputs=0, temporaries=count, aliased=0, generated_code=0
    )  # fmt: skip
    return observation(side, memory=memory)


@pytest.mark.parametrize(
    ("before", "after", "larger"),
    [
        (0, MIB + 1, True),
        (0, MIB, False),
        (10 * MIB, 12 * MIB, True),
        (100 * MIB, 109 * MIB, False),
        (12 * MIB, 10 * MIB, False),
    ],
)
def test_larger_is_more_than_a_tenth_and_more_than_a_mebibyte(before, after, larger):
    reason = worst(before=temporaries(BEFORE, before), after=temporaries(AFTER, after))
    assert (reason.outcome == "safe but slower or larger") is larger
    assert not larger or reason.what.startswith("temporaries of a call: ")


@pytest.mark.parametrize(
    ("fresh", "mib", "outcome"),
    [(True, 193, "safe but slower or larger"), (True, 191, "safe"), (False, 193, "safe")],
)
def test_a_peak_of_host_memory_is_one_sample_and_counts_in_a_fresh_process(fresh, mib, outcome):
    peaks = [HostMemory(trace_and_lower=0, compile=n, fresh=fresh) for n in (0, mib * MIB)]
    pairs = zip((BEFORE, AFTER), peaks, strict=True)
    before, after = (observation(side, host_memory=peak) for side, peak in pairs)
    assert decided(before=before, after=after).outcome == outcome


FAILED = comparison("outputs", "not compared")


@pytest.mark.parametrize("kind", ["exception", "crash"])
def test_a_program_that_the_flip_breaks_differs(kind):
    reason = worst(FAILED, after=failed(AFTER, kind), hazards=[FOLDED, DONATED])
    assert reason.outcome == "different"
    assert reason.what.endswith("ValueError: no")
    assert reason.where == "model.py:12 (jax.Array float32[8,8])"
    assert reason.action == "capture a copy"


def test_a_forbidden_transfer_has_the_fix_of_its_hazard_and_no_other_failure_has():
    guarded = DONATED.model_copy(update={"kind": "implicit transfer", "fix": "move it before"})
    forbidden = failed(AFTER, message="Disallowed host-to-device transfer: aval=...")
    hazards = [DONATED, guarded]
    assert worst(FAILED, after=forbidden, hazards=hazards).action == "move it before"
    assert worst(FAILED, after=failed(AFTER), hazards=hazards).action == "capture a copy"
    assert worst(FAILED, after=failed(AFTER), hazards=[guarded]).where == ""


@pytest.mark.parametrize("kind", ["timeout", "memory", "wrong side", "unavailable"])
def test_a_limit_of_the_campaign_tells_nothing(kind):
    reason = worst(FAILED, after=failed(AFTER, kind), hazards=[FOLDED])
    assert reason.outcome == "could not compare"
    assert reason.where == ""


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("timeout", "raise --timeout"),
        ("memory", "raise --memory-limit"),
        ("wrong side", "let nothing set jax_use_simplified_jaxpr_constants"),
        ("unavailable", "find out why the side is not there"),
    ],
)
def test_each_of_these_has_the_advice_that_fits(kind, action):
    assert worst(FAILED, after=failed(AFTER, kind)).action.startswith(action)


@pytest.mark.parametrize(
    ("kind", "action"), [("timeout", "raise --timeout"), ("memory", "raise --memory-limit")]
)
def test_a_limit_before_the_flip_has_the_same_advice(kind, action):
    alone = worst(FAILED, before=failed(BEFORE, kind))
    both = worst(FAILED, before=failed(BEFORE, kind), after=failed(AFTER, kind))
    for each in (alone, both):
        assert each.what.startswith("jax-legacy reaches a limit, ")  # and may not fail today
        assert each.action.startswith(action)


def test_a_side_in_the_other_mode_is_no_failure_of_the_program():
    both = worst(FAILED, before=failed(BEFORE, "wrong side"), after=failed(AFTER))
    assert both.what == "jax-legacy ran in the other mode: no"


@pytest.mark.parametrize("metric", ["outputs", "calls agree"])
def test_an_array_that_is_written_to_explains_other_values(metric):
    written = WEIGHTS.model_copy(update={"written": True})
    after = Observation(program="p", side=AFTER, ledger=(TABLE, written))
    reason = worst(comparison(metric, "different", leaves=(leaf("mismatch"),)), after=after)
    assert reason.where == "model.py:12"
    assert reason.action.startswith("capture a copy")
    assert worst(comparison("const args", "different"), after=after).action != reason.action


SEEN = [("0x7f3a1c0e5b90", 139888012345104), ("0x7fb2c84a1d10", 140406012345680)]


def test_a_program_that_fails_today_cannot_be_compared():
    assert worst(FAILED, before=failed(BEFORE)).what.startswith("jax-legacy fails today, and ")
    both = worst(FAILED, before=failed(BEFORE), after=failed(AFTER))
    assert both.what.startswith("jax-legacy fails today, alike: ")
    assert both.outcome == "could not compare"
    addresses = [f"no <A at {where}>, id {number}" for where, number in SEEN]
    before, after = map(failed, (BEFORE, AFTER), ("exception", "exception"), addresses)
    assert worst(FAILED, before=before, after=after).what.startswith(
        "jax-legacy fails today, alike"
    )
    other = worst(FAILED, before=failed(BEFORE), after=failed(AFTER, "crash"))
    assert other.what == (
        "jax-legacy fails today: exception in call: ValueError: no; jax-simplified fails "
        "otherwise: crash in call: ValueError: no"
    )


@pytest.mark.parametrize(
    ("jax", "of_jax", "is_told"),
    [
        ("0.8.3", True, True),
        ("0.9.2", True, True),
        ("0.8.3", False, False),
        ("0.10.0", True, False),
    ],
)
def test_a_release_whose_flag_is_broken_is_at_fault_where_jax_raises(jax, of_jax, is_told):
    after = failed(AFTER)
    measured_with = MeasuredWith(python="3.11.7", jax=jax, jaxlib=jax, backend="cpu")
    failure = after.failure.model_copy(update={"of_jax": of_jax})
    after = after.model_copy(update={"failure": failure, "measured_with": measured_with})
    reason = worst(FAILED, after=after)
    assert reason.outcome == "different"
    assert reason.what.endswith("ValueError: no")  # in the words of JAX
    told = f"nothing in the program: jax {jax} fails with its flag; use 0.10.0 or newer"
    assert (reason.action == told) == is_told
    # A hazard is of the program, whatever the release.
    assert worst(FAILED, after=after, hazards=[DONATED]).action == "capture a copy"


def test_a_program_without_observations_could_not_be_compared():
    [reason] = decide(Findings(not_run="no jax"), ("no jax",), FLIPS).reasons
    assert (reason.outcome, reason.what) == ("could not compare", "no jax")


def test_stock_jax_is_flipped_where_it_was_run_and_else_the_engine():
    assert decided(pairs=[("legacy", "simplified"), *FLIPS]).left == "jax-legacy"
    assert decided(pairs=[("legacy", "simplified")]).left == "legacy"
    assert decided(pairs=[("legacy", "jax-legacy")]) is None
    assert decided(pairs=[("legacy", "legacy")]) is None


def test_outputs_of_other_types_are_different_and_not_without_a_comparison():
    dtypes = comparison("output dtypes", "different")
    reason = worst(comparison("outputs", "not compared"), dtypes)
    assert (reason.outcome, reason.what.split(":")[0]) == ("different", "output dtypes")


def test_no_array_is_looked_for_where_none_is_hoisted():
    alone = Observation(program="p", side=AFTER)
    reason = worst(comparison("outputs", "different", (leaf("mismatch"),)), after=alone)
    assert reason.action == "no captured array is hoisted: find out what else reads the flag"


def with_distance(rung, max_abs, pair=(BEFORE, AFTER)):
    far = leaf(rung).model_copy(update={"max_abs": max_abs})
    return comparison("outputs", "different", (far,), pair)


def test_sides_of_one_mode_that_differ_as_much_are_named_and_no_culprit():
    ours = ("legacy", "jax-legacy")
    reason = worst(with_distance("mismatch", 1.0), with_distance("mismatch", 0.5, ours))
    assert reason.outcome == "different"
    assert "legacy and jax-legacy of one mode differ as much" in reason.what
    assert "--sides legacy,jax-legacy" in reason.action
    assert "culprit" not in reason.action
    shapes = [comparison("output shapes", "different", pair=p) for p in ((BEFORE, AFTER), ours)]
    assert "--sides legacy,jax-legacy" in worst(EQUAL, *shapes).action


@pytest.mark.parametrize(
    ("pair", "max_abs"), [(("legacy", "jax-legacy"), 0.01), (("simplified", "jax-simplified"), 1.0)]
)
def test_sides_that_differ_far_less_or_after_the_flip_alone_say_nothing(pair, max_abs):
    reason = worst(with_distance("mismatch", 1.0), with_distance("mismatch", max_abs, pair))
    assert "one mode" not in reason.what
    assert "culprit" in reason.action


def test_bits_that_are_not_repeated_are_rounding_within_the_ladder_and_else_chance():
    unrepeated = attributed("not attributed").model_copy(update={"unrepeated": True})
    rounding = worst(comparison("outputs", "equal", (leaf("ulp"),)), drift=[unrepeated])
    assert rounding.outcome == "numerics drift, explained"
    assert "runs of one side differ alike" in rounding.what
    different = comparison("outputs", "different", (leaf("mismatch"),))
    chance = worst(different, drift=[unrepeated])
    assert chance.outcome == "not repeatable"
    actions = [each.action for each in decided(different, drift=[unrepeated]).reasons]
    assert advice("judge times") not in actions  # rounds judge nothing by chance
    assert "culprit" not in chance.action


WRITEABLE = Hazard(
    kind="writeable NumPy array", file="model.py", line=12, array="NumPy array float32[64]",
    what="if it is written to", fix="capture a copy",
)  # fmt: skip
CALL = CallAsWritten()
NOT_MADE = CallAsWritten(
    failure=Failure(kind="unavailable", stage="calls as written", type="KeptOutside", message="")
)


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        ({"written_in_calls": ("float32[64]",), "as_written": (CALL,)}, "different"),
        ({"written_in_calls": ("float32[9]",), "as_written": (CALL,)}, "safe"),
        # The tester's trace makes what the calls of the user do not make: they are what counts.
        ({"written_in_trace": ("float32[64]",), "as_written": (CALL,)}, "safe"),
        # A call that was not made says nothing of it.
        (
            {"written_in_trace": ("float32[64]",), "as_written": (NOT_MADE,)},
            "could not compare",
        ),
        # Who writes while JAX traces may capture what was written.
        ({"written_in_trace": ("float32[64]",)}, "could not compare"),
        (
            {
                "written_in_calls": ("float32[64]",),
                "as_written": (CALL,),
                "traced_in_each_call": True,
            },
            "could not compare",
        ),
    ],
)
def test_a_write_that_was_seen_into_a_captured_array_is_never_safe(seen, outcome):
    wrote = observation(AFTER, **seen)
    assert decided(EQUAL, after=wrote, hazards=(WRITEABLE,)).outcome == outcome
