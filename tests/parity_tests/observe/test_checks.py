"""What a side is held to by itself, and what the judge makes of it; mutants make each fail."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from parity_tests.evidence import placement
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.values import Value
from parity_tests.judge.verdict import judge
from parity_tests.observe import calls, measure
from parity_tests.observe.checks import overwritten_arrays
from parity_tests.program import from_function, program
from reports.rows import Check, JaxprCounts, Observation, OutputLeaf

WRITABLE = np.arange(4.0)


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


def test_placement_that_was_not_measured_is_not_compared():
    assert judged("legacy", "jax-legacy", sharding=(None, "cpu:0"))["output shardings"] == (
        "not compared"
    )


HOLDS, FAILS = (Check(name="calls agree", holds=holds, statement="") for holds in (True, False))
FLIPPED = Check(name="flag flips", holds=False, statement="")


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        ((HOLDS,), (HOLDS,), "equal"),
        ((FAILS,), (FAILS,), "equal"),  # it is the program that has state
        ((FAILS,), (HOLDS,), "different"),
        ((FAILS,), (), "different"),
        ((HOLDS,), (), "not compared"),
        ((FLIPPED,), (FLIPPED,), "different"),
    ],
)
def test_a_check_that_fails_is_a_difference(left, right, outcome):
    found = judged("legacy", "jax-legacy", checks=(left, right))
    assert found[left[0].name] == outcome


def test_a_sharding_is_described_by_what_each_device_holds():
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    split = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, PartitionSpec("i")))
    assert placement.sharding_of(split).startswith("cpu:0 [0:2]; cpu:1 [2:4]; ")
    assert placement.sharding_of(jnp.ones(3)) == "cpu:0"
    assert placement.sharding_of(np.ones(3)) is None
    assert placement.is_committed(jnp.ones(3)) is False
    assert placement.devices_of(split) == 8


def test_work_of_jax_is_counted():
    jitted = jax.jit(lambda x: x + 1)
    with calls.work_of_jax() as first, calls.misses_of_dispatch() as misses:
        jitted(1.0)
    assert first["compilation"] == 1
    assert misses
    with calls.work_of_jax() as second, calls.misses_of_dispatch() as none:
        jitted(2.0)
    assert not second
    assert none == []


def test_writeable_arrays_are_found_and_put_back():
    inside, fixed = np.arange(3), np.arange(3)
    fixed.flags.writeable = False
    kept = WRITABLE.copy()

    def fun(x):
        return x + inside.sum() + fixed.sum() + WRITABLE[0]

    found = overwritten_arrays.writeable_arrays(fun)
    assert {id(each) for each in found} == {id(inside), id(WRITABLE)}
    with overwritten_arrays._overwritten(found):
        assert not (inside == np.arange(3)).any()
    assert (inside == np.arange(3)).all()
    assert (kept == WRITABLE).all()


def test_writeable_arrays_are_found_in_any_dictionary_list_or_tuple():
    one, two, three = (np.arange(3) for _ in range(3))
    unsorted = {0: one, "x": [two, (three, one)]}
    unsorted["itself"] = unsorted
    found = overwritten_arrays.writeable_arrays(lambda x: x + unsorted[0])
    assert sorted(map(id, found)) == sorted(map(id, (one, two, three)))


def captured_and_passed():
    """The weights that one starts from, which are also what the loss is the distance to."""
    start = np.arange(20, dtype=np.float32)
    return (lambda w: ((w - start) ** 2).sum() + start[3]), (start,)


def a_view_captured_and_passed():
    start = np.arange(20, dtype=np.float32)
    return (lambda w: w["half"] + start[10:]), ({"half": start[:10]},)


def memory_of_jax():
    """NumPy arrays whose memory a captured array and an argument of JAX are views of."""
    memory = np.zeros(4 * 128 + 64, np.uint8)
    start = -memory.ctypes.data % 64  # JAX shares memory at such addresses alone
    both = memory[start : start + 4 * 128].view(np.float32).reshape(2, 64)
    captured, passed = jax.device_put(both[0]), jax.device_put(both[1])
    assert captured.unsafe_buffer_pointer() == both.ctypes.data
    return (lambda x: x + captured + len(both)), (passed,)


def with_a_counter():
    counter, table = jax.new_ref(jnp.zeros(20)), np.ones(20, np.float32)

    def fun(x):
        counter[...] += table
        return counter[...] + x

    return fun, (1.0,)


@pytest.mark.parametrize("side", ["legacy", "simplified"])
@pytest.mark.parametrize(
    "build", [captured_and_passed, a_view_captured_and_passed, memory_of_jax, with_a_counter]
)
def test_what_is_no_captured_value_may_change_when_captured_arrays_are_written_to(build, side):
    observation = measure.measure(from_function(build, "here:fun"), side).observation
    assert observation.failure is None, observation.failure
    found = [each for each in observation.checks if each.name == "writes into captured arrays"]
    assert all(each.holds for each in found), found


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_our_sides_hold_every_check(side):
    table, array = jnp.arange(20.0), np.arange(20, dtype=np.float32)
    marked = from_function(program(args=(1.0,))(lambda x: x * table + array), "here:fun")
    observation = measure.measure(marked, side).observation
    assert observation.failure is None, observation.failure
    assert [each for each in observation.checks if not each.holds] == []
    names = {each.name for each in observation.checks}
    assert names >= {"calls agree", "recompiles", "dispatch in C++", "writes into captured arrays"}
    assert ("flag flips" in names) == (side == "legacy")
    assert ("const arg buffers" in names) == (side == "simplified")
