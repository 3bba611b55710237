"""Arrays that a call leaves on the device are counted."""

import gc

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.observe import device_buffers

KIBIBYTE = np.arange(256, dtype=np.float32)


def test_a_buffer_counts_once_however_many_arrays_share_it():
    array = jnp.array(KIBIBYTE)
    same = jax.device_put(array, array.sharding)
    assert same is not array
    assert sum(device_buffers.of([array, same, array]).values()) == 1024
    assert sum(device_buffers.of([array, jnp.array(KIBIBYTE)]).values()) == 2048


def test_what_is_no_array_of_jax_or_gone_has_no_buffer():
    gone = jnp.array(KIBIBYTE)
    gone.delete()
    assert device_buffers.of([KIBIBYTE, 2.0, gone, jax.random.key(0)]) == {}


def test_new_buffers_count_and_results_and_garbage_do_not():
    captured = jnp.array(KIBIBYTE)
    before = device_buffers.alive()
    kept = jnp.array(KIBIBYTE)
    result = kept + 1
    garbage = [jnp.array(KIBIBYTE)]
    garbage.append(garbage)  # a cycle, which reference counts alone do not free
    del garbage
    assert device_buffers.due_to_constants(before, [result], [captured]) == 2048
    assert device_buffers.due_to_constants(before, [result, kept], [captured]) == 1024
    assert device_buffers.due_to_constants(before, [result, kept], []) == 0


def test_words_of_returned_keys_and_arrays_without_dimensions_do_not_count():
    before = device_buffers.alive()
    returned = jax.random.split(jax.random.key(0), 3)
    kept = [jax.random.split(jax.random.key(1), 3), jnp.array(2.0)]
    assert device_buffers.due_to_constants(before, [returned], kept[1:]) == 3 * 8
    assert device_buffers.due_to_constants(before, [returned, kept[0]], kept[1:]) == 0


def test_garbage_that_is_smaller_than_what_is_expected_does_not_count_either():
    before = device_buffers.alive()
    garbage = [jnp.array(KIBIBYTE[:64])]
    garbage.append(garbage)
    del garbage
    assert device_buffers.due_to_constants(before, [], [KIBIBYTE]) == 0  # which was inlined


def test_garbage_is_collected_for_a_buffer_that_no_captured_array_has_the_size_of(monkeypatch):
    collections = []
    monkeypatch.setattr(device_buffers.gc, "collect", lambda: collections.append(1))
    half, quarter = KIBIBYTE[:128], KIBIBYTE[:64]
    before = device_buffers.alive()
    kept = [jnp.array(half)]

    def found(are_passed):
        return device_buffers.due_to_constants(before, [], [half, quarter], are_passed=are_passed)

    assert (found(are_passed=True), collections) == (512, [])  # the quarter was inlined
    assert (found(are_passed=False), collections) == (512, [1])
    kept.append(jnp.array(KIBIBYTE))
    assert (found(are_passed=True), collections) == (512 + 1024, [1, 1])


def test_a_new_buffer_counts_at_the_address_of_what_was_garbage_before():
    memory = aligned_kibibyte()
    garbage = [jax.device_put(memory, may_alias=True)]
    garbage.append(garbage)
    del garbage
    before = device_buffers.alive()
    gc.collect()
    constant = jax.device_put(memory, may_alias=True)
    assert constant.unsafe_buffer_pointer() == memory.ctypes.data
    assert device_buffers.due_to_constants(before, [], []) == 1024


def test_a_captured_array_that_is_returned_is_due_to_constants():
    captured = jnp.array(KIBIBYTE)
    assert device_buffers.due_to_constants([], [captured], [captured]) >= 1024


def aligned_kibibyte():
    """Memory of NumPy that a device of a CPU computes in."""
    memory = np.zeros(256 + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    return memory[start : start + 256]


def test_memory_of_a_numpy_array_that_a_device_computes_in_counts_for_every_program():
    aligned = aligned_kibibyte()
    on_device = jax.device_put(aligned, may_alias=True)
    assert on_device.unsafe_buffer_pointer() == aligned.ctypes.data
    before = device_buffers.alive()  # of a program before, which captured the same array
    assert device_buffers.due_to_constants(before, [], [aligned]) == 1024
