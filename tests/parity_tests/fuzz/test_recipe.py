"""Recipes, the text that they become, and how they are made smaller; no program runs here."""

import subprocess
import sys
from dataclasses import replace

import jax
import pytest

from parity_tests.fuzz import campaign, rendering, strategy
from parity_tests.fuzz.catalogue import CATALOGUE
from parity_tests.fuzz.recipe import (
    DTYPES,
    OUTSIDES,
    SHAPES,
    STORAGES,
    Piece,
    Recipe,
    RecipeArray,
    uses,
    walk,
)

SCAN = Piece("scan", bodies=((Piece("mix", (1,)), Piece("sine")),), option=2)
NESTED = Recipe(
    (Piece("jit", bodies=((SCAN,),)), Piece("scale", (3,))),
    (RecipeArray(), RecipeArray("int32"), RecipeArray(shape="vector"), RecipeArray(storage="view")),
    size=8,
    returned=(0,),
    outside="vmap",
)


def built(recipe):
    namespace = {}
    exec(rendering.module({"program": recipe}), namespace)
    return namespace["program"]()


def test_a_recipe_is_written_as_a_program_that_stands_alone():
    text = rendering.module({"program": NESTED})
    assert (
        text[text.index("def program") :]
        == '''\
def program(jit=jax.jit):
    """jit, scan, mix, scale, sine; vmap outside."""
    c0 = jnp.asarray(draw(0, 8, 8))
    c1 = jnp.asarray(np.asarray(4 * draw(0, 8, 8), np.int32))
    c2 = jnp.asarray(draw(0, 8))
    c3 = c2[...]

    def fun(x):

        def f1(x):

            def f2(x):
                x = 0.5 * x + 0.5 * jnp.multiply(c1, np.float32(0.125))
                x = jnp.sin(x)
                return x

            x, _ = lax.scan(lambda c, _: (f2(c), None), x, None, length=3, reverse=True)
            return x

        x = jit(f1)(x)
        x = x * c3
        return (x, c0)

    return jit(lambda v: jax.vmap(jit(fun))(jnp.stack([v, -v]))), (draw(1000, 8, 8),)
'''
    )
    imported = {
        line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))
    }
    assert {name.partition(".")[0] for name in imported} == {"jax", "numpy"}


def test_what_no_step_names_is_not_made():
    recipe = replace(NESTED, pieces=(Piece("scale", (1,)),), returned=())
    assert uses(recipe) == {1}
    assert "c0" not in rendering.module({"program": recipe})


@pytest.mark.parametrize("construct", CATALOGUE.values(), ids=lambda c: c.name)
def test_every_construct_keeps_the_shape_of_the_state(construct):
    body = (Piece("mix", (0,)),)
    piece = Piece(construct.name, tuple(range(construct.captured)), (body,) * construct.bodies)
    pieces = (piece,) if 2 in construct.ranks else (Piece("map", bodies=((piece,),)),)
    fun, args = built(Recipe(pieces, (RecipeArray(), RecipeArray(seed=1))))
    [out] = jax.eval_shape(fun, *args)
    assert (out.shape, out.dtype) == ((4, 4), "float32")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_captured_array_is_an_operand_of_every_kind(dtype, shape):
    inner = tuple(Piece(name, (0,)) for name in ("mix", "permute", "host_temporary", "random"))
    pieces = (*inner, Piece("matmul", (0,)), Piece("set", (0,)), Piece("map", bodies=(inner,)))
    for storage in STORAGES:
        fun, args = built(Recipe(pieces, (RecipeArray(dtype, shape, storage),), returned=(0,)))
        assert jax.eval_shape(fun, *args)[0].shape == (4, 4)


@pytest.mark.parametrize("outside", OUTSIDES)
def test_every_outer_transformation_is_written(outside):
    fun, args = built(Recipe((Piece("mix", (0,)),), outside=outside))
    assert jax.eval_shape(fun, *args)


def test_a_seed_and_a_number_name_a_program():
    first, again, other = (strategy.drawn(n, of_seed=3) for n in (4, 4, 5))
    assert first == again != other


def test_a_program_is_drawn_without_a_folder_of_hypothesis(tmp_path):
    """In a process of its own, which Hypothesis starts in with no cache."""
    draw = "from parity_tests.fuzz import strategy; strategy.drawn(1, of_seed=3)"
    subprocess.run([sys.executable, "-c", draw], cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_depth_bounds_the_bodies_in_bodies():
    def levels(block):
        return max((1 + levels(body) for piece in block for body in piece.bodies), default=0)

    for depth in (0, 1, 3):
        drawn = [strategy.drawn(number, of_seed=11, depth=depth) for number in range(40)]
        assert max(levels(each.pieces) for each in drawn) == depth
    assert drawn[5] == strategy.drawn(5, of_seed=11)


def test_candidates_are_smaller_and_come_to_an_end():
    recipe = NESTED
    while smaller := campaign.candidates(recipe):
        assert all(campaign.size(each) < campaign.size(recipe) for each in smaller)
        recipe = smaller[0]
    assert recipe == replace(recipe, pieces=(), returned=(), outside="nothing", size=4)


def test_what_fails_is_all_that_is_left():
    def fails(recipe):
        return any(piece.construct == "sine" for piece in walk(recipe.pieces))

    recipe = NESTED
    while alike := [each for each in campaign.candidates(recipe) if fails(each)]:
        recipe = alike[0]
    assert recipe.pieces == (Piece("sine"),)
