"""A result says nothing twice in its file."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reports.rows import SIDES, Comparison, LeafComparison, Observation, ProgramRow
from reports.rows.in_file import grouped, stored
from reports.rows.observation import MemoryStats

FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.inf, math.nan])
LEAVES = st.builds(
    LeafComparison,
    path=st.sampled_from(["", "[0]"]),
    rung=st.sampled_from(["bitwise", "mismatch"]),
    max_abs=FLOATS,
    max_rel=FLOATS,
    max_ulp=st.sampled_from([None, 0, 3]),
    mismatch_share=st.just(0.0),
    first_index=st.sampled_from([None, (), (1, 2)]),
    passing_rtol=st.none(),
)
COMPARISONS = st.builds(
    Comparison,
    metric=st.sampled_from(["const args", "outputs", "trace seconds"]),
    left=st.sampled_from(SIDES),
    right=st.sampled_from(SIDES),
    outcome=st.sampled_from(["equal", "different", "not judged"]),
    left_value=st.sampled_from(["", "0", "1"]),
    right_value=st.sampled_from(["", "0", "1"]),
    detail=st.sampled_from(["", "why"]),
    leaves=st.lists(LEAVES, max_size=2).map(tuple),
)
MEMORIES = st.builds(
    MemoryStats,
    arguments=st.sampled_from([0, 123456789012]),
    outputs=st.just(1),
    temporaries=st.just(2),
    aliased=st.just(3),
    generated_code=st.just(4),
)
OBSERVATIONS = st.builds(
    Observation,
    program=st.just("step"),
    side=st.sampled_from(SIDES),
    memory=st.none() | MEMORIES,
    recompiles=st.sampled_from([None, 0, 1]),
    tree=st.sampled_from([None, "", "(" + "*, " * 30 + ")"]),
    changed_process=st.sampled_from([(), ("sets an environment variable, and leaves it set",)]),
)


PAIR = {"left": "legacy", "right": "jax-legacy"}


def row_of(observations=(), comparisons=()) -> ProgramRow:
    return ProgramRow(
        name="step",
        source="model.py:1",
        summary="",
        verdict="parity",
        reasons=(),
        observations=tuple(observations),
        comparisons=tuple(comparisons),
    )


@given(st.lists(OBSERVATIONS, max_size=5), st.lists(COMPARISONS, max_size=12))
def test_what_is_read_back_is_what_was_written(observations, comparisons):
    row = row_of(observations, comparisons)
    # repr tells -0.0 from 0.0, and takes one NaN for another.
    assert repr(ProgramRow.model_validate(json.loads(row.model_dump_json()))) == repr(row)


def compared(left, right, *values) -> list[Comparison]:
    return [
        Comparison(
            metric=f"metric {number}",
            left=left,
            right=right,
            outcome="equal",
            left_value=value,
            right_value=value,
        )
        for number, value in enumerate(values)
    ]


def test_a_pair_writes_only_what_is_not_as_in_a_pair_before():
    first = compared("legacy", "jax-legacy", "1", "2", "3", "4")
    second = compared("simplified", "jax-simplified", "1", "2", "other", "4")
    pairs = grouped([*first, *second])
    assert pairs[0].metrics == tuple((each.metric, each.left_value) for each in first)
    assert pairs[1].like == ("legacy", "jax-legacy")
    assert pairs[1].metrics == (2, -1, ("metric 2", "other"), 1)


def observation(side, **rest) -> Observation:
    return Observation(program="step", side=side, **rest)


def test_a_section_that_a_side_before_has_is_a_reference_to_it():
    memory = MemoryStats(arguments=1, outputs=1, temporaries=0, aliased=0, generated_code=0)
    other = memory.model_copy(update={"outputs": 2})
    rows = stored(
        [
            observation("legacy", memory=memory),
            observation("simplified", memory=other),
            observation("jax-legacy", memory=memory),
        ]
    )
    assert [each.memory for each in rows[:2]] == [memory, other]
    assert rows[2].memory.same_as == "legacy"


@pytest.mark.parametrize(
    ("field", "content", "message"),
    [
        (
            "observations",
            [{"program": "step", "side": "legacy", "memory": {"same_as": "jax-legacy"}}],
            "memory is the same as on 'jax-legacy', and no memory of it comes before",
        ),
        (
            "comparisons",
            [{**PAIR, "like": ["legacy", "legacy"], "metrics": []}],
            "metrics are as those of ('legacy', 'legacy'), and none of it comes before",
        ),
        (
            "comparisons",
            [{**PAIR, "metrics": [2]}],
            "the numbers in metrics count 2 metrics, and there are 0",
        ),
    ],
)
def test_a_reference_to_nothing_is_an_error(field, content, message):
    data = {**row_of().model_dump(), field: content}
    with pytest.raises(ValidationError) as raised:
        ProgramRow.model_validate(data)
    assert message in str(raised.value)
