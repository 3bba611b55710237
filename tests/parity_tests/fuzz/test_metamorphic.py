"""Generated programs, and programs that are equal to them by construction: one digest."""

import functools
import re

import jax
import numpy as np
import pytest
from jax.extend import core

from parity_tests.campaign.generated import recipe_of
from parity_tests.fuzz import rendering
from parity_tests.jax_internals import const_args
from parity_tests.jaxpr.bodies import inner, is_body
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module
from simplified_consts.hoisting.closure_conversion import Conversion

SEED = 17
PROGRAMS = (0, 1, 2, 3)


@functools.cache
def text_of(number):
    return rendering.module({"program": recipe_of(SEED, number)})


def built(text):
    namespace = {}
    exec(compile(text, "generated.py", "exec"), namespace)
    return namespace["program"]()


@functools.cache
def program(number):
    """Return a generated program as a jitted function, its arguments and its closed_jaxpr."""
    jitted, args = built(text_of(number))
    return jitted, args, jitted.trace(*args).jaxpr


# -- programs that are equal by construction -------------------------------------------------------


def renamed(number):
    """Give the functions of the program other names, and write it some lines further down."""
    text = re.sub(r"\bf(\d+)\b", r"other_\1", text_of(number).replace("fun(x)", "step(x)"))
    text = text.replace("jit(fun", "jit(step").replace("(fun", "(step")
    return built("\n\n\n" + text)[0]


def reordered(number):
    """Write late equations first in all bodies, as far as operands and effects allow."""
    _, args, closed = program(number)
    return jax.jit(as_function(last_first(closed), args))


def last_first(value):
    if isinstance(value, (tuple, list)) and any(map(is_body, value)):
        return jax.tree.map(last_first, value, is_leaf=is_body)
    if not is_body(value):
        return value
    jaxpr = inner(value)
    equations = [
        each.replace(params={name: last_first(param) for name, param in each.params.items()})
        for each in in_another_order(jaxpr.eqns)
    ]
    jaxpr = jaxpr.replace(eqns=equations, debug_info=jaxpr.debug_info)
    return value.replace(jaxpr=jaxpr) if isinstance(value, core.ClosedJaxpr) else jaxpr


def in_another_order(equations):
    left, done = list(equations), []
    while left:
        waiting = {var for each in left for var in each.outvars}
        free = [each for each in left if not waiting & {v for v in each.invars if is_var(v)}]
        effectful = next((each for each in left if each.effects), None)
        ready = [each for each in free if not each.effects or each is effectful]
        done.append(ready[-1])
        left.remove(ready[-1])
    return done


def is_var(atom):
    return not isinstance(atom, core.Literal)


def nested(number):
    jitted, _, _ = program(number)
    return jax.jit(lambda *args: jax.jit(lambda *inner: jitted(*inner))(*args))


def passed(number):
    """Pass the constants as arguments of an inner function that is given their contents."""
    _, _, closed = program(number)
    conversion = Conversion(lambda value: id(value) if np.ndim(value) else None)
    consts = conversion.needs(closed)
    inner = jax.jit(core.jaxpr_as_fun(conversion.body(closed, consts)))
    return jax.jit(lambda *given: tuple(inner(*consts.values(), *jax.tree.leaves(given))))


def as_function(closed, args):
    tree = jax.tree.structure(args)

    def fun(*given):
        assert jax.tree.structure(given) == tree
        return tuple(core.jaxpr_as_fun(closed)(*jax.tree.leaves(given)))

    return fun


def digests(jitted, args):
    traced = jitted.trace(*args)
    lowered = traced.lower()
    module = number_module(lowered.compiler_ir(), const_args(lowered))
    return number_jaxpr(traced.jaxpr).digest, module.digest


@pytest.mark.parametrize("number", PROGRAMS)
def test_programs_that_are_equal_by_construction_have_one_digest(number):
    jitted, args, _ = program(number)
    others = [renamed(number), reordered(number), nested(number), passed(number)]
    texts = {str(each.trace(*args).jaxpr) for each in (jitted, *others)}
    assert len(texts) == 5
    assert {digests(each, args) for each in others} == {digests(jitted, args)}
