"""Calls of a program as it is written, across the flip: what counts, and what it comes to."""

import dataclasses

import numpy as np
import pytest
from built_campaigns import leaf

from parity_tests.advice import advice
from parity_tests.evidence import values
from parity_tests.evidence.records import Evidence
from parity_tests.judge.calls_as_written import LEAKED, compare, distance
from parity_tests.judge.comparison import PairComparison
from parity_tests.judge.findings import Findings, NotRepeatable
from parity_tests.judge.flip_verdict import decide
from parity_tests.judge.sides import Pair
from parity_tests.judge.unrepeated import across, explained, within
from reports.rows import CallAsWritten, Failure, Hazard, Observation, OutputLeaf
from reports.rows.calls import Effect, Effects
from reports.rows.check_names import AS_WRITTEN, PLACED

STOCK = ("jax-legacy", "jax-simplified")
ONE, TWO = np.float32([1, 1]), np.float32([2, 1])


def gives(
    array=ONE, *, tree="*", committed=False, kept=True, weak_type=False, dtype="", prints=None,
    sharding="cpu:0",
):  # fmt: skip
    leaf = OutputLeaf(
        path="", shape=array.shape, dtype=dtype or str(array.dtype), weak_type=weak_type,
        sha256=values.digest(values.Value("", array)), sharding=sharding, committed=committed,
    )  # fmt: skip
    arrays = (values.keep_in_report(array),) if kept else ()
    done = None if prints is None else Effects(found=(printed(prints),))
    return CallAsWritten(tree=tree, outputs=(leaf,), kept=arrays, effects=done)


def text(value):
    return np.frombuffer(value.encode(), np.uint8)


def printed(array):
    digest = values.digest(values.Value("", array))
    return Effect(
        kind="debug_print", function="{}", place="", ordered=False, types=("float32[2]",), calls=1,
        calls_of_compiled=1, sha256=digest, sha256_of_compiled=digest,
        arguments=(values.keep_in_report(array[None]),),
    )  # fmt: skip


def raises(kind="exception", message="Array has been deleted.\nmore", type_="ValueError"):
    failure = Failure(kind=kind, stage=AS_WRITTEN, type=type_, message=message, where="m.py:3")
    return CallAsWritten(failure=failure)


def observation(side, *calls, failure=None):
    return Observation(program="p", side=side, as_written=calls, failure=failure)


def found(before, after, traced=()):
    both = map(observation, STOCK, (), ())
    both = (observation(side, *calls) for side, calls in zip(STOCK, (before, after), strict=True))
    return [(each.outcome, each.detail) for each in compare(Pair(*both), traced)]


ALIKE = [("equal", "1 call alike"), ("equal", "")]


def test_calls_that_do_the_same_are_equal():
    assert found([gives()], [gives()]) == ALIKE
    assert found([gives(), gives(kept=False)], [gives(), gives(kept=False)])[0] == (
        "equal",
        "2 calls alike",
    )
    assert compare(Pair(*(observation(side) for side in STOCK))) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            [gives(), gives(kept=False)],
            [gives(), gives(TWO)],
            "call 2 gives other values at the only output: 1 of 2 elements are beyond rtol = atol "
            "= 1e-06; the first at [0]: 1.0 and 2.0",
        ),
        (
            [gives(), gives()],
            [gives(), raises()],
            "call 2 works on jax-legacy and fails on jax-simplified: ValueError: Array has been "
            "deleted.",
        ),
        ([gives()], [gives(tree="(*,)")], "call 1 gives another structure: * against (*,)"),
        (
            [gives(sharding=None)],
            [gives()],
            "call 1 gives no jax.Array against a jax.Array at the only output",
        ),
        (
            [gives()],
            [gives(np.float64([1, 1]))],
            "call 1 gives another dtype at the only output: float32 against float64",
        ),
        (
            [gives()],
            [gives(weak_type=True)],
            "call 1 gives another weak type at the only output: False against True",
        ),
        (
            [gives(text("256"), dtype="str")],
            [gives(text("512"), dtype="str")],
            "call 1 gives another str at the only output",
        ),
        (
            [gives(prints=ONE)],
            [gives()],
            'call 1 has other effects: print "{}" is called 1 time against 0 times by one call of '
            "the program with float32[2]",
        ),
        (
            [gives()],
            [raises("crash")],
            "a call works on jax-legacy and fails on jax-simplified: "
            "ValueError: Array has been deleted.",
        ),
    ],
)
def test_the_first_call_that_differs_is_told(before, after, said):
    assert found(before, after)[0] == ("different", said)


def test_a_rounding_says_nothing():
    assert found([gives()], [gives(np.float32([1.0000001, 1]))]) == ALIKE


def test_calls_that_were_not_made_to_the_end_are_not_alike():
    lost = raises("timeout", "no result in 8 seconds", "TimeLimit")
    for sides, side in (((gives(), lost), STOCK[1]), ((lost, gives()), STOCK[0])):
        said = f"the calls on {side} were not made to the end: TimeLimit: no result in 8 seconds"
        assert found(*([each] for each in sides)) == [("not compared", said), ("equal", "")]
    flip = decided(observation(STOCK[0], gives()), observation(STOCK[1], lost))
    assert (flip.outcome, flip.reasons[0].action) == ("could not compare", advice("timeout"))


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (raises(), None),
        (gives(), "call 1 fails in one run"),
        (
            raises(type_="TypeError"),
            "call 1 fails in both runs: ValueError: Array has been deleted. and TypeError: Array "
            "has been deleted.",
        ),
    ],
)
def test_two_runs_of_one_side_fail_alike_by_type_and_message(later, said):
    runs = [observation(STOCK[0], each) for each in (raises(), later)]
    outcomes = [(each.outcome, each.detail) for each in compare(Pair(*runs))]
    assert [detail for outcome, detail in outcomes if outcome == "different"] == [said] * bool(said)


def test_calls_of_one_side_alone_are_not_alike():
    alone = observation(STOCK[0], gives()), observation(STOCK[1])
    assert [each.detail for each in compare(Pair(*alone))] == ["jax-legacy alone was called"]
    ours = observation("legacy"), observation("jax-legacy", gives())
    assert compare(Pair(*ours)) == []
    # A function that nobody jits is called where the tester's jit of it fails: that is told.
    failed = observation(STOCK[1], gives(), failure=NOT_TRACED)
    assert compare(Pair(observation(STOCK[0]), failed)) == []


@pytest.mark.parametrize(
    ("after", "where"),
    [
        (raises(), "in both forms"),
        (raises(message="another"), "on jax-legacy today"),
        (gives(), "on jax-legacy today"),
    ],
)
def test_a_first_call_that_fails_before_the_flip_leaves_nothing_to_compare(after, where):
    said = f"call 1 fails {where}: ValueError: Array has been deleted."
    assert found([raises()], [after]) == [("not compared", said), ("equal", "")]
    assert found([gives(), raises()], [gives(), after])[0] == ("equal", "1 call alike")
    flip = decided(observation(STOCK[0], raises()), observation(STOCK[1], after))
    assert flip.outcome == "could not compare"


ROUNDED = np.float32([1.0000001, 1])


def test_a_side_that_alone_gives_other_bits_than_before_differs_however_little():
    """Nothing but a write can do that: the arguments are the same, and so is the program."""
    said = "call 2 is another than call 1 on {} and the same on {}, bit by bit"
    same, other = [gives(), gives(kept=False)], [gives(), gives(ROUNDED)]
    assert found(same, other)[0] == ("different", said.format("jax-simplified", "jax-legacy"))
    assert found(other, same)[0] == ("different", said.format("jax-legacy", "jax-simplified"))
    printed_once = [gives(prints=ONE), gives(kept=False, prints=ONE)]
    assert found(printed_once, [gives(prints=ONE), gives(kept=False, prints=ROUNDED)])[0] == (
        "different",
        said.format("jax-simplified", "jax-legacy"),
    )
    # A program with state of its own changes on both sides, and may round.
    assert found(other, [gives(), gives(np.float32([1.0000002, 1]))])[0] == (
        "equal",
        "2 calls alike",
    )


def test_a_tracer_that_the_trace_has_left_is_no_failure_of_the_program():
    left = raises(type_="jax.errors.UnexpectedTracerError")
    assert found([left], [left])[0] == ("not compared", LEAKED)
    for before, after in ((left, left), (gives(), left), (left, gives())):
        flip = decided(observation(STOCK[0], before), observation(STOCK[1], after))
        assert (flip.outcome, flip.reasons[0].action) == ("could not compare", advice("own state"))


def test_calls_that_were_not_made_on_one_side_are_not_alike():
    untold = raises("unavailable", "it was not called: its trace has changed _READY")
    for before, after in ((untold, gives()), (gives(), untold)):
        flip = decided(observation(STOCK[0], before), observation(STOCK[1], after))
        assert (flip.outcome, flip.reasons[0].what) == (
            "could not compare",
            "as it is written, it was not called: its trace has changed _READY",
        )


def test_values_that_are_as_far_apart_in_the_traced_program_are_told_there():
    apart = leaf("mismatch", path="", max_abs=0.1)
    assert found([gives()], [gives(TWO)], [apart]) == ALIKE
    nearer = apart.model_copy(update={"max_abs": 0.01})
    assert found([gives()], [gives(TWO)], [nearer])[0][0] == "different"


def test_placement_is_a_difference_of_its_own():
    said = "call 1 gives another committed at the only output: False against True"
    assert found([gives()], [gives(committed=True)]) == [
        ALIKE[0],
        ("expected difference", said),
    ]


# -- what it comes to ------------------------------------------------------------------------------


def decided(before, after, hazards=()):
    comparisons = PairComparison(Evidence(before), Evidence(after)).comparisons()
    findings = Findings((before, after), tuple(comparisons), hazards=hazards)
    return decide(findings, (), [STOCK])


WRITEABLE = Hazard(
    kind="writeable NumPy array", file="m.py", line=7, array="float32[2]", what="is written",
    fix=advice("capture a copy"),
)  # fmt: skip
FORBIDDEN = "INVALID_ARGUMENT: Disallowed host-to-device transfer: aval"
OF_DEVICES = "INVALID_ARGUMENT: Disallowed device-to-device transfer: aval"


@pytest.mark.parametrize(
    ("call", "hazards", "where", "kind", "name"),
    [
        (gives(TWO), (), "", "outputs", "between calls"),
        (gives(TWO), (WRITEABLE,), "m.py:7 (float32[2])", "outputs", "capture a copy"),
        (raises(), (WRITEABLE,), "m.py:3", "failure", "between calls"),
        (raises(message=FORBIDDEN), (), "m.py:3", "failure", "on the device"),
        (raises(message=OF_DEVICES), (), "m.py:3", "failure", "same devices"),
        (raises(message="Received incompatible devices"), (), "m.py:3", "failure", "same devices"),
        (raises(message="Attempt to donate a buffer"), (), "m.py:3", "failure", "donated"),
    ],
)
def test_a_difference_has_what_helps(call, hazards, where, kind, name):
    flip = decided(observation(STOCK[0], gives()), observation(STOCK[1], call), hazards)
    first = flip.reasons[0]
    assert (flip.outcome, first.where, first.kind) == ("different", where, kind)
    assert (first.subject, first.action) == (AS_WRITTEN, advice(name))


NOT_TRACED = Failure(kind="exception", stage="trace", type="TypeError", message="no tracer")


@pytest.mark.parametrize("today", [NOT_TRACED, None])
def test_where_only_the_jit_around_a_program_fails_its_costs_are_not_known(today):
    runs = NOT_TRACED.model_copy(update={"runs_as_written": True})
    before = observation(STOCK[0], gives(), failure=today and runs)
    flip = decided(before, observation(STOCK[1], gives(), failure=runs))
    assert (flip.outcome, flip.reasons[0].what) == (
        "could not compare",
        "what it costs is not known: as it is written it runs, 1 call alike on both sides, and "
        "within a jit of constparity's it does not: exception in trace: TypeError: no tracer",
    )
    changed = decided(before, observation(STOCK[1], gives(TWO), failure=runs))
    assert changed.outcome == "different"
    placed = decided(before, observation(STOCK[1], gives(committed=True), failure=runs))
    assert "placed otherwise" in [each.outcome for each in placed.reasons]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("JAX's compiled stage takes no call of a program with a result of a hijax type: no tree",
         "results of arrays"),
        ("no tree", "jitted apart"),
    ],
)  # fmt: skip
def test_where_the_compiled_stage_of_jax_fails_no_other_jit_helps(said, name):
    how = {"stage": "first call", "message": said, "runs_as_written": True}
    failure = NOT_TRACED.model_copy(update=how)
    flip = decided(*(observation(side, gives(), failure=failure) for side in STOCK))
    assert (flip.outcome, flip.reasons[0].action) == ("could not compare", advice(name))


def test_a_later_call_of_the_trace_that_fails_is_not_refuted_by_fewer_calls():
    fifth = NOT_TRACED.model_copy(update={"stage": "call", "runs_as_written": True})
    flip = decided(observation(STOCK[0], gives()), observation(STOCK[1], gives(), failure=fifth))
    assert flip.outcome == "different"


OTHERWISE = raises(message="no <A at 0x7fb2c8>", type_="TypeError")


@pytest.mark.parametrize(
    ("today", "then", "how", "name"),
    [
        (raises(), raises(), "fails in both forms: ValueError: Array has been deleted.",
         "fails today"),
        (OTHERWISE, raises(message="no <A at 0x7f3a10>", type_="TypeError"),
         "fails in both forms: TypeError: no <A at 0x7fb2c8>", "fails today"),
        (raises(), OTHERWISE, "fails in both forms: ValueError: Array has been deleted.; "
         "otherwise on jax-simplified: TypeError: no <A at 0x7fb2c8>", "fails today"),
        (raises(), gives(), "fails on jax-legacy today and works on jax-simplified: ValueError: "
         "Array has been deleted.", "works after"),
    ],
)  # fmt: skip
def test_a_later_call_that_fails_before_the_flip_is_a_remark(today, then, how, name):
    before, after = observation(STOCK[0], gives(), today), observation(STOCK[1], gives(), then)
    flip = decided(before, after)
    told = [(each.kind, each.what, each.where, each.action) for each in flip.reasons[:1]]
    assert flip.outcome == "safe"
    assert told == [("failure", f"as it is written, call 2 {how}", "m.py:3", advice(name))]


def test_a_call_that_was_not_made_or_is_the_first_has_no_remark():
    for today in ([raises()], [gives(), raises("timeout")], [gives()]):
        flip = decided(observation(STOCK[0], *today), observation(STOCK[1], *today))
        assert "failure" not in [each.kind for each in flip.reasons if each.outcome == "safe"]


def test_a_program_that_cannot_be_built_after_the_flip_breaks():
    runs = NOT_TRACED.model_copy(update={"runs_as_written": True})
    before = observation(STOCK[0], gives(), failure=runs)
    not_built = NOT_TRACED.model_copy(update={"stage": "build", "message": "no const_args"})
    flip = decided(before, observation(STOCK[1], failure=not_built))
    assert (flip.outcome, flip.reasons[0].what) == (
        "different",
        "as it is written, call 1 works on jax-legacy and fails on jax-simplified: TypeError: no "
        "const_args",
    )


def test_outputs_are_where_a_call_as_written_finds_them():
    """Within the tester's jit they may be elsewhere: a program may move them at the end."""
    placed = gives(committed=True)
    for traced, called, outcome in ((True, False, "safe"), (False, True, "placed otherwise")):
        leaf = placed.outputs[0]
        after = observation(STOCK[1], placed if called else gives())
        after = after.model_copy(update={"outputs": (leaf,) if traced else gives().outputs})
        before = observation(STOCK[0], gives())
        before = before.model_copy(update={"outputs": gives().outputs})
        comparisons = [
            each
            for each in PairComparison(Evidence(before), Evidence(after)).comparisons()
            if each.metric in ("output committed", PLACED)
        ]
        assert decide(Findings((before, after), tuple(comparisons)), (), [STOCK]).outcome == outcome


def test_calls_that_change_from_run_to_run_are_chance():
    first, other = (observation(STOCK[0], gives(array)) for array in (ONE, TWO))
    assert set(within(Evidence(first), Evidence(other))) == {(AS_WRITTEN, "")}
    failed = observation(STOCK[0], raises())
    assert set(within(Evidence(first), Evidence(failed))) == {(AS_WRITTEN, "")}
    after = observation(STOCK[1], gives(TWO))
    comparisons = PairComparison(Evidence(first), Evidence(after)).comparisons()
    assert set(across(Findings((first, after), tuple(comparisons)), STOCK)) == {(AS_WRITTEN, "")}


@pytest.mark.parametrize(
    ("noise", "after", "by_chance"),
    [
        (gives(ONE + 0.01), gives(ONE + 0.1), True),
        (gives(ONE + 0.01), gives(ONE + 1), False),
        (gives(ONE + 0.01), gives(ONE * np.float32(np.nan)), False),
        (gives(ONE + 0.01), gives(tree="(*,)"), False),
        (gives(ONE + 0.01), raises(), False),
        (raises(), gives(ONE + 1), True),
        (gives(ONE * np.float32(np.nan)), gives(ONE + 1), True),
    ],
)
def test_noise_explains_what_is_no_farther_apart_than_it_is(noise, after, by_chance):
    first, other = (observation(STOCK[0], gives(), call) for call in (gives(), noise))
    own = within(Evidence(first), Evidence(other))
    flipped = observation(STOCK[1], gives(), after)
    comparisons = PairComparison(Evidence(first), Evidence(flipped)).comparisons()
    differing = across(Findings((first, flipped), tuple(comparisons)), STOCK)
    assert set(differing) == {(AS_WRITTEN, "")}
    assert explained(differing, own) == (frozenset(differing) if by_chance else frozenset())


def test_the_farthest_call_and_output_say_how_far_apart_calls_are():
    one, two = (
        observation(side, *map(gives, arrays))
        for side, arrays in zip(STOCK, ((ONE, ONE), (ONE + 1, np.float32([1, 4]))), strict=True)
    )
    assert distance(Pair(one, two)) == 3.0
    assert distance(Pair(one, one)) == 0.0


def test_what_is_chance_in_calls_as_written_is_no_difference_of_the_flip():
    before, after = observation(STOCK[0], gives()), observation(STOCK[1], gives(TWO))
    comparisons = tuple(PairComparison(Evidence(before), Evidence(after)).comparisons())
    found = Findings((before, after), comparisons)
    assert decide(found, (), [STOCK]).outcome == "different"
    chance = NotRepeatable(
        side=STOCK[0], what="it draws", action="seed it",
        explained=frozenset({(AS_WRITTEN, "")}),
    )  # fmt: skip
    by_chance = dataclasses.replace(found, not_repeatable=chance)
    assert decide(by_chance, (), [STOCK]).outcome == "not repeatable"


def test_a_new_failure_is_told_beside_chance():
    before = observation(STOCK[0], gives(), gives())
    after = observation(STOCK[1], gives(TWO), raises())
    comparisons = tuple(PairComparison(Evidence(before), Evidence(after)).comparisons())
    chance = NotRepeatable(
        side=STOCK[0], what="it draws", action="seed it",
        explained=frozenset({(AS_WRITTEN, "")}),
    )  # fmt: skip
    found = decide(Findings((before, after), comparisons, not_repeatable=chance), (), [STOCK])
    assert found.outcome == "different"
    assert found.reasons[0].what.startswith("as it is written, call 2 works on jax-legacy and")
