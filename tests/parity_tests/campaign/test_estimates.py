import pytest

from parity_tests.campaign.estimates import spoken


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
