"""Primitives as libraries make them, which hold jaxprs and functions in params of their own."""

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import mlir

from parity_tests import program

TABLE = jnp.arange(262144.0).reshape(512, 512) / 1e5
VECTOR = jnp.ones(512)


def primitive(name, impl, abstract):
    """Return a primitive with one result, which is lowered as `impl` is traced."""
    made = Primitive(name)
    made.def_impl(impl)
    made.def_abstract_eval(abstract)
    mlir.register_lowering(made, mlir.lower_fun(impl, multiple_results=False))
    return made


def call_open(*args, body, n):
    return jax.core.eval_jaxpr(body, args[:n], *args[n:])[0]


def call_twice(x, *, static):
    [[(body, _)]] = static
    for _ in range(2):
        [x] = jax.core.eval_jaxpr(body.jaxpr, body.consts, x)
    return x


OPEN = primitive("open", call_open, lambda *args, body, n: body.outvars[0].aval)
DEEP = primitive("deep", call_twice, lambda x, *, static: x)


@program(args=(VECTOR,))
@jax.jit
def open_jaxpr(x):
    """Hold the jaxpr of a function over a tracer, as Equinox's `filter_closure_convert` does."""
    closed = jax.make_jaxpr(lambda y: jnp.sin(y) + x)(x)
    return OPEN.bind(*closed.consts, x * TABLE[0], body=closed.jaxpr, n=len(closed.consts))


@program(args=(VECTOR,))
@jax.jit
def deep_jaxpr(x):
    """Hold a jaxpr in a tuple of tuples, where JAX does not look for constants."""
    closed = jax.make_jaxpr(lambda y: jnp.tanh(TABLE @ y))(x)
    return DEEP.bind(x, static=(((closed, "unit"),),))
