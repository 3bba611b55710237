"""What one side makes of a program on two versions of JAX: each kind of change, planted once."""

from dataclasses import replace

import numpy as np
import pytest
from built_campaigns import captured_array, timed

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.across_versions import OnVersion, changes
from reports.rows import (
    ArgumentLeaf,
    ExecutableCounts,
    Failure,
    JaxprCounts,
    MeasuredWith,
    Observation,
    OutputLeaf,
    StageTimes,
)
from reports.rows.calls import Effect, Effects
from reports.rows.observation import Numbers, ProgramNumber

ONE = np.float32([1.0, 2.0])


COUNTS = JaxprCounts(equations=3, captured_arrays=1, captured_bytes=8)


def evidence(value=ONE, *, side="jax-simplified", jaxpr="{ }", counts=COUNTS, leaf=None, **fields):
    row = {
        "path": "",
        "shape": value.shape,
        "dtype": str(value.dtype),
        "weak_type": False,
        "sha256": "",
        "sharding": "cpu:0",
    }
    observed = Observation(
        program="p",
        side=side,
        outputs=(OutputLeaf(**row | (leaf or {})),),
        jaxpr=counts,
        **{"tree": "*"} | fields,
    )
    return Evidence(observed, (Value("", value),), jaxpr)


def failing(type_="TypeError", message="no", *, side="jax-simplified", stage="compile"):
    failure = Failure(kind="exception", stage=stage, type=type_, message=message)
    return Evidence(Observation(program="p", side=side, failure=failure))


def judged(*versions, **of_last):
    """The changes of a program whose one side left this evidence on 0.1, 0.2 and so on."""
    on = [
        OnVersion(f"0.{number}", {each.observation.side: each} if each else {})
        for number, each in enumerate(versions, 1)
    ]
    last = on[-1]
    on[-1] = OnVersion(last.label, last.evidence, **of_last)
    return list(changes("p", on))


def outcome(before, after, **of_last):
    [change] = judged(before, after, **of_last)
    return change.outcome, change.detail


def test_bitwise_equal_outputs_are_equal():
    assert outcome(evidence(), evidence()) == ("equal", "bitwise equal")


@pytest.mark.parametrize(
    ("relative", "expected", "rung"),
    [
        (1e-7, "within tolerance", "ulp"),
        (8e-7, "within tolerance", "tolerance"),
        (1e-5, "different", "mismatch"),
    ],
)
def test_outputs_stand_on_the_ladder(relative, expected, rung):
    found, detail = outcome(evidence(), evidence(ONE * np.float32(1 + relative)))
    assert found == expected
    assert f"outputs: {rung} at the only output" in detail


def test_values_that_are_as_near_to_the_truth_are_within_tolerance():
    truth = (Value("", np.float64([1.0, 2.0]) * (1 + 1e-5)),)
    found, detail = outcome(evidence(), evidence(ONE * np.float32(1 + 2e-5)), truth=truth)
    assert found == "within tolerance"
    assert "double precision" in detail


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        ({"leaf": {"weak_type": True}}, "output weak types"),
        ({"leaf": {"sharding": "cpu:1"}}, "output shardings"),
        ({"tree": "{'a': *}"}, "output structure"),
        ({"leaf": {"dtype": "float16"}}, "output dtypes"),
    ],
)
def test_types_and_placement_are_judged(change, metric):
    found, detail = outcome(evidence(), evidence(**change))
    assert found == "different"
    assert metric in detail


@pytest.mark.parametrize(
    ("before", "after", "expected", "said"),
    [
        (evidence(), failing(), "new failure", "exception in compile: TypeError: no"),
        (failing(), evidence(), "fixed failure", "it failed: exception in compile: TypeError: no"),
        (failing(), failing(message="not"), "same failure", "exception in compile: TypeError: not"),
        (
            failing(),
            failing("AttributeError", "gone"),
            "another failure",
            "exception in compile: TypeError: no; now: exception in compile: AttributeError: gone",
        ),
        (
            failing(),
            failing(stage="call"),
            "another failure",
            "exception in compile: TypeError: no; now: exception in call: TypeError: no",
        ),
    ],
)
def test_failures_are_judged(before, after, expected, said):
    assert outcome(before, after) == (expected, said)


def test_behind_a_failure_outputs_are_compared_with_the_last_version_that_worked():
    found = judged(evidence(), failing(), evidence(ONE * 2))
    assert [(each.before, each.after, each.outcome) for each in found] == [
        ("0.1", "0.2", "new failure"),
        ("0.2", "0.3", "fixed failure"),
        ("0.1", "0.3", "different"),
    ]


def test_a_version_without_the_program_is_stepped_over():
    [change] = judged(evidence(), None, evidence())
    assert (change.before, change.after, change.outcome) == ("0.1", "0.3", "equal")


def test_counters_are_shown_and_decide_nothing():
    more = JaxprCounts(equations=4, captured_arrays=1, captured_bytes=8)
    [change] = judged(evidence(), evidence(jaxpr="{ a }", counts=more))
    assert change.outcome == "equal"
    assert [(e.metric, e.left_value, e.right_value, e.outcome) for e in change.counters] == [
        ("jaxpr equations", "3", "4", "not judged")
    ]


def test_sizes_that_differ_in_every_run_are_not_shown():
    counts = ExecutableCounts(
        instructions=3, fusions=1, constants=0, constant_bytes=0, serialized_bytes=900
    )
    other = counts.model_copy(update={"serialized_bytes": 904})
    [change] = judged(evidence(executable=counts), evidence(executable=other))
    assert change.counters == ()
    other = counts.model_copy(update={"instructions": 4})
    [change] = judged(evidence(executable=counts), evidence(executable=other))
    assert [each.metric for each in change.counters] == ["optimised HLO instructions"]


def test_times_are_neither_judged_nor_shown():
    times = StageTimes(trace=1, lower=1, compile=1, first_call=1, call=None, call_samples=0)
    slower = times.model_copy(update={"compile": 100.0})
    [change] = judged(evidence(times=times), evidence(times=slower))
    assert (change.outcome, change.counters) == ("equal", ())


def test_effects_are_judged():
    called = Effect(
        kind="io_callback", function="log", place="model.py:3", ordered=True, types=(), calls=1,
        calls_of_compiled=1, sha256="", sha256_of_compiled="",
    )  # fmt: skip
    twice = called.model_copy(update={"calls": 2})
    found, detail = outcome(
        evidence(effects=Effects(found=(called,))), evidence(effects=Effects(found=(twice,)))
    )
    assert found == "different"
    assert "log (model.py:3) is called 1 time against 2 times" in detail


def numbered(jaxpr, module):
    """Evidence with these digests; "" is undecided."""

    def of(digest):
        return ProgramNumber(digest=digest, undecided="" if digest else "a primitive")

    return evidence(numbers=Numbers(jaxpr=of(jaxpr), modules={"": of(module)}))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (("j", "m"), "traced and lowered alike"),
        (("j", "n"), "lowered otherwise"),
        (("k", "m"), "traced otherwise, lowered alike"),
        (("k", "n"), "traced otherwise"),
        (("", "m"), ""),
        (("j", ""), ""),
    ],
)
def test_digests_say_in_which_stage_jax_changed(after, said):
    [change] = judged(numbered("j", "m"), numbered(*after))
    assert change.by_numbers == said


@pytest.mark.parametrize(("python", "said"), [("3.11.9", "traced otherwise"), ("3.13.0", "")])
@pytest.mark.parametrize("module", ["m", "n"])
def test_the_bytecode_of_a_callback_on_another_python_is_no_change_of_jax(python, said, module):
    def with_callback(jaxpr, module, python):
        told = MeasuredWith(python=python, jax="", jaxlib="", backend="cpu")
        number = ProgramNumber(digest=module, callbacks=1)
        numbers = Numbers(jaxpr=ProgramNumber(digest=jaxpr), modules={"": number})
        return evidence(numbers=numbers, measured_with=told)

    before = with_callback("j", "m", "3.11.7")
    [change] = judged(before, with_callback("k", module, python))
    assert change.by_numbers.removesuffix(", lowered alike") == said
    [alike] = judged(before, with_callback("j", "m", python))
    assert alike.by_numbers == "traced and lowered alike"


def test_a_stage_of_jax_is_not_blamed_where_the_source_is_another():
    [change] = judged(compiled("o"), compiled("p", jaxpr="k", module="n"), digest="another")
    assert (change.by_numbers, change.cause_of_times, change.outcome) == ("", "", "equal")


def test_other_arguments_say_nothing_of_the_outputs():
    one, two = (
        ArgumentLeaf(path="x", shape=(2,), dtype="float32", sha256=digest) for digest in "ab"
    )
    found, detail = outcome(evidence(arguments=(one,)), evidence(ONE * 2, arguments=(two,)))
    assert found == "not compared"
    assert detail == "it was called otherwise: argument x float32[2] has other values"
    assert outcome(evidence(arguments=(one,)), evidence(arguments=(two,)))[0] == "equal"


def test_other_captured_values_are_named_as_a_cause():
    one, two = (captured_array(shape=(2,), bytes=8, sha256=digest) for digest in "ab")
    [change] = judged(evidence(ledger=(one,)), evidence(ONE * 2, ledger=(two,)))
    assert change.outcome == "different"
    assert change.causes == ("captured array float32[2] holds other values",)
    [change] = judged(evidence(ledger=(one,)), evidence(ledger=(two,)))
    assert (change.outcome, change.causes) == ("equal", ())


def test_a_program_that_does_not_repeat_itself_is_not_compared():
    for after in (evidence(ONE * 2), failing()):
        found = outcome(evidence(), after, not_repeatable="captured array float32[2] changes")
        assert found == (
            "not compared",
            "it does not repeat itself: captured array float32[2] changes",
        )


def test_each_side_is_compared_with_itself():
    left = {"jax-legacy": evidence(side="jax-legacy"), "jax-simplified": evidence()}
    right = {"jax-legacy": evidence(ONE * 2, side="jax-legacy"), "jax-simplified": evidence()}
    found = changes("p", [OnVersion("0.1", left), OnVersion("0.2", right)])
    assert [(each.side, each.outcome) for each in found] == [
        ("jax-legacy", "different"),
        ("jax-simplified", "equal"),
    ]


def test_another_source_is_named_as_a_cause():
    for after, causes in (
        (evidence(ONE * 2), ("the file of its source is another",)),
        (failing(), ("the file of its source is another",)),
        (evidence(), ()),
    ):
        [change] = judged(evidence(), after, digest="another")
        assert change.causes == causes


# -- times -----------------------------------------------------------------------------------------


def compiled(digest, jaxlib="0.11.0", *, jaxpr="j", module="m"):
    """Evidence with this optimised module, and these digests of what comes before it."""
    counts = ExecutableCounts(
        instructions=3, fusions=1, constants=0, constant_bytes=0, serialized_bytes=9, digest=digest
    )
    found = numbered(jaxpr, module)
    told = MeasuredWith(python="3.13.0", jax=jaxlib, jaxlib=jaxlib, backend="cpu")
    update = {"executable": counts, "measured_with": told}
    return replace(found, observation=found.observation.model_copy(update=update))


SAME = "the optimised module is the same, the time is not"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (
            compiled("d", "0.11.1"),
            f"{SAME}: jaxlib, how it compiles or runs a module (0.11.0 and 0.11.1)",
        ),
        (compiled("d"), f"{SAME}, and jaxlib is 0.11.0 in both: what calls it"),
        (compiled("e"), "lowered alike, and the optimised module is another: XLA"),
        (compiled("e", module="n"), "lowered otherwise: JAX"),
        (compiled("e", jaxpr="k", module="n"), "traced otherwise: JAX"),
        (compiled("e", jaxpr=""), ""),
        (compiled("", jaxpr=""), ""),
    ],
)
def test_the_modules_say_where_another_time_comes_from(after, said):
    [change] = judged(compiled("d"), after)
    assert change.cause_of_times == said


def test_modules_that_were_not_printed_say_nothing():
    [change] = judged(compiled("", jaxpr=""), compiled("", "0.11.1", jaxpr=""))
    assert change.cause_of_times == ""


def between(verdict, low, high):
    side = "jax-simplified"
    return timed(verdict, left=side, right=side, ratio=(low * high) ** 0.5, low=low, high=high)


@pytest.mark.parametrize(
    ("times", "news"),
    [
        (between("slower", 2.1, 3.0), "slower"),
        (between("slower", 1.9, 3.0), ""),
        (between("faster", 0.2, 0.4), "faster"),
        (between("faster", 0.2, 0.6), ""),
        (between("inconclusive", 2.1, 30.0), ""),
    ],
)
def test_another_time_is_news_beyond_a_factor_of_two(times, news):
    [change] = judged(evidence(), evidence())
    found = change.model_copy(update={"times": (times,)})
    assert (found.news, found.is_news) == (news, bool(news))
