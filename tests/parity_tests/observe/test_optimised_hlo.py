"""What XLA made of a program, counted in its own text; and the peak of host memory."""

import ctypes
import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import host_memory, optimised_hlo

TABLE = np.random.default_rng(0).normal(size=(33, 5)).astype(np.float32)


def test_constants_and_instructions_are_counted():
    compiled = jax.jit(lambda x: jnp.sin(x) @ TABLE + 1.5).lower(np.ones((7, 33))).compile()
    counts = optimised_hlo.count(compiled)
    assert (counts.constants, counts.constant_bytes) == (1, TABLE.nbytes)  # the scalar is none
    assert counts.instructions > 3
    assert counts.fusions >= 1
    assert counts.serialized_bytes > TABLE.nbytes
    passed = jax.jit(lambda x, table: jnp.sin(x) @ table).lower(np.ones((7, 33)), TABLE).compile()
    assert optimised_hlo.count(passed).constants == 0
    assert optimised_hlo.count(passed).serialized_bytes < counts.serialized_bytes


@pytest.mark.parametrize(
    ("dtype", "size"), [(np.bool_, 1), (np.int8, 1), (np.int16, 2), (np.complex64, 8)]
)
def test_sizes_of_constants_of_every_width(dtype, size):
    table = (np.arange(50) % 3).astype(dtype)
    compiled = jax.jit(lambda i: jnp.asarray(table)[i]).lower(1).compile()
    assert optimised_hlo.count(compiled).constant_bytes == 50 * size


def test_tuples_and_control_flow_are_read():
    def fun(x):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    compiled = jax.jit(fun).lower(jnp.ones(3)).compile()
    names = [opcode for _, opcode in optimised_hlo._INSTRUCTION.findall(compiled.as_text())]
    assert {"while", "tuple", "parameter", "get-tuple-element"} <= set(names)


def test_what_cannot_be_serialized_says_so():
    shape = jax.ShapeDtypeStruct((), np.float32)
    fun = jax.jit(lambda x: jax.pure_callback(np.sin, shape, x))
    counts = optimised_hlo.count(fun.lower(np.float32(1)).compile())
    assert counts.serialized_bytes is None or counts.serialized_bytes > 0


@pytest.mark.skipif(not host_memory._CLEAR.exists(), reason="reads Linux's /proc")
def test_the_peak_of_host_memory_is_that_of_the_block():
    gc.collect()  # what other tests left, which may be more than the array, must not go within it
    with host_memory.peak() as of_much:
        del_me = np.ones(2**24, np.float32)  # 64 MiB
        del del_me
    with host_memory.peak() as of_nothing:
        pass
    assert 60 < of_much.nbytes / 2**20 < 100
    assert of_nothing.nbytes < 2**20


@pytest.mark.skipif(not host_memory._CLEAR.exists(), reason="reads Linux's /proc")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="asks glibc")
def test_what_was_free_before_the_block_hides_nothing_of_its_peak():
    gc.collect()  # as above
    pieces = [np.ones(2**13) for _ in range(3000)]  # 64 KiB each, which the allocator holds back
    last = pieces.pop()  # stays, at the top of what is free
    pieces.clear()
    with host_memory.peak() as of_much:
        np.ones(2**24, np.float32)  # 64 MiB
    del last
    assert 60 < of_much.nbytes / 2**20 < 100


@pytest.mark.skipif(not host_memory._CLEAR.exists(), reason="reads Linux's /proc")
def test_a_peak_is_over_the_mark_and_not_over_a_sum_that_is_taken_in_another_way(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(host_memory, "_STATUS", tmp_path / "status")
    (tmp_path / "status").write_text("VmHWM:\t  600000 kB\nVmRSS:\t  595000 kB\n")
    with host_memory.peak() as of_a_mebibyte:
        (tmp_path / "status").write_text("VmHWM:\t  601024 kB\nVmRSS:\t  595000 kB\n")
    assert of_a_mebibyte.nbytes == 2**20
