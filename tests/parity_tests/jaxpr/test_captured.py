"""Captured values: one array however JAX hands it on."""

from dataclasses import dataclass

import numpy as np

from parity_tests.jaxpr.captured import captured_value, identity, unwrapped
from parity_tests.jaxpr.rewriting import with_other_elements


@dataclass
class Wrapped:
    """What JAX 0.8 makes of a NumPy array: it has no bytes, no copy and no base."""

    val: np.ndarray
    weak_type: bool

    @property
    def dtype(self):
        return self.val.dtype

    @property
    def shape(self):
        return self.val.shape

    @property
    def size(self):
        return self.val.size


WEIGHTS = np.array([0.0, 2.0, 0.0])


def test_an_array_that_jax_has_wrapped_is_that_array():
    found = captured_value(Wrapped(WEIGHTS, False))
    assert found == captured_value(WEIGHTS)
    assert found.value is WEIGHTS
    assert (found.bytes, found.shape) == (24, (3,))
    assert identity(Wrapped(WEIGHTS, False)) == identity(WEIGHTS)


def test_other_values_have_no_wrapping():
    for value in (2.0, WEIGHTS, object(), np.float32(1.0)):
        assert unwrapped(value) is value


def test_other_elements_are_wrapped_alike():
    other = with_other_elements(Wrapped(WEIGHTS, True))
    assert isinstance(other, Wrapped)
    assert other.weak_type
    assert other.val.tolist() == [1.0, 0.0, 1.0]
    assert WEIGHTS.tolist() == [0.0, 2.0, 0.0]
