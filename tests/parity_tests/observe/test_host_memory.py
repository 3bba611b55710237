"""The peak of host memory over a block of code."""

import ctypes
import gc

import numpy as np
import pytest

from parity_tests.observe import memory


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
