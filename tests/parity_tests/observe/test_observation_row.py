"""The arguments of a program as rows: their names, and digests that tell values apart."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.observe.observation_row import described


def paths(fun, *args, **kwargs):
    return [each.path for each in described(fun, args, kwargs)]


def test_a_leaf_is_named_by_its_parameter_and_its_place_within():
    def f(x, weights, *more, scale):
        return x

    tree = {"w": [1.0, 2.0]}
    assert paths(f, 1.0, tree, 3.0, scale=4.0) == [
        "x", "weights['w'][0]", "weights['w'][1]", "argument 2", "scale",
    ]  # fmt: skip
    assert paths(functools.partial(f, 1.0), tree, scale=4.0)[0] == "weights['w'][0]"


def test_a_function_without_a_signature_has_numbers():
    assert paths(max, 1.0, 2.0) == ["argument 0", "argument 1"]


def test_digests_tell_values_apart_and_nothing_else():
    def digest(value):
        [leaf] = described(lambda x: x, (value,), {})
        return leaf.sha256

    assert digest(np.float32([1, 2])) == digest(jnp.array([1, 2], jnp.float32))
    assert digest(np.float32([1, 2])) != digest(np.float32([1, 3]))
    assert digest(jax.random.key(0)) != digest(jax.random.key(1))
    assert digest(2) != digest(3)
    assert digest("a") != digest("b")


def test_what_cannot_be_read_has_no_digest():
    deleted = jnp.ones(3)
    deleted.delete()
    for value in (deleted, np.array([object()]), object()):
        [leaf] = described(lambda x: x, (value,), {})
        assert leaf.sha256 == ""


def test_types_are_told_beside_the_digest():
    [leaf] = described(lambda x: x, (jnp.ones((2, 3), jnp.bfloat16),), {})
    assert (leaf.shape, leaf.dtype) == ((2, 3), "bfloat16")
