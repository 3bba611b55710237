"""What an export or a reloaded executable returns is compared, and refusals are said."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import reloading
from parity_tests.calls import Result
from parity_tests.compile_cache import Cached

X = np.arange(3, dtype=np.float32)


def exported(fun, first):
    [check] = reloading.check_export(jax.jit(fun), (X,), {}, Result.read(first))
    return check


def test_an_export_returns_the_values_of_the_first_call():
    assert exported(lambda x: {"y": x * 2}, {"y": X * 2}).holds


def test_other_values_and_missing_leaves_are_found():
    check = exported(lambda x: {"y": x * 2}, {"y": X * 3})
    assert (check.holds, check.statement) == (False, "other values at ['y']")
    assert exported(lambda x: (x,), (X, X)).statement == "2 leaves, and 1 afterwards"


def test_what_jax_does_not_export_is_said():
    def calls_back(x):
        return jax.pure_callback(np.sin, jax.typeof(x), x)

    check = exported(calls_back, X)
    assert not check.holds
    assert check.statement.startswith("not exported: ")


def test_a_reloaded_executable_is_called():
    first = Result.read(X + 1)
    right = Cached(compiled=lambda x: [jnp.asarray(x) + 1])
    wrong = Cached(compiled=lambda x: [jnp.asarray(x) + 2])
    [held], [failed] = (reloading.check_reload(each, [X], first) for each in (right, wrong))
    assert held.holds
    assert not failed.holds
    assert reloading.check_reload(Cached(), [X], first) == ()
