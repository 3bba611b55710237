"""Programs of the corpus with one thing changed: where the digest stays, the results stay.

A param that is left out and counts, or a law that does not hold, would prove two programs to be
one.
"""

import random
import re
from collections import Counter

import jax
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun

from parity_tests import targets
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.numbers import UndecidedError
from tests.helpers.mutated_jaxprs import mutants

CONTROL, DERIVATIVES = "parity_tests.corpus.control_flow", "parity_tests.corpus.derivatives"
SOME = (
    f"{CONTROL}:batched_while",
    f"{CONTROL}:cond_both_branches_share",
    f"{CONTROL}:scan_with_interpolation_table",
    f"{DERIVATIVES}:grad_of_scan",
    f"{DERIVATIVES}:grad_of_cond",
)
SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e5)


def results(closed, args):
    made = jaxpr_as_fun(closed)(*args)
    return [bits(jax.random.key_data(each) if is_key(each) else each) for each in made]


def is_key(array):
    return jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key)


def bits(array):
    """NaN of any payload is one: of two that are added, the first one's stays."""
    array = np.asarray(array)
    return array.dtype, np.where(array != array, array.dtype.type(0), array).tobytes(), array.shape


def drawn_arguments(closed, seed, *, special):
    """Arguments of a program: normal ones, or zeros, infinities and NaN."""
    drawn = np.random.default_rng(seed)
    for aval in closed.in_avals:
        if is_key(aval):
            yield jax.random.split(jax.random.key(seed), aval.shape)
        elif jax.dtypes.issubdtype(aval.dtype, np.integer) or aval.dtype == bool:
            yield jax.numpy.asarray(drawn.integers(0, 5, aval.shape), aval.dtype)
        else:
            made = drawn.choice(SPECIAL, aval.shape) if special else drawn.normal(size=aval.shape)
            yield jax.numpy.asarray(made, aval.dtype)


@pytest.mark.parametrize("target", SOME)
def test_a_mutant_of_one_digest_gives_the_same_results(target):
    counted = Counter()
    fun, args, kwargs = targets.load_one(target).build()
    closed, drawn = jax.jit(fun).trace(*args, **kwargs).jaxpr, random.Random(target)
    both = [list(drawn_arguments(closed, seed, special=seed == 2)) for seed in (1, 2)]
    own = number_jaxpr(closed).digest, [results(closed, each) for each in both]
    made = [*mutants(closed, drawn)]
    drawn.shuffle(made)
    for what, make in two_of_each_kind(made):
        counted[outcome(make, own, both, what)] += 1
    assert counted["parted"] > counted.total() / 2, counted


def two_of_each_kind(made):
    """Two mutants of each change of a primitive, in whichever body."""
    seen = Counter()
    for what, make in made:
        kind = re.sub(r"\W*\d+", "", what.rpartition("(")[2])
        seen[kind] += 1
        if seen[kind] <= 2:
            yield what, make


def outcome(make, own, arguments, what):
    digest, expected = own
    try:
        mutant = make()
        if number_jaxpr(mutant).digest != digest:
            return "parted"
        found = [results(mutant, each) for each in arguments]
    except UndecidedError:
        return "undecided"
    except Exception:  # noqa: BLE001 (types need not fit, and errors of JAX's may be any)
        return "no program"
    assert found == expected, f"{what}: other results, one digest"
    return "agree"
