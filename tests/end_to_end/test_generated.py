"""Generated programs on both of our sides and on stock JAX: the property that holds of all."""

import hashlib

import jax
import numpy as np
import pytest
from generated_programs import SEEDS, for_all_programs
from program_files import program_file

import engine
from parity_tests import targets
from parity_tests.drift import arbiter
from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.records import Evidence
from parity_tests.fuzz import campaign, rendering
from parity_tests.fuzz.recipe import Piece, Recipe, RecipeArray
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import judge, needs_arbiter
from parity_tests.observe import measure
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import SIDES
from simplified_consts.hoisting import deduplication

# Where no arbiter is asked: a chain of a few dozen operations, and derivatives of it.
LOOSER = 100


@pytest.fixture(scope="session")
def load(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated")

    def load(recipe):
        text = rendering.module({"program": recipe})
        file = folder / f"generated_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"
        file.write_text(text)
        return targets.load_one(f"{file}:program")

    return load


def check_against_stock(program):
    """Judge a program as a campaign does, in this process, where stock JAX is in legacy mode.

    The proof of each side is part of that: nothing captured is inlined in simplified, and each
    array is passed once; in legacy all are inlined.
    """
    evidence = {}
    for side in ("legacy", "simplified", "jax-legacy"):
        measured = measure.measure(program, side)
        evidence[side] = Evidence(measured.observation, measured.values, measured.jaxpr)
    if (refused := evidence["jax-legacy"].observation.failure) is not None:
        ours = evidence["legacy"].observation.failure
        assert ours is not None
        assert (ours.stage, ours.type) == (refused.stage, refused.type)
        return
    pairs = [(evidence[left], evidence[right]) for left, right in pairs_of(evidence)]
    judgement = judge(pairs, list(evidence.values()))
    if needs_arbiter(judgement.comparisons):
        judgement = judge(pairs, list(evidence.values()), arbiter.truth(program))
    assert judgement.verdict == "parity", judgement.reasons


def check_calls(recipe, program):
    """Call a program in every way there is: twice, ahead of time, transformed from outside."""
    plain, args = program.function(jit=jax.jit)
    try:
        expected = jax.jit(plain)(*args)
    except (NotImplementedError, TypeError, ValueError, AssertionError):
        return  # stock JAX refuses it, and the other test asks that ours does likewise
    for side in engine.SIDES:
        jitted = engine.jit(plain, constants=side)
        lowered = jitted.lower(*args)
        first, second, ahead = jitted(*args), jitted(*args), lowered.compile()(*args)
        assert bits(first) == bits(second) == bits(ahead)
        assert_close(first, expected)
        assert len({id(each) for each in lowered.const_args}) == len(lowered.const_args)
        if recipe.outside != "nothing":
            # The transformation is now outside of our jit, and every jit inside is one of ours.
            transformed, _ = program.function(jit=engine.jit(constants=side))
            assert_close(transformed(*args), expected)


def bits(result):
    leaves = [values.to_host("", leaf) for leaf in jax.tree.leaves(result)]
    return [(row.dtype, row.shape, value.array.tobytes()) for row, value in leaves]


def assert_close(ours, expected):
    assert jax.tree.structure(ours) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        tolerance = LOOSER * tolerance_ladder.tolerance(a.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("of_seed", SEEDS)
def test_generated_programs_are_those_of_stock_jax(of_seed, load):
    for_all_programs(lambda recipe: check_against_stock(load(recipe)), of_seed, 4)


@pytest.mark.parametrize("of_seed", SEEDS)
def test_generated_programs_may_be_called_in_every_way(of_seed, load):
    for_all_programs(lambda recipe: check_calls(recipe, load(recipe)), 1000 + of_seed, 4)


# Since jax 0.11.0 stock JAX passes a NumPy array twice where two branches use it and one of them
# broadcasts it. XLA may split an output otherwise then, where the program leaves that to XLA.
STOCK_PASSES_TWICE = jax.__version_info__ >= (0, 11, 0)
OTHER_SPLIT = [("simplified", "jax-simplified", "output shardings")]
# Before it the derivative of `custom_root` in a branch is written apart, and the sides agree.
UNPROVED = "agrees here, not proved"
APART = ("difference", OTHER_SPLIT) if STOCK_PASSES_TWICE else (UNPROVED, [])


def different(row):
    """The pairs of one form that differ, ours and stock JAX, each with the metric."""
    return [
        (each.left, each.right, each.metric)
        for each in row.comparisons
        if each.outcome == "different" and each.right == f"jax-{each.left}"
    ]


def test_generated_programs_are_at_parity_on_all_four_sides(tmp_path):
    fuzzed = campaign.run(4, 5, sides=SIDES, timeout=60, folder=tmp_path)
    rows = fuzzed.campaign.programs
    unlike = {row.name: (row.verdict, different(row)) for row in rows if row.verdict != "parity"}
    assert unlike == {"seed_5_program_2": APART}
    assert len(rows) + len(fuzzed.refused) == 4
    assert [each.side for each in rows[0].observations] == list(SIDES)


def test_xla_splits_an_output_by_what_it_is_passed():
    """Where stock JAX passes each array once, the output is split as with ours and as in legacy."""
    options = CampaignOptions(sides=SIDES, timeout=60, steady_calls=0)
    result = run.run([str(program_file("split_by_rows_or_columns"))], options)
    of_jax, of_numpy = sorted(result.programs, key=lambda row: row.name)
    agrees = "parity" if STOCK_PASSES_TWICE else UNPROVED
    assert (of_jax.verdict, of_jax.reasons) == (agrees, ())
    assert (of_numpy.verdict, different(of_numpy)) == APART
    splits = {each.side: each.outputs[0].sharding for each in of_numpy.observations}
    assert splits["legacy"] == splits["simplified"] == splits["jax-legacy"]
    passed = {each.side: each.proof.const_args for each in of_numpy.observations}
    assert passed["jax-simplified"] - passed["simplified"] == (1 if STOCK_PASSES_TWICE else 0)


TWO_ARRAYS = Recipe(
    (Piece("mix", (0,)), Piece("scale", (1,))), (RecipeArray(), RecipeArray(seed=1))
)


def test_a_wrong_key_of_constants_is_caught(load, monkeypatch):
    """The planted fault: two arrays of one type are taken for one."""
    program = load(TWO_ARRAYS)
    check_against_stock(program)
    check_calls(TWO_ARRAYS, program)
    monkeypatch.setattr(
        deduplication, "constant_key", lambda value: (np.shape(value), str(value.dtype))
    )
    with pytest.raises(AssertionError, match=r"outputs differ|one each"):
        check_against_stock(program)
    with pytest.raises(AssertionError, match="Mismatched elements"):
        check_calls(TWO_ARRAYS, program)
