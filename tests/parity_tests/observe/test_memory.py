"""The peak of host memory over a block of code, and what calls leave in memory."""

import ctypes
import gc

import numpy as np
import pytest

from parity_tests.observe import memory
from parity_tests.observe.memory import Memory, growth_between


@pytest.mark.skipif(not memory._CLEAR.exists(), reason="reads Linux's /proc")
def test_the_peak_of_host_memory_is_that_of_the_block():
    gc.collect()  # what other tests left, which may be more than the array, must not go within it
    with memory.peak() as of_much:
        del_me = np.ones(2**24, np.float32)  # 64 MiB
        del del_me
    with memory.peak() as of_nothing:
        pass
    assert 60 < of_much.nbytes / 2**20 < 100
    assert of_nothing.nbytes < 2**20


@pytest.mark.skipif(not memory._CLEAR.exists(), reason="reads Linux's /proc")
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="asks glibc")
def test_what_was_free_before_the_block_hides_nothing_of_its_peak():
    gc.collect()  # as above
    pieces = [np.ones(2**13) for _ in range(3000)]  # 64 KiB each, which the allocator holds back
    last = pieces.pop()  # stays, at the top of what is free
    pieces.clear()
    with memory.peak() as of_much:
        np.ones(2**24, np.float32)  # 64 MiB
    del last
    assert 60 < of_much.nbytes / 2**20 < 100


@pytest.mark.skipif(not memory._CLEAR.exists(), reason="reads Linux's /proc")
def test_a_peak_is_over_the_mark_and_not_over_a_sum_that_is_taken_in_another_way(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    (tmp_path / "status").write_text("VmHWM:\t  600000 kB\nVmRSS:\t  595000 kB\n")
    with memory.peak() as of_a_mebibyte:
        (tmp_path / "status").write_text("VmHWM:\t  601024 kB\nVmRSS:\t  595000 kB\n")
    assert of_a_mebibyte.nbytes == 2**20


@pytest.mark.parametrize(
    ("in_the_end", "found"),
    [
        (25, 1),  # each call leaves an array
        (24, 1),  # the same, and an array of the first call was garbage
        (9, 0),  # all of it was garbage
    ],
)
def test_an_array_of_one_call_hides_none_of_the_others(monkeypatch, in_the_end, found):
    monkeypatch.setattr(memory, "seen_after", lambda calls: Memory(calls, in_the_end, 0, 0))
    seen = [Memory(calls, 5 + calls, 0, 0) for calls in (4, 8, 12, 16, 20)]
    assert growth_between(seen).arrays == found
