"""Programs that read jaxprs or JAX's flag: some fail or differ by it, and some do it right."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from parity_tests import program

X = jnp.arange(6.0)
WEIGHTS = jnp.arange(6.0) + 1
MATRIX = np.arange(36, dtype=np.float32).reshape(6, 6)


def model(x):
    return jnp.sin(x @ MATRIX) * WEIGHTS


# -- programs that the flip breaks or changes ------------------------------------------------------


@program(args=(X,))
def first_constant(x):
    closed = jax.make_jaxpr(model)(x)
    return x + closed.consts[0].sum()  # reads first_constant


@program(args=(X,))
def number_of_constants(x):
    return x * len(jax.make_jaxpr(model)(x).consts)  # reads number_of_constants


@program
def in_the_factory():
    constants = jax.make_jaxpr(model)(X).literals  # reads in_the_factory
    return (lambda x: x * sum(each.sum() for each in constants)), (X,)


@program
def raises_in_the_factory():
    constant = jax.make_jaxpr(model)(X).consts[0]  # reads raises_in_the_factory
    return (lambda x: x * constant.sum()), (X,)


@program(args=(X,))
def number_of_constvars(x):
    jaxpr = jax.make_jaxpr(model)(x).jaxpr
    return x * len(jaxpr.constvars)  # reads number_of_constvars


def interpret(closed, *args):
    """An interpreter that takes every operand for a variable, or a Python scalar in a Literal."""
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, args, strict=True))
    for equation in closed.jaxpr.eqns:
        operands = [values[var] for var in equation.invars]
        result = equation.primitive.bind(*operands, **equation.params)
        values[equation.outvars[0]] = result
    return [values[var] for var in closed.jaxpr.outvars]


@program(args=(X,))
def own_interpreter(x):
    return interpret(jax.make_jaxpr(lambda y: jax.lax.sin(y) * WEIGHTS)(x), x)


@program(args=(X,))
def number_of_operands(x):
    closed = jax.make_jaxpr(lambda y: jax.lax.scan(lambda c, _: (c * WEIGHTS, None), y, None, 3))(x)
    return x * len(closed.eqns[0].invars)  # reads number_of_operands


@program(args=(X,))
def operands_of_a_body(x):
    closed = jax.make_jaxpr(lambda y: jax.lax.scan(lambda c, _: (c * WEIGHTS, None), y, None, 3))(x)
    [scan] = [each for each in closed.jaxpr.eqns if each.primitive.name == "scan"]
    return x * len(scan.params["jaxpr"].jaxpr.invars)  # reads operands_of_a_body


@program(args=(X,))
def constants_of_a_body(x):
    closed = jax.make_jaxpr(lambda y: jax.lax.scan(lambda c, _: (c * WEIGHTS, None), y, None, 3))(x)
    params = closed.eqns[0].params  # reads constants_of_a_body
    if "num_consts" in params:
        return x * (1 + params["num_consts"])
    constants, _, _ = params["ft_in"].unpack()  # from jax 0.11.0 on
    return x * (1 + len(constants))


@jax.jit
def jitted_reader(x):
    return x * len(jax.make_jaxpr(model)(x).consts)  # reads jitted_reader


@program(args=(X,))
def in_an_inner_jit(x):
    return jitted_reader(x)


@program(args=(X,))
def in_an_inner_jit_again(x):
    return jitted_reader(x) + 1


@program(args=(X,))
def the_flag(x):
    return x * (3 if jax.config.jax_use_simplified_jaxpr_constants else 2)  # reads the_flag


@program(args=(X,))
def the_flag_among_all(x):
    return x * (3 if jax.config.values["jax_use_simplified_jaxpr_constants"] else 2)


@program(args=(X,))
def the_variable(x):
    return x * (1 + int(os.getenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", "0")))


@program(args=(X,))
def the_flag_by_its_private_name(x):
    from jax._src import config  # noqa: TID251 - as some programs do

    return x * (3 if config.use_simplified_jaxpr_constants.value else 2)  # reads its private name


@program(args=(X,))
def raises_by_the_flag(x):
    if jax.config.jax_use_simplified_jaxpr_constants:  # reads raises_by_the_flag
        raise NotImplementedError("the new form is not supported")
    return x


@program
def option_of_its_jit():
    flag = jax.config.jax_use_simplified_jaxpr_constants  # reads option_of_its_jit
    return jax.jit(lambda x, _unused: x * WEIGHTS, keep_unused=flag), (X, X)


AT_IMPORT = len(jax.make_jaxpr(model)(X).consts)
FLAG_AT_IMPORT = jax.config.jax_use_simplified_jaxpr_constants


@program(args=(X,))
def counted_at_import(x):
    return x * AT_IMPORT


def by_the_flag(x):
    return x * (3 if FLAG_AT_IMPORT else 2)


@program(args=(X,))
def flag_at_import(x):
    return by_the_flag(x)


# -- programs that look like these, and work in both forms -----------------------------------------


@program(args=(X,))
def evaluated(x):
    closed = jax.make_jaxpr(model)(x)
    [result] = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
    return result


@program(args=(X,))
def as_a_function(x):
    return core.jaxpr_as_fun(jax.make_jaxpr(model)(x))(x)


COMMITTED = jax.device_put(jnp.arange(36.0), jax.devices()[0])


@program(args=(jnp.ones(36),))
def reads_beside_a_placement(x):
    closed = jax.make_jaxpr(lambda y: y * COMMITTED)(x)
    [result] = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
    return result


def read(values, atom):
    return atom.val if isinstance(atom, core.Literal) else values[atom]


@program(args=(X,))
def interpreter_for_both_forms(x):
    closed = jax.make_jaxpr(lambda y: jax.lax.sin(y) * WEIGHTS)(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, (x,), strict=True))
    for equation in closed.jaxpr.eqns:
        operands = [read(values, atom) for atom in equation.invars]
        values[equation.outvars[0]] = equation.primitive.bind(*operands, **equation.params)
    return [read(values, atom) for atom in closed.jaxpr.outvars]


@program(args=(X,))
def nothing_captured(x):
    return x * (1 + len(jax.make_jaxpr(jnp.sin)(x).consts))


@program
def same_option_of_its_jit():
    flag = jax.config.jax_use_simplified_jaxpr_constants
    return jax.jit(lambda x, _unused: x * WEIGHTS, keep_unused=flag or True), (X, X)


@program(args=(X,))
def another_flag(x):
    return x * (3 if jax.config.jax_enable_x64 else 2)


@program(args=(X,))
def reads_nothing(x):
    return model(x)
