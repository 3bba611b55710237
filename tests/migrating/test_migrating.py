"""docs/migrating.md is what its programs say, on the JAX at hand."""

import json
import sys
from functools import partial
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import write_migrating as writer
from jax.extend.core import primitives

FLAG, RELEASES = (*writer.USERS, *writer.AUTHORS), writer.RELEASES
# What these say is right before the flip, too, or is an error before it.
SAYS_THE_SAME = {"flag_set_too_late"}
NOT_MENDED_TO_BEFORE = {"flag_set_too_late", "last_bits", "pallas_kernel"}
MERGED = tuple(map(int, version("jax").split(".")[:2])) >= (0, 11)


@pytest.fixture(scope="module")
def seen():
    return json.loads(writer.SEEN.read_text())


@pytest.fixture(scope="module")
def said():
    """What all programs say here, by the flag."""
    return {flag: writer.said_by(sys.executable, flag, writer.NAMES)["said"] for flag in ("0", "1")}


def test_every_program_is_on_the_page():
    assert {each.stem for each in writer.PROGRAMS.glob("*.py")} == set(writer.NAMES)


def test_the_page_is_what_was_seen(seen):
    assert seen["digest"] == writer.digest(), "the programs changed: run write_migrating.py"
    assert writer.PAGE.read_text() == writer.page(seen)


def test_the_programs_say_here_what_the_page_says(seen, said):
    if version("jax") not in seen["said"]:
        pytest.skip("the page does not speak of this JAX")
    assert said == seen["said"][version("jax")]


def test_each_mend_says_the_same_in_both_forms(said):
    off, on = ({name: each["mended"] for name, each in said[flag].items()} for flag in "01")
    assert off == on
    assert not [each for each in off.values() if "Error: " in each]


def test_each_mend_says_the_same_on_every_release(seen):
    [mended] = {
        json.dumps({name: each["mended"] for name, each in flags[flag].items()})
        for flags in seen["said"].values()
        for flag in "01"
    }
    assert "Error: " not in mended


def names_whose(names, said, is_so):
    """Return the names of programs of which something holds, where JAX has what they show."""
    return {
        name
        for name in names
        if is_so(said["0"][name], said["1"][name])
        and "no attribute 'closure_convert'" not in said["0"][name]["breaks"]
    }


def test_each_program_shows_a_change_of_the_flip(said):
    alike = names_whose(FLAG, said, lambda off, on: off["breaks"] == on["breaks"])
    assert alike == SAYS_THE_SAME


def test_each_mend_says_what_was_said_before_the_flip(said):
    otherwise = names_whose(FLAG, said, lambda off, _: off["mended"] != off["breaks"])
    assert otherwise == NOT_MENDED_TO_BEFORE


def test_what_jax_0_11_changed_has_nothing_to_do_with_the_flag(said):
    changed = names_whose(RELEASES, said, lambda off, _: off["mended"] != off["breaks"])
    assert changed == (set(RELEASES) if MERGED else {"bind_params"})
    depends = names_whose(RELEASES, said, lambda off, on: off["breaks"] != on["breaks"])
    assert depends == ({"private_tracing"} if MERGED else set())


def test_the_interpreter_is_right_where_the_page_says_so(said):
    assert [said[flag][writer.WHOLE]["mended"] for flag in "01"] == ["[True, True, True]\nTrue"] * 2


@pytest.fixture(scope="module")
def interpreter():
    _, _, head, _, mended = writer.sources(writer.WHOLE)
    names = {}
    exec(f"{head}\n{mended}", names)
    return names


TABLE = jnp.arange(1.0, 4.0)
MODELS = {
    "checkpoint": lambda x, sin: jax.checkpoint(lambda x: sin(x * TABLE) + x)(x),
    "vmap of cond": lambda x, sin: jax.vmap(
        lambda y: jax.lax.cond(y > 1, lambda y: sin(y) * TABLE, lambda y: y + TABLE, y)
    )(x),
    "scan in scan": lambda x, sin: jax.lax.scan(
        lambda c, y: (
            jax.lax.scan(lambda d, z: (d + sin(z * y), z * TABLE), c, x)[0],
            c + sin(TABLE),
        ),
        x,
        TABLE,
        reverse=True,
    ),
    "gradient": lambda x, sin: jax.grad(lambda x: (jax.jit(sin)(x) * TABLE).sum())(x),
    "custom derivative": lambda x, sin: jax.nn.relu(sin(x) - TABLE),
    "nothing captured": lambda x, sin: (x, sin(x), 2.0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_on", [False, True])
def test_the_interpreter_evaluates_other_programs(interpreter, name, is_on):
    flag, x = "jax_use_simplified_jaxpr_constants", jnp.array([0.5, 1.5, 2.5])
    was_on = getattr(jax.config, flag)
    try:
        jax.config.update(flag, is_on)
        jaxpr = jax.make_jaxpr(lambda x: MODELS[name](x, jnp.sin))(x)
        rules = {primitives.sin_p: lambda x: jnp.sin(x) + 1}
        found = jax.jit(partial(interpreter["evaluate"], rules, jaxpr))(x)
    finally:
        jax.config.update(flag, was_on)
    model = jax.jit(MODELS[name], static_argnames="sin")
    expected = jax.tree.leaves(model(x, sin=rules[primitives.sin_p]))
    assert all(map(np.allclose, found, expected))
    unchanged = jax.tree.leaves(model(x, sin=jnp.sin))
    assert all(map(np.allclose, found, unchanged)) == (name == "gradient")  # of sin + 1


def test_the_interpreter_refuses_a_body_that_it_does_not_know(interpreter):
    mesh, all_of_it = jax.make_mesh((1,), ("i",)), jax.sharding.PartitionSpec()
    sharded = jax.shard_map(jnp.sin, mesh=mesh, in_specs=all_of_it, out_specs=all_of_it)
    with pytest.raises(NotImplementedError, match="shard_map"):
        interpreter["evaluate"]({primitives.sin_p: jnp.cos}, jax.make_jaxpr(sharded)(1.0), 1.0)
