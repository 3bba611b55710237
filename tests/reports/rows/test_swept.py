"""A sweep is added to the result of its program, and to no other one."""

import json

import pytest
from pydantic import ValidationError

from reports.output import json_file
from reports.rows import MeasuredWith
from reports.rows.campaign import SweepRefusedError

SOURCE = "parity_tests/corpus/plain.py:12"
STOCK = MeasuredWith(python="3.11.7", jax="0.10.2", jaxlib="0.10.2", backend="cpu")


@pytest.fixture
def result(campaigns):
    """Two programs, measured with the versions that a sweep by hand has."""
    programs = []
    for name in ("matmul", "step"):
        row = campaigns.parity(name)
        told = tuple(each.model_copy(update={"measured_with": STOCK}) for each in row.observations)
        programs.append(row.model_copy(update={"observations": told, "digest": "ab" * 32}))
    return campaigns.campaign(*programs)


def by_hand(result, *sweeps):
    """Read a result to which somebody wrote sweeps in an editor."""
    text = json.loads(json_file.render(result))
    written = [json.loads(each.model_dump_json()) for each in sweeps]
    return type(result).model_validate(text | {"sweeps": written})


def test_a_sweep_replaces_the_one_before_it_of_the_same_program(campaigns, result, tmp_path):
    first = campaigns.sweep("step", SOURCE, call_noise=0.5)
    other = campaigns.sweep("matmul", SOURCE)
    last = campaigns.sweep("step", SOURCE, digest="ab" * 32)
    for each in (first, other, last):
        result = result.with_sweep(each)
    assert result.sweeps == (other, last)
    file = tmp_path / "result.json"
    file.write_text(json_file.render(result), "utf-8")
    assert json_file.load(file) == result


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"program": "stop"}, "no program of that name"),
        ({"source": "model.py:3"}, f"the result has it at {SOURCE}"),
        ({"digest": "cd" * 32}, "whose file has changed since the result was measured"),
        (
            {"environment": {"jax": "0.12.0", "jaxlib": "0.12.0"}},
            "with jax 0.12.0 and jaxlib 0.12.0 on cpu, and the result was measured with "
            "jax 0.10.2 and jaxlib 0.10.2 on cpu",
        ),
    ],
)
def test_a_sweep_of_something_else_is_refused(campaigns, result, changes, said):
    if "environment" in changes:
        other = campaigns.ENVIRONMENT.model_copy(update=changes["environment"])
        changes = {"environment": other}
    fields = {"program": "step", "source": SOURCE} | changes
    sweep = campaigns.sweep(**fields)
    with pytest.raises(SweepRefusedError, match=said):
        result.with_sweep(sweep)
    # A file that somebody changed by hand is refused with the same words.
    with pytest.raises(ValidationError, match=said):
        by_hand(result, sweep)


def test_two_sweeps_of_one_program_are_refused(campaigns, result):
    sweep = campaigns.sweep("step", SOURCE)
    with pytest.raises(ValidationError, match="two sweeps of step"):
        by_hand(result, sweep, sweep)
