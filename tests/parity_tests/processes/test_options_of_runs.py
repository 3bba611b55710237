"""Programs that run once more do so as they ran at first."""

from parity_tests.processes.options import RunOptions


def test_runs_once_more_flip_the_flag_as_the_first_runs_do():
    assert RunOptions(flips="lowered").once_more(fresh=True).flips == "lowered"
    assert RunOptions().once_more().flips == "called"
