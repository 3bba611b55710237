"""Writes into captured NumPy arrays: which arrays are overwritten, and which may change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import measure
from parity_tests.observe.checks import captured_arrays
from parity_tests.program import from_function

WRITABLE = np.arange(4.0)


def test_writeable_arrays_are_found_and_put_back():
    inside, fixed = np.arange(3), np.arange(3)
    fixed.flags.writeable = False
    kept = WRITABLE.copy()

    def fun(x):
        return x + inside.sum() + fixed.sum() + WRITABLE[0]

    found = captured_arrays.writeable_arrays(fun)
    assert {id(each) for each in found} == {id(inside), id(WRITABLE)}
    with captured_arrays._overwritten(found):
        assert not (inside == np.arange(3)).any()
    assert (inside == np.arange(3)).all()
    assert (kept == WRITABLE).all()


def test_writeable_arrays_are_found_in_any_dictionary_list_or_tuple():
    one, two, three = (np.arange(3) for _ in range(3))
    unsorted = {0: one, "x": [two, (three, one)]}
    unsorted["itself"] = unsorted
    found = captured_arrays.writeable_arrays(lambda x: x + unsorted[0])
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


def test_an_object_that_writes_into_its_array_while_it_is_traced_is_seen():
    class Counts:
        def __init__(self, by):
            self.array, self.by = np.ones(4, np.float32), by
            self.add = jax.jit(lambda x: x + self.array)

        def __call__(self, x):
            self.array[:] += self.by
            return self.add(x)

    for by in (0, 1):
        program = from_function(lambda by=by: (Counts(by), (jnp.ones(4),)), "counts")
        observed = measure.measure(program, "jax-legacy").observation
        assert observed.written_in_trace == (("float32[4]",) if by else ())
        assert observed.written_in_calls == (("float32[4]",) if by else ())


def test_of_two_arrays_of_one_type_it_is_not_known_which_one_is_captured():
    one, two, alone = np.ones(3, np.float32), np.ones(3, np.float32), np.ones(2, np.int32)
    watched = captured_arrays.Watched(lambda x: x + one + two + alone.sum())
    assert watched.written() == ()
    two[:] = alone[:] = 9
    assert watched.written() == ("int32[2]",)


def test_an_attribute_that_is_set_to_another_array_is_no_write():
    class Grows:
        def __init__(self):
            self.array = np.ones(4, np.float32)

        def __call__(self, x):
            self.array = self.array * 2
            return x

    grows = Grows()
    watched = captured_arrays.Watched(grows)
    grows(1)
    assert watched.written() == ()


def test_jax_computes_with_a_copy_of_strided_arrays():
    strided, plain = np.ones(8, np.float32)[::2], np.ones(6, np.float32)
    watched = captured_arrays.Watched(lambda x: x + strided.sum() + plain.sum())
    strided[:] = plain[:] = 2
    assert {*watched.written()} == {"float32[4]", "float32[6]"}
    assert watched.written(in_place=True) == ("float32[6]",)


def test_an_array_that_came_later_is_watched_from_the_next_look_on():
    held = {"table": np.zeros(4, np.float32)}
    watched = captured_arrays.Watched(lambda x: x + held["table"])
    held["table"] = np.ones(4, np.float32)
    watched.look()
    held["table"][:] = 2
    assert watched.written() == ("float32[4]",)
