"""Rules of the judge for where outputs are placed, for single sides, and words for distances."""

import numpy as np
import pytest
from built_campaigns import captured_array

from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.comparison import told_apart, worst_in_words
from parity_tests.judge.sides import Pair
from parity_tests.judge.verdict import judge
from reports.rows import Check, JaxprCounts, Observation, OutputLeaf, Proof
from reports.rows.observation import ExecutableCounts, StableHloCounts


def judged(left, right, **changes):
    """The outcomes of the metrics of two observations that differ in the given ways."""
    evidence = []
    for side, of_side in ((left, 0), (right, 1)):
        leaf = {"path": "", "shape": (2,), "dtype": "float32", "weak_type": False, "sha256": ""}
        leaf |= {name: value[of_side] for name, value in changes.items() if name in leaf_fields()}
        rest = {name: value[of_side] for name, value in changes.items() if name not in leaf}
        observed = Observation(
            program="p", side=side, outputs=(OutputLeaf(**leaf),), tree="*", **rest
        )
        evidence.append(Evidence(observed, (Value("", np.ones(2, np.float32)),), "{ }"))
    return {each.metric: each.outcome for each in judge([tuple(evidence)]).comparisons}


def leaf_fields():
    return OutputLeaf.model_fields


def counts(**changes):
    return JaxprCounts(equations=1, captured_arrays=1, captured_bytes=4).model_copy(update=changes)


@pytest.mark.parametrize(
    ("pair", "captured", "outcome"),
    [
        (("legacy", "simplified"), {}, "different"),
        (("legacy", "simplified"), {"sharded_arrays": 1}, "expected difference"),
        (("legacy", "simplified"), {"committed_arrays": 1}, "different"),
        (("jax-legacy", "jax-simplified"), {"committed_arrays": 1}, "expected difference"),
        (("simplified", "jax-simplified"), {"committed_arrays": 1}, "expected difference"),
        (("simplified", "jax-simplified"), {"sharded_arrays": 1}, "different"),
        (("legacy", "jax-legacy"), {"committed_arrays": 1, "sharded_arrays": 1}, "different"),
        (("simplified", "simplified"), {"sharded_arrays": 1}, "different"),
    ],
)
def test_placement_is_compared_exactly_but_where_captured_arrays_are_placed(
    pair, captured, outcome
):
    jaxpr = counts(**captured)
    found = judged(
        *pair, sharding=("cpu:0", "cpu:1"), committed=(False, True), jaxpr=(jaxpr, jaxpr)
    )
    assert found["output shardings"] == found["output committed"] == outcome


@pytest.mark.parametrize(
    ("right", "dtype", "sharding", "outcome"),
    [
        ("jax-simplified", "key<fry>", "P('x',) over x=8", "expected difference"),
        ("jax-simplified", "key<fry>", "cpu:1", "different"),
        ("jax-simplified", "uint32", "P('x',) over x=8", "different"),
        ("jax-legacy", "key<fry>", "P('x',) over x=8", "different"),
    ],
)
def test_sharded_keys_place_outputs_where_stock_jax_inlines_them(right, dtype, sharding, outcome):
    jaxpr = counts(sharded_arrays=1)
    proof = Proof(
        array_literals=0, constvars=1, const_args=0, unique_captured=1, inlined_constant_bytes=256,
        holds=True, statement="",
    )  # fmt: skip
    ledger = (captured_array(dtype=dtype, sharding=sharding),)
    executables = tuple(
        ExecutableCounts(
            instructions=1, fusions=0, constants=0, constant_bytes=0, serialized_bytes=None,
            devices=devices,
        )
        for devices in (8, 1)
    )  # fmt: skip
    found = judged(
        right.replace("jax-", ""), right, sharding=("cpu:0, cpu:1", "cpu:0"),
        committed=(True, False), jaxpr=(jaxpr, jaxpr), proof=(proof, proof),
        ledger=(ledger, ledger), executable=executables,
    )  # fmt: skip
    placed = ("output shardings", "output committed", "devices of the executable")
    assert {found[each] for each in placed} == {outcome}


def test_placement_that_was_not_measured_is_not_compared():
    assert judged("legacy", "jax-legacy", sharding=(None, "cpu:0"))["output shardings"] == (
        "not compared"
    )


HOLDS, FAILS = (Check(name="calls agree", holds=holds, statement="") for holds in (True, False))
FLIPPED = Check(name="flag flips", holds=False, statement="")
LOST = Check(name="flag flips", holds=True, measured=False, statement="it raised ValueError")


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        ((HOLDS,), (HOLDS,), "equal"),
        ((FAILS,), (FAILS,), "equal"),  # it is the program that has state
        ((FAILS,), (HOLDS,), "different"),
        ((FAILS,), (), "different"),
        ((HOLDS,), (), "not compared"),
        ((FLIPPED,), (FLIPPED,), "different"),
        ((LOST,), (), "not compared"),
        ((LOST,), (LOST,), "not compared"),
        ((LOST,), (FLIPPED,), "different"),
    ],
)
def test_a_check_that_fails_is_a_difference(left, right, outcome):
    found = judged("legacy", "jax-legacy", checks=(left, right))
    assert found[left[0].name] == outcome


def test_a_side_that_holds_another_copy_of_a_numpy_array_repeats_itself():
    """It is used where it lies, or copied, as its address happens; no count does so."""
    found = judged("legacy", "legacy", constant_buffers=(0, 256), recompiles=(0, 1))
    assert found["device buffers of constants"] == "not judged"
    assert found["recompiles for other values"] == "different"


def test_a_side_repeats_itself_where_it_is_traced_from_other_lines():
    modules = (
        StableHloCounts(
            text_bytes=100, bytecode_bytes=size, operations=operations, functions=1, constants=0,
            constant_bytes=0, operations_by_name={},
        )
        for size, operations in ((1328, 1), (1343, 2))
    )  # fmt: skip
    found = judged("simplified", "simplified", stablehlo=tuple(modules))
    assert found["StableHLO bytecode bytes"] == "not judged"
    assert found["StableHLO operations"] == "different"


@pytest.mark.parametrize(("held", "outcome"), [(48, "expected difference"), (84, "different")])
def test_an_array_computed_while_tracing_is_on_the_device_though_it_is_embedded(held, outcome):
    """One hoisted array of 36 bytes, and one of 12 that no const arg is made of."""
    ledger = tuple(
        captured_array(shape=(size // 4,), bytes=size, fate=fate)
        for size, fate in ((36, "hoisted"), (12, "embedded"))
    )
    jaxpr = counts(captured_bytes=36)
    found = judged(
        "simplified",
        "jax-simplified",
        constant_buffers=(held, 12),
        ledger=(ledger, ledger),
        jaxpr=(jaxpr, jaxpr),
    )
    assert found["device buffers of constants"] == outcome


@pytest.mark.parametrize(
    ("right", "words"),
    [
        ([1.0, 2.0], "bitwise equal"),
        ([1.0, 2.0000002], "ulp at ['w']: max rel 1.2e-07, max abs 2.4e-07, 1 ULP"),
        # Distances of zero would read as if the outputs were equal.
        (
            [1.0, np.nan],
            "mismatch at ['w']: 1 of 2 elements are NaN or an infinity on one side and something "
            "else on the other; the first at [1]: 2.0 and nan; the others: max rel 0, max abs 0, "
            "0 ULP",
        ),
    ],
)
def test_distances_in_words(right, words):
    left, right = np.float32([1.0, 2.0]), np.float32(right)
    assert worst_in_words([tolerance_ladder.compare("['w']", left, right)]) == words


@pytest.mark.parametrize(
    ("left", "right", "writes", "outcome"),
    [
        ("legacy", "jax-legacy", (), "different"),
        ("legacy", "jax-legacy", ("float32[2]",), "expected difference"),
        ("legacy", "simplified", ("float32[2]",), "different"),
        ("legacy", "legacy", ("float32[2]",), "different"),
    ],
)
def test_sides_of_one_mode_see_other_values_where_a_trace_writes_them(left, right, writes, outcome):
    """Ours keep what an array held when it was captured, stock JAX what it holds when lowered."""
    found = judged(left, right, written_in_trace=(writes, writes), weak_type=(False, True))
    assert found["output weak types"] == outcome


def array(sha256, line=3):
    return captured_array(sha256=sha256, line=line, shape=(3,), bytes=12)


def pair(left, right):
    observed = (
        Observation(
            program="p",
            side=side,
            ledger=ledger,
            jaxpr=JaxprCounts(equations=1, captured_arrays=len(ledger), captured_bytes=12),
        )
        for side, ledger in (("jax-legacy", left), ("jax-simplified", right))
    )
    return Pair(*observed)


def test_the_arrays_that_one_side_alone_has_are_named():
    shared, other, another = array("a"), array("b", line=7), array("c", line=7)
    found = told_apart(pair((shared, other), (another, shared)))
    assert found == ("float32[3] at model.py:7",) * 2
    assert told_apart(pair((shared, other), (shared,))) == (
        "float32[3] at model.py:7",
        "1 captured array",
    )


def test_arrays_without_digests_of_their_own_are_counted():
    large = array("")
    assert told_apart(pair((large, large), (large, large))) == ("2 captured arrays",) * 2
