"""XLA made one program of both forms, but for constants, or it did not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine
from parity_tests.judge.proofs import made_by_xla
from parity_tests.observe import measure
from parity_tests.program import Mark, Program
from parity_tests.proof.executables import number_executable
from parity_tests.proof.numbers import UndecidedError

RANDOM = np.random.default_rng(0)
TABLE, OTHER = (jnp.asarray(RANDOM.normal(size=(16, 16)).astype(np.float32)) for _ in range(2))
ROW = TABLE[3]
X = jax.ShapeDtypeStruct((16, 16), jnp.float32)


def numbered(fun, side="legacy"):
    lowered = engine.jit(fun, constants=side).trace(X).lower()
    return number_executable(lowered.compile().as_text(), len(lowered.const_args))


ONE_PROGRAM = {
    "an operand": lambda x: x * TABLE + x,
    "two of one type": lambda x: (x * TABLE) @ OTHER,
    "a fusion": lambda x: jnp.tanh(x * TABLE).sum(0) + ROW,
    "handed from turn to turn": lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ TABLE), x),
    "in a loop in a loop": lambda x: lax.fori_loop(
        0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d * TABLE + c, c), x
    ),
    "beside one carried value": lambda x: lax.while_loop(
        lambda c: (c @ ROW).sum() < 9, lambda c: c + TABLE, x
    ),
    "rows of a scan": lambda x: lax.scan(lambda c, row: (c * row, c @ ROW), x, TABLE)[1],
    "a body that compares": lambda x: jnp.sort(x * TABLE),
    "random bits": lambda x: jax.random.normal(jax.random.key(0), (16, 16)) * TABLE + x,
    "a derivative": jax.grad(lambda x: (jnp.tanh(x @ TABLE) @ ROW).sum()),
}


@pytest.mark.parametrize("what", ONE_PROGRAM)
def test_how_a_captured_array_comes_in_does_not_count(what):
    assert numbered(ONE_PROGRAM[what], "legacy") == numbered(ONE_PROGRAM[what], "simplified")


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: x * jnp.exp(TABLE),  # folded
        lambda x: x - TABLE,  # XLA adds the negative of what it knows
    ],
)
def test_what_xla_knows_of_a_constant_makes_another_program(fun):
    assert numbered(fun, "legacy") != numbered(fun, "simplified")


def test_no_two_of_these_are_one_program():
    others = [
        lambda x: x + TABLE,
        lambda x: TABLE @ x,
        lambda x: x @ TABLE,
        lambda x: x * TABLE * 2,
        lambda x: x * TABLE * 3,
        lambda x: x * ROW,
        lambda x: (x * TABLE, x),
        lambda x: (x, x * TABLE),
        lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.tanh(c @ TABLE), x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c @ TABLE), x),
        lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(TABLE @ c), x),
        lambda x: jnp.sort(x * TABLE, axis=0),
        lambda x: -jnp.sort(-(x * TABLE)),
    ]
    numbers = [numbered(fun) for fun in (*ONE_PROGRAM.values(), *others)]
    assert len(set(numbers)) == len(numbers)


def test_what_an_array_holds_does_not_count_and_a_scalar_does():
    assert numbered(lambda x: x * TABLE) == numbered(lambda x: x * OTHER)
    assert numbered(lambda x: x * 2.0) != numbered(lambda x: x * 3.0)


def test_arguments_count_by_their_places():
    def of_two(fun):
        return number_executable(jax.jit(fun).lower(X, X).compile().as_text(), 0)

    assert of_two(lambda x, y: x @ y) != of_two(lambda x, y: y @ x)


def test_a_call_of_python_is_not_known():
    with pytest.raises(UndecidedError, match="a call of Python"):
        numbered(lambda x: jax.pure_callback(np.sin, x, x) * TABLE)


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        (ONE_PROGRAM["an operand"], "XLA made the same program of both, but for constants"),
        (lambda x: x - TABLE, "their optimised HLO differs in more than constants"),
        (lambda x: jax.pure_callback(np.sin, x, x) * TABLE, ""),
    ],
)
def test_a_measurement_of_both_forms_tells(fun, said):
    mark = Mark((np.ones((16, 16), np.float32),), {}, None, ())
    before, after = (
        measure.measure(Program("p", "p", "p.py:1", "", fun, mark), side).observation
        for side in ("legacy", "simplified")
    )
    assert made_by_xla(before, after) == said
