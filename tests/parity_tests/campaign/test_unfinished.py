"""Evidence of a program that is no evidence of its sides."""

from parity_tests.campaign import comparing
from parity_tests.evidence.records import Recorded
from reports.rows import MeasuredWith, Observation


def recorded(side, jax):
    measured_with = jax and MeasuredWith(python="3.11.7", jax=jax, jaxlib=jax, backend="cpu")
    return Recorded(Observation(program="p", side=side, measured_with=measured_with))


def missing(*versions):
    sides = ("jax-legacy", "jax-simplified")
    records = {side: recorded(side, jax) for side, jax in zip(sides, versions, strict=True)}
    return comparing._load(records, sides)[1]


def test_sides_that_ran_on_other_versions_are_not_compared():
    said = missing("0.10.2", "0.12.0")
    assert said.startswith("its sides were not measured with the same: ")
    assert "jax-legacy with jax 0.10.2, jaxlib 0.10.2, Python 3.11.7, backend cpu; " in said
    assert said.endswith(
        "jax-simplified with jax 0.12.0, jaxlib 0.12.0, Python 3.11.7, backend cpu"
    )


def test_sides_that_ran_on_one_version_are():
    assert missing("0.10.2", "0.10.2") == ""
    assert missing("0.10.2", None) == ""  # lost before it told
