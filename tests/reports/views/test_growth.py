"""How times grow, in words: whole powers, others, and what samples do not decide."""

import built_grids as built
import pytest

import reports
from reports.rows import Growth, TimeSamples
from reports.views.growth import in_words, lines


def growth(exponent, low, high, **fields):
    given = {"program": "loop", "side": "jax-legacy", "metric": "call", "sizes": (2000, 8000)}
    return Growth(exponent=exponent, low=low, high=high, samples=10, **(given | fields))


@pytest.mark.parametrize(
    ("exponent", "low", "high", "said"),
    [
        (2.03, 1.98, 2.1, "with n squared (n^2.03, 1.98 to 2.10)"),
        (0.97, 0.9, 1.1, "with n (n^0.97, 0.90 to 1.10)"),
        (0.02, -0.1, 0.1, "hardly (n^0.02, -0.10 to 0.10)"),
        (1.5, 1.4, 1.6, "with n^1.5 (n^1.50, 1.40 to 1.60)"),
        (2.1, 1.9, 2.6, "with n^2.1 (n^2.10, 1.90 to 2.60)"),
        (4.0, 3.9, 4.1, "with n^4.0 (n^4.00, 3.90 to 4.10)"),
        (2.0, 1.4, 2.5, "in a way that its samples do not decide (n^2.00, 1.40 to 2.50)"),
        (2.0, None, None, "in a way that is not known (10 samples of each size)"),
    ],
)
def test_a_power_is_named_where_the_interval_decides_it(exponent, low, high, said):
    assert in_words(growth(exponent, low, high)) == said


def sized(*growths):
    samples = TimeSamples(side="jax-legacy", metric="call", seconds=(0.1,))
    update = {"tags": ("n=2000",), "time_samples": (samples,) if growths else ()}
    row = built.program("loop.n2000").model_copy(update=update)
    return built.version("0.11.0", row, growth=growths).campaign


def test_versions_stand_beside_each_other():
    before, after = sized(growth(1.0, 0.9, 1.1)), sized(growth(2.0, 1.9, 2.1))
    assert [*lines([("0.11.0", before), ("0.11.1", after)])] == [
        "loop: jax-legacy: call grows from n=2,000 to n=8,000 "
        "with n (n^1.00, 0.90 to 1.10) on 0.11.0; with n squared (n^2.00, 1.90 to 2.10) on 0.11.1"
    ]
    assert [*lines([("", sized(growth(1.0, 0.9, 1.1, metric="dispatch")))])] == []


def test_a_stage_before_the_call_is_told_where_it_grows():
    assert [*lines([("", sized(growth(0.1, 0.0, 0.2, metric="compile")))])] == []
    [line] = lines([("", sized(growth(1.0, 0.9, 1.1, metric="compile")))])
    assert line.endswith("compile grows from n=2,000 to n=8,000 with n (n^1.00, 0.90 to 1.10)")


def test_without_rounds_nothing_is_known():
    [line] = lines([("", sized())])
    assert line == "loop: how its times grow is not known: that takes two sizes and --rounds 5"


@pytest.mark.parametrize("format_", ["html", "md", "comment"])
def test_each_report_for_people_has_it(format_):
    grown = sized(growth(2.0, 1.9, 2.1))
    assert "call grows from n=2,000 to n=8,000" in reports.render_report(format_, grown)
