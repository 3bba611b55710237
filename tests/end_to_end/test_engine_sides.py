"""The four sides together: these run the engine, in its own processes."""

import pytest
from program_files import program_file

from parity_tests.campaign import run
from parity_tests.campaign.options import CampaignOptions
from reports.rows import SIDES


@pytest.fixture(scope="module")
def four():
    options = CampaignOptions(timeout=60, steady_calls=0)
    result = run.run([str(program_file("shared_programs"))], options)
    return {row.name: row for row in result.programs}


@pytest.mark.parametrize("name", ["shared", "dead", "keys"])
def test_all_four_sides_are_at_parity(four, name):
    row = four[name]
    assert row.verdict == "parity", row.reasons
    assert [each.side for each in row.observations] == list(SIDES)
    assert all(each.proof.holds for each in row.observations)


def test_ours_passes_an_array_once_and_stock_for_each_use(four):
    proofs = {each.side: each.proof for each in four["shared"].observations}
    assert proofs["simplified"].const_args == 1
    assert proofs["jax-simplified"].const_args > 1
    [expected] = [
        each
        for each in four["shared"].comparisons
        if each.metric == "const args" and each.left == "simplified"
    ]
    assert expected.outcome == "expected difference"
    assert expected.detail.startswith("stock passes")


def test_ours_prints_the_jaxpr_that_stock_prints_in_the_same_mode(four):
    printed = [each for each in four["shared"].comparisons if each.metric == "printed jaxpr"]
    assert [(each.left, each.right) for each in printed] == [
        ("legacy", "jax-legacy"),
        ("simplified", "jax-simplified"),
    ]
    assert [each.outcome for each in printed] == ["equal", "equal"]


def test_a_program_that_only_prints_differently_is_a_difference(four):
    row = four["other_words"]
    different = [each for each in row.comparisons if each.outcome == "different"]
    assert [each.metric for each in different] == ["printed jaxpr"] * 2
    assert row.verdict == "difference"
    assert "-{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }" in row.reasons[0]
    assert "+{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }" in row.reasons[0]
