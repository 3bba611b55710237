"""Axes: a few round marks whatever the values are, and nothing is drawn off the paper."""

import pytest

from reports.output.axes import Axis, linear, logarithmic


@pytest.mark.parametrize("base", [2.0, 10.0])
@pytest.mark.parametrize("high", [1.5, 30.0, 1e5, 1e12])
def test_a_logarithmic_axis_has_a_few_round_marks_between_its_ends(base, high):
    axis = logarithmic([1.0, high], 0, 100, base)
    assert 1 <= len(axis.values) <= 8
    assert all(axis.low < value < axis.high for value in axis.values)


@pytest.mark.parametrize(
    ("largest", "values"),
    [
        (0.0, (0.0, 1.0)),
        (8.0, (0.0, 2.0, 4.0, 6.0, 8.0)),
        (0.5, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        (1e12, (0.0, 2e11, 4e11, 6e11, 8e11, 1e12)),
    ],
)
def test_a_linear_axis_ends_at_a_round_value_that_is_not_below_the_largest(largest, values):
    assert linear(largest, 0, 100).values == pytest.approx(values)


def test_values_lie_between_the_ends_and_zeros_at_the_edge():
    axis = logarithmic([1.0, 100.0], 10, 110)
    assert axis.at(10.0) == 60.0
    assert [axis.at(value) for value in (0.0, -1.0, 1e-9, 1e9)] == [10.0, 10.0, 10.0, 110.0]
    assert Axis(0.0, 4.0, 100, 0, ()).at(1.0) == 75.0  # upwards, as drawings count downwards
    assert [tick.at for tick in linear(2.0, 0, 100).ticks(str)] == [0.0, 25.0, 50.0, 75.0, 100.0]
