"""The transform matrix: every pair that JAX defines is a program."""

import jax
import numpy as np
import pytest

from parity_tests import targets, transform_matrix


def test_what_is_called_undefined_is_refused_by_jax():
    for construct, transform in transform_matrix.UNDEFINED:
        fun = transform_matrix.TRANSFORMS[transform](transform_matrix.CONSTRUCTS[construct])
        with pytest.raises((ValueError, TypeError)):
            jax.jit(fun)(np.ones(12, np.float32))


def test_every_other_cell_is_a_program():
    names = {each.name for each in targets.load([transform_matrix.__name__])}
    cells = {
        (construct, transform)
        for construct in transform_matrix.CONSTRUCTS
        for transform in transform_matrix.TRANSFORMS
    }
    assert names == {f"{c} under {t}" for c, t in cells - transform_matrix.UNDEFINED}
