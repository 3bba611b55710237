"""On which inputs a program is evaluated, and that both forms get what they take of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import stages
from parity_tests.observe.reference import evaluator_of, inputs_of, results
from parity_tests.program import Mark, Program

X = np.float32([1.0, 2.0, 3.0])
W = jnp.float32([4.0, 5.0, 6.0])


def lowered(fun, *args, side="jax-legacy"):
    declared = Program("p", "p", "p.py:1", "", fun, Mark(args, {}, None, ()))
    built = stages.build(declared, side, stages.StageClock(lambda _: None))
    return stages.lower(stages.trace(built, None))


def test_the_programs_own_arguments_come_first_and_samples_are_the_same_in_each_process():
    def fun(x, indices, flags, key):
        return x[indices] * flags + jax.random.uniform(key)

    given = inputs_of(lowered(fun, X, np.int32([2, 0]), np.array([True, False]), jax.random.key(3)))
    assert [each.name for each in given] == ["its own arguments", "sample 1", "sample 2"]
    own, sample, _ = ([array.tolist() for array in each.arrays] for each in given)
    assert own == [[1.0, 2.0, 3.0], [2, 0], [True, False], [0, 3]]
    random = np.random.default_rng(1)
    assert sample == [
        random.standard_normal(3).astype("f4").tolist(),
        random.choice([2, 0], 2).tolist(),
        random.choice([True, False], 2).tolist(),
        random.choice([0, 3], 2).tolist(),
    ]


def test_arguments_without_values_are_sampled():
    def fun(x, n, flag):
        return x * n * flag

    types = [jax.ShapeDtypeStruct((2,), dtype) for dtype in ("complex64", "int32", "bool")]
    given = inputs_of(lowered(fun, *types))
    assert [each.name for each in given] == ["sample 1", "sample 2"]
    for _, numbers, flags in (each.arrays for each in given):
        assert set(numbers.tolist()) <= {0, 1, 2}
        assert (numbers.dtype, flags.dtype) == (np.int32, np.bool_)


def test_a_program_without_arguments_has_one_input():
    made = lowered(lambda: {"a": W * 2, "b": (W,)})
    [given] = inputs_of(made)
    found = results(made, evaluator_of(made), given)
    assert [(each.path, each.array.tolist()) for each in found] == [
        ("['a']", [8.0, 10.0, 12.0]), ("['b'][0]", [4.0, 5.0, 6.0]),
    ]  # fmt: skip


@pytest.mark.parametrize("side", ["jax-legacy", "legacy", "simplified"])
def test_const_args_and_arguments_that_the_module_leaves_out(side):
    large = jnp.arange(1000.0)
    made = lowered(lambda unused, x: x * large, X[0], X[1], side=side)
    [own, *_] = inputs_of(made)
    evaluator = evaluator_of(made)
    assert len(evaluator.takes) == (2 if side == "simplified" else 1)
    [found] = results(made, evaluator, own)
    assert found.array.tolist() == np.arange(0.0, 2000.0, 2.0).tolist()
