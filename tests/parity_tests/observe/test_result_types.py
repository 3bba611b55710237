"""Types of a program: what the tree of its results holds is numbered, and its address is not."""

import functools
import types
from collections import UserDict, namedtuple
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

from parity_tests.observe.result_types import digest_of_tree, types_of


@functools.partial(jax.tree_util.register_dataclass, data_fields=["a"], meta_fields=["held"])
@dataclass
class State:
    a: object
    held: object


@dataclass
class Record:
    held: object


def record_with_more(factor):
    record = Record(times(factor))
    record.more = 1
    return record


class Items(UserDict):
    """A mapping that keeps its items and their hash, as those of Flax NNX do, and perhaps more."""

    def __init__(self, items, **more):
        super().__init__(items)
        self.known_hash = hash(self)
        vars(self).update(more)

    def __hash__(self):
        return id(self)


Transformation = namedtuple("Transformation", ["init", "update"])


class Layer:
    def call(self, x):
        return x

    def __repr__(self):
        return "Layer()"


class Text(str):
    """A text that a library may colour."""


class Shown(Layer):
    def __repr__(self):
        return Text("Shown()")


def results(held):
    """Return the types, the digest and why there is none of a program that returns a `State`."""
    traced = jax.jit(lambda x: State(x, held)).trace(1.0)
    tree = jax.tree.structure(traced.out_info)
    return types_of(traced.jaxpr, tree), *digest_of_tree(tree)


def times(factor):
    return lambda x: x * factor


def linear(factor):
    return jax.make_jaxpr(lambda x: x * factor)(1.0)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (jnp.sin, jnp.sin),
        (jax.nn.relu, jax.nn.relu),
        (times(2), times(2)),
        (functools.partial(times(2), 1), functools.partial(times(2), 1)),
        ({"f": times(np.arange(3))}, {"f": times(np.arange(3))}),
        (Layer().call, Layer().call),
        (Record(times(2)), Record(times(2))),
        (record_with_more(2), record_with_more(2)),
        (Transformation(times(2), 1), Transformation(times(2), 1)),
        (types.MappingProxyType({"f": times(2)}), types.MappingProxyType({"f": times(2)})),
        (UserDict({"f": times(2)}), UserDict({"f": times(2)})),
        (Items({"f": times(2)}), Items({"f": times(2)}, known_hash=None)),
        (linear(2.0).jaxpr, linear(2.0).jaxpr),
        (linear(np.arange(9.0)).jaxpr, linear(np.arange(9.0)).jaxpr),
        (linear(np.arange(9.0)), linear(np.arange(9.0))),
    ],
)
def test_two_of_one_code_have_one_text_and_one_digest(one, two):
    assert results(one) == results(two)
    text, digest, why_not = results(one)
    assert digest, why_not
    assert " at 0x" not in text


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (times(2), times(3)),
        (lambda x: x + 1, lambda x: x + 2),
        (Record(times(2)), Record(times(3))),
        (record_with_more(2), record_with_more(3)),
        (Transformation(times(2), 1), Transformation(times(3), 1)),
        (types.MappingProxyType({"f": times(2)}), types.MappingProxyType({"f": times(3)})),
        (UserDict({"f": times(2)}), UserDict({"f": times(3)})),
        (linear(np.arange(9.0)), linear(np.arange(9.0) + 1)),
    ],
)
def test_what_differs_has_another_digest_where_it_is_printed_alike(one, two):
    (text, digest, _), (other_text, other, _) = results(one), results(two)
    assert digest
    assert other
    assert digest != other
    assert text == other_text


@pytest.mark.parametrize(
    "held",
    [
        object(),
        times(object()),
        (1, [jax.jit(times(2))]),
        Record(object()),
        record_with_more(object()),
        Items({"f": times(2)}, more=1),
        Items({"f": times(2)}, more={"f": times(3)}),
    ],
)
def test_what_has_no_rule_and_prints_its_address_has_no_digest(held):
    text, digest, why_not = results(held)
    assert digest == ""
    assert why_not.startswith("the tree of its results holds a value of type ")
    assert " at 0x" not in text


@pytest.mark.parametrize("kind", [Layer, Shown])
def test_an_object_that_prints_no_address_is_what_it_prints(kind):
    assert results(kind()) == results(kind())
    assert results(kind())[1]


def test_a_tree_of_tuples_lists_and_dicts_needs_no_digest():
    assert digest_of_tree(jax.tree.structure({"a": (1, [2, None])})) == ("", "")


def error(text):
    """Return the digest of the error that a check makes, without the number that it is given."""

    def f(x):
        checkify.check(x > 0, text)

    returned, _ = jax.eval_shape(checkify.checkify(f), 1.0)
    [made] = jax.tree.structure(returned).node_data()[1].values()
    return digest_of_tree(made)


def test_an_error_of_checkify_is_what_it_says_and_not_where_it_was_made():
    digest, why_not = error("not positive")
    assert digest, why_not
    assert error("not positive") == (digest, "")
    assert error("negative")[0] not in ("", digest)
