"""Each captured array with the lines that use it, in both forms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from program_files import script_file

from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.jaxpr.source_places import place_of
from parity_tests.processes.side_environment import environment_of, with_our_packages

TABLE = jnp.arange(77.0)
OTHER = jnp.arange(77.0)
HERE = os.path.relpath(__file__)


@pytest.fixture(params=[False, True], ids=["constvars", "literals"])
def uses(request):
    """Uses in the form of each mode, which must not change what is said."""

    def of(fun, *args):
        before = jax.config.jax_use_simplified_jaxpr_constants
        jax.config.update("jax_use_simplified_jaxpr_constants", request.param)
        try:
            return captured_uses(jax.jit(fun).trace(*args).jaxpr)
        finally:
            jax.config.update("jax_use_simplified_jaxpr_constants", before)

    return of


def lines(found, fun):
    """The lines of first use, counted from the line of `fun`."""
    assert all(use.place.file == HERE for use in found)
    return [use.place.line - fun.__code__.co_firstlineno for use in found]


def custom_jvp(f):
    custom = jax.custom_jvp(f)
    custom.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return custom


def custom_vjp(f):
    custom = jax.custom_vjp(f)
    custom.defvjp(lambda x: (f(x), None), lambda _, g: (g,))
    return custom


def test_equations_and_outputs_are_uses(uses):
    def f(x):
        y = x + TABLE
        return y * TABLE, TABLE

    [use] = uses(f, 1.0)
    assert use.array.value is TABLE
    assert use.uses == 3
    assert lines([use], f) == [1]
    assert use.place.function.endswith("f")


def test_an_equation_that_reads_it_twice_is_one_use(uses):
    [use] = uses(lambda x: x + TABLE * TABLE, 1.0)
    assert use.uses == 1


def test_arrays_come_in_the_order_of_use(uses):
    def f(x):
        y = x + OTHER
        return y * TABLE

    found = uses(f, 1.0)
    assert [use.array.value is OTHER for use in found] == [True, False]
    assert lines(found, f) == [1, 2]


@pytest.mark.parametrize(
    "body",
    [
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0],
        lambda f: lambda x: lax.while_loop(lambda c: c[0] < 9, f, x),
        lambda f: lambda x: lax.fori_loop(0, 3, lambda _, c: f(c), x),
        lambda f: lambda x: lax.cond(x[0] > 0, f, lambda c: c, x),
        lambda f: lambda x: jax.jit(f)(x),
        lambda f: lambda x: jax.jit(jax.checkpoint(f))(x),
        lambda f: custom_jvp(f),
        lambda f: custom_vjp(f),
        lambda f: lambda x: lax.custom_linear_solve(f, x, lambda matvec, b: b),
    ],
    ids=[
        "scan",
        "while",
        "fori",
        "cond",
        "jit",
        "checkpoint",
        "custom_jvp",
        "custom_vjp",
        "linear solve",
    ],
)
def test_the_use_is_in_the_body_and_not_where_it_is_handed_on(uses, body):
    def f(c):
        return c + TABLE

    [use] = uses(body(f), np.ones(77, np.float32))
    assert use.uses == 1
    assert lines([use], f) == [1]


def test_a_body_that_is_shared_is_one_use(uses):
    @jax.jit
    def inner(y):
        return y + TABLE

    [use] = uses(lambda x: inner(x) + inner(x), 1.0)
    assert use.uses == 1


def test_bodies_that_nest_and_share_are_walked_once(uses):
    fun = jax.jit(lambda x: x + TABLE)
    for _ in range(40):
        fun = jax.jit(lambda x, fun=fun: fun(x) + fun(x))
    [use] = uses(fun, np.ones(77, np.float32))
    assert use.uses == 1


def test_a_use_in_a_function_of_jax_is_where_that_is_called(uses):
    def f(x):
        y = x + 1
        return jnp.linalg.norm(TABLE) + y

    [use] = uses(f, 1.0)
    assert lines([use], f) == [2]


def test_an_array_that_is_only_returned_is_at_its_function(uses):
    def f(x):
        return x, TABLE

    [use] = uses(f, 1.0)
    assert use.place == (HERE, f.__code__.co_firstlineno, "f")


def test_dead_code_is_code(uses):
    def f(x):
        jnp.sin(TABLE)
        return x

    [use] = uses(f, 1.0)
    assert (use.uses, lines([use], f)) == (1, [1])


def test_scalars_and_references_are_left_out(uses):
    reference = jax.new_ref(jnp.arange(9.0))
    scalar = jnp.float32(3)
    assert uses(lambda x: reference[...] + scalar + x, 1.0) == ()


def test_a_users_line_comes_before_that_of_a_library():
    optax = pytest.importorskip("optax")

    def f(x):
        return optax.l2_loss(x, TABLE)

    [equation, *_] = jax.make_jaxpr(f)(TABLE).eqns
    place = place_of(equation)
    assert (place.file, place.line) == (HERE, f.__code__.co_firstlineno + 1)
    library = [frame.file_name for frame in equation.source_info.traceback.frames]
    assert any("optax" in Path(file).parts for file in library)


MODULES = ("seed_constants", "seed_jaxprs", "control_flow", "derivatives", "functions_in_functions")


def test_stock_jax_passes_what_is_expected_for_programs_of_the_corpus():
    """Also, the table of primitives with bodies has those that this release of JAX writes."""
    done = subprocess.run(
        [
            sys.executable,
            str(script_file("stock_const_args_of_corpus")),
            *(f"parity_tests.corpus.{each}" for each in MODULES),
        ],
        env=with_our_packages(environment_of("jax-simplified")),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["programs"] > 60
    assert found["apart"] == {}
    # A scatter has the combination of two elements as a body, which captures nothing.
    assert set(found["unknown"]) <= {"scatter-add"}
