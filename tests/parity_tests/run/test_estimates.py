"""How long a run takes still, in words."""

import pytest

from parity_tests.run.estimates import again, spoken
from reports.rows import Observation, StageTimes


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "a few seconds"),
        (44, "about 40 s"),
        (90, "about 2 min"),
        (3540, "about 59 min"),
        (3580, "about 1 h"),
        (4000, "about 1 h 7 min"),
    ],
)
def test_a_time_is_said_as_one_would_say_it(seconds, text):
    assert spoken(seconds) == text


def test_what_runs_again_is_named_with_the_time_that_it_took():
    times = StageTimes(trace=1, lower=2, compile=30, first_call=7, call=None, call_samples=0)
    taken = [Observation(program="p", side="legacy", times=each) for each in (times, None, times)]
    assert again("run again", ["a", "b", "c", "d"], taken) == (
        "run again (a, b, c and 1 more), about 80 s"
    )
    assert again("run again", ["a"], taken[1:2]) == "run again (a)"
