import pytest

from parity_tests.campaign.estimates import by_rule, spoken


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


def test_the_rule_is_stated_with_its_counts():
    text = by_rule("5 rounds", 40, 12, 3.0)
    assert text.startswith("5 rounds will take about 10 min by a rule: 40 processes, ")
    assert "start in 3 s each" in text
    assert text.endswith("1 s for each of 12 programs")
