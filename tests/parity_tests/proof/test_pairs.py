"""Programs that differ in one thing never have one digest; programs that are equal have one."""

import contextlib
import itertools

import jax
import numpy as np
import pairs
import pairs_arrays  # noqa: F401
import pairs_calls  # noqa: F401
import pairs_control  # noqa: F401
import pairs_equal  # noqa: F401
import pairs_kernels  # noqa: F401
import pairs_placed  # noqa: F401
import pairs_repeated  # noqa: F401
import pairs_state  # noqa: F401
import pairs_symbols  # noqa: F401
import pairs_values  # noqa: F401
import pytest
from pairs import ONLY_JAXPRS, ONLY_MODULES

from parity_tests.jax_internals import const_args
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import UndecidedError


def traced(program):
    jitted = program.fun if hasattr(program.fun, "trace") else jax.jit(program.fun)
    return jitted.trace(*program.args)


def digest_of_jaxpr(program):
    """Return the digest, or None where the proof says that it does not know."""
    with program.context(), contextlib.suppress(UndecidedError):
        return number_jaxpr(traced(program).jaxpr).digest


def lowered(program):
    with program.context():
        platforms = {"lowering_platforms": program.platforms} if program.platforms else {}
        return traced(program).lower(**platforms)


def digest_of_module(low):
    with contextlib.suppress(UndecidedError):
        return number_module(low.compiler_ir("stablehlo"), const_args(low)).digest


def equal_ones(digests):
    """Return the positions, two by two, of digests that are equal; None is equal to none."""
    known = [(n, digest) for n, digest in enumerate(digests) if digest]
    return [(n, m) for (n, a), (m, b) in itertools.combinations(known, 2) if a == b]


def written(low):
    """Return all that JAX lowered a program to, without its name and the places in the source."""
    text = str(low.compiler_ir("stablehlo")).partition("\n")[2]
    return text, [np.asarray(each).tobytes() for each in const_args(low)]


def test_there_are_as_many_pairs_as_are_claimed():
    of_families = sum(len(members) - 1 for members in pairs.FAMILIES.values())
    assert (of_families >= 400, len(pairs.EQUAL) >= 80) == (True, True)


@pytest.mark.parametrize("family", [each for each in pairs.FAMILIES if each not in ONLY_MODULES])
def test_programs_that_differ_in_one_thing_are_never_proved_by_jaxprs(family):
    assert equal_ones(map(digest_of_jaxpr, pairs.FAMILIES[family])) == []


@pytest.mark.parametrize("family", [each for each in pairs.FAMILIES if each not in ONLY_JAXPRS])
def test_programs_that_differ_in_one_thing_are_never_proved_by_modules(family):
    """Where JAX itself lowers two programs to one text, there is nothing to tell apart."""
    found = [lowered(each) for each in pairs.FAMILIES[family]]
    same = equal_ones(map(digest_of_module, found))
    assert [(n, m) for n, m in same if written(found[n]) != written(found[m])] == []


@pytest.mark.parametrize("name", pairs.EQUAL)
def test_programs_that_are_equal_by_construction_have_one_digest(name):
    one, other = pairs.EQUAL[name]
    assert digest_of_jaxpr(one) == digest_of_jaxpr(other) != None  # noqa: E711
