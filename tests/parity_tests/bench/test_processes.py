"""Processes that measure in steps: their order, and what becomes of one that does not go on."""

import gc
from contextlib import closing

import pytest

from parity_tests.bench import measuring, runner, stepping
from parity_tests.bench.contestants import forget_programs
from parity_tests.bench.rows import devices
from parity_tests.bench.rows.compile_time import compile_program
from parity_tests.observe.calls import work_of_jax
from reports.rows.bench import BenchTurn


class Written:
    """A process whose steps are written down: the places of its rows, one for each step."""

    def __init__(self, name, places, taken):
        self.name, self.places, self.taken = name, iter(places), taken

    def step(self):
        self.taken.append(self.name)
        return next(self.places, None)


def order_of(**places):
    taken = []
    runner.step_in_turns([Written(name, each, taken) for name, each in places.items()])
    return "".join(taken)


def test_each_is_the_first_as_often_and_nobody_steps_twice_in_a_row():
    places = [0] * 6
    assert order_of(a=places, b=places, c=places) == "abc" + "abcbcacab" * 2


def test_those_who_have_no_part_in_a_row_wait_for_the_others():
    # They start; then `b` is through with the first row, and `a` measures twice more there.
    assert order_of(a=[0, 0, 0, 1, 1], b=[0, 1, 1]) == "ab" + "ab" + "aa" + "ba" + "ab"


def test_a_process_that_does_not_go_on_is_an_error(tmp_path):
    turn = BenchTurn(contestant="legacy", rows=(1,), size="quick")
    process = runner.LiveProcess(turn, tmp_path / "0", timeout=0.001)
    with (
        closing(process),
        pytest.raises(runner.BenchError, match=r"legacy, rows 1: no result in 0\.001 seconds"),
    ):
        process.step()


def test_without_others_nobody_waits():
    stepping.wait()


def test_the_engine_of_a_contestant_is_as_it_comes_whatever_the_user_has_set(monkeypatch):
    monkeypatch.setenv("CONSTPARITY_EMBEDDED_CONSTANTS_MAX_BYTES", "1000000")
    turn = BenchTurn(contestant="simplified", rows=(3,), size="quick")
    [taken] = runner.ask_for([turn])
    counts = [sample.value for sample in taken.samples if sample.what == "const args"]
    assert counts == [1, 1, 1]


def test_sharded_arrays_lie_on_eight_devices_of_a_cpu_once_each(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)  # the tests have eight by themselves
    turn = BenchTurn(contestant="simplified", rows=(13,), size="quick", devices=8)
    [taken] = runner.ask_for([turn])
    assert taken.environment.device_count == 8
    found = {sample.what: sample.value for sample in taken.samples}
    assert found[devices.BYTES] == found[devices.UNIQUE] == devices.ARRAYS * 4 * 2**10


def test_a_program_is_compiled_each_time_whatever_was_compiled_before():
    name = "functions_in_functions:nested_jits_share"
    compile_program("simplified", name)
    with work_of_jax() as work:
        compile_program("simplified", name)
    assert work["compilation"] == 1
    forget_programs("simplified")


def test_python_frames_are_those_of_the_call_and_not_of_the_collector():
    called = []
    gc.callbacks.append(lambda phase, info: called.append(phase))
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        assert measuring.python_frames(list) == 0
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()
    assert gc.isenabled()
