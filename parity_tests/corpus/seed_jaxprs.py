"""The example functions of JAX's two documents on the jaxpr language.

One document is from 2020, the other from 2024; where they differ, both versions are here. In those
days `jnp.ones(8)` inside a traced function was a captured array. Today it is staged out as a
broadcast, so that the documents' own text captures nothing. Each such program therefore has a
sibling, named `..._captured`, whose array is made before tracing: it shows today what the documents
showed then. The documents have no `func9`.

Source: JAX's documents "Understanding jaxprs" and "JAX internals: The jaxpr language".
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from parity_tests.program import program


def _zeros_and_ones():
    return np.zeros(8, np.float32), np.ones(8, np.float32)


def _scaled_sine(first, second):
    return jnp.sum(first + jnp.sin(second) * 3.0)


@program(args=_zeros_and_ones)
def func1(first, second):
    """A straight line of first-order equations, with one scalar literal."""
    return _scaled_sine(first, second)


def _with_inner(inner, first, second):
    return jnp.sum(first + inner(second) * 3.0)


def _sine_of_a_long_array(second):
    if second.shape[0] > 4:
        return jnp.sin(second)
    raise AssertionError("the condition is decided in Python, while tracing")


@program
def func2():
    """A function that takes a Python function; the helper is bound before tracing."""

    def bound(first, second):
        return _with_inner(_sine_of_a_long_array, first, second)

    return bound, _zeros_and_ones()


@program
def func3():
    """Python calls and Python conditions leave no trace in the jaxpr."""

    def outer(first, second):
        return _with_inner(_sine_of_a_long_array, first, second)

    return outer, _zeros_and_ones()


@program
def func3_captured():
    """As func3, and the Python helper brings a captured array with it."""
    amplitude = np.linspace(0.5, 2.0, 8, dtype=np.float32)

    def inner(second):
        return amplitude * _sine_of_a_long_array(second)

    def outer(first, second):
        return _with_inner(inner, first, second)

    return outer, _zeros_and_ones()


@program(args=lambda: (_zeros_and_ones(),))
def func4(arg):
    """A pair as the one argument: flattened into two variables."""
    return _scaled_sine(arg[0], arg[1])


@program
def func4_captured():
    """A pair of arrays is captured, and another pair is the argument."""
    pair = (np.arange(8, dtype=np.float32), jnp.asarray(np.linspace(-1, 1, 8, dtype=np.float32)))

    def sum_of_pairs(arg):
        return _scaled_sine(arg[0] + pair[0], arg[1] * pair[1])

    return sum_of_pairs, (_zeros_and_ones(),)


def _sine_minus(first, second, subtrahend):
    return first + jnp.sin(second) * 3.0 - subtrahend


@program(args=_zeros_and_ones)
def func5(first, second):
    """An array of ones made while tracing: staged out, not captured."""
    return _sine_minus(first, second, jnp.ones(8))


@program(args=lambda: (np.zeros(8, np.float32),))
def func6(first):
    """Calls func5 with ones made while tracing; in 2020 two captured arrays, today none."""
    return _sine_minus(first, jnp.ones(8), jnp.ones(8))


@program
def func6_captured():
    """As func6 with arrays made before: a sine of a captured array, which nothing but it feeds."""
    second = jnp.asarray(np.ones(8, np.float32))
    subtrahend = np.ones(8, np.float32)

    def call_with_constants(first):
        return _sine_minus(first, second, subtrahend)

    return call_with_constants, (np.zeros(8, np.float32),)


@program(args=(1, 5.0))
def one_of_three(index, arg):
    """A switch over three branches that differ in one scalar."""
    return lax.switch(index, [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0], arg)


@program
def one_of_three_captured():
    """A switch whose three branches add three different captured arrays."""
    first, second, third = np.arange(48, dtype=np.float32).reshape(3, 16)

    def switch(index, arg):
        branches = [lambda x: x + first, lambda x: x - second, lambda x: x + third]
        return lax.switch(index, branches, arg)

    return switch, (1, np.full(16, 5.0, np.float32))


@program(args=(5.0,))
def func7(arg):
    """A cond whose two branches take the same operand."""
    return lax.cond(arg >= 0.0, lambda xtrue: xtrue + 3.0, lambda xfalse: xfalse - 3.0, arg)


@program(args=(5.0,))
def func7_of_2020(arg):
    """As func7 in the older form of cond, which has an operand for each branch."""
    return lax.cond(arg >= 0.0, arg, lambda xtrue: xtrue + 3.0, arg, lambda xfalse: xfalse - 3.0)


def _pair_argument():
    return 5.0, (np.zeros(1, np.float32), 2.0)


@program(args=_pair_argument)
def func8_of_2020(arg1, arg2):
    """An operand for each branch, and ones made in the false branch, staged out today."""
    return lax.cond(
        arg1 >= 0.0, arg2, lambda xtrue: xtrue[0], arg2, lambda xfalse: jnp.ones(1) + xfalse[1]
    )


@program(args=_pair_argument)
def func8(arg1, arg2):
    """A cond over a pair; its false branch makes an integer array out of a Python list."""
    return lax.cond(
        arg1 >= 0.0, lambda xtrue: xtrue[0], lambda xfalse: jnp.array([1]) + xfalse[1], arg2
    )


@program
def func8_captured():
    """A cond over a pair; its false branch, the one taken, uses a captured array."""
    ones = np.ones(16, np.float32)

    def choose(arg1, arg2):
        return lax.cond(arg1 >= 0.0, lambda xtrue: xtrue[0], lambda xfalse: ones + xfalse[1], arg2)

    return choose, (-5.0, (np.zeros(16, np.float32), 2.0))


def _add_repeatedly(arg, n, ones):
    return lax.fori_loop(0, n, lambda i, carry: carry + ones * 3.0 + arg, arg + ones)


@program(args=lambda: (np.ones(16, np.float32), 5))
def func10(arg, n):
    """A loop of n turns: a while equation with an array made while tracing."""
    return _add_repeatedly(arg, n, jnp.ones(arg.shape))


@program
def func10_captured():
    """A loop of n turns that uses one captured array before the loop and inside it."""
    ones = jnp.asarray(np.ones(16, np.float32))

    def loop(arg, n):
        return _add_repeatedly(arg, n, ones)

    return loop, (np.ones(16, np.float32), 5)


def _running_dot_product(arr, extra, ones):
    def body(carry, elements):
        left, right = elements
        return carry + left * right + extra, carry

    return lax.scan(body, 0.0, (arr, ones))


@program(args=lambda: (np.ones(16, np.float32), 5.0))
def func11(arr, extra):
    """A scan over the argument and over an array made while tracing."""
    return _running_dot_product(arr, extra, jnp.ones(arr.shape))


@program
def func11_captured():
    """A scan over the argument and over a captured array: a constant as scanned input."""
    ones = np.ones(16, np.float32)

    def scan(arr, extra):
        return _running_dot_product(arr, extra, ones)

    return scan, (np.ones(16, np.float32), 5.0)


@program(args=(1.0,))
def func12(arg):
    """A jitted inner function that captures a traced value and makes an array of its own."""

    @jax.jit
    def inner(x):
        return x + arg * jnp.ones(1)

    return arg + inner(arg - 2.0)


@program(args=(1.0,))
def func12_of_2020(arg):
    """As func12 with the inner function undecorated, as the older text has it."""

    def inner(x):
        return x + arg * jnp.ones(1)

    return arg + inner(arg - 2.0)


@program
def func12_captured():
    """A jitted inner function that captures a traced value and an array."""
    ones = np.ones(16, np.float32)

    def outer(arg):
        @jax.jit
        def inner(x):
            return x + arg * ones

        return arg + inner(arg - 2.0)

    return outer, (1.0,)


def _share_of_all_rows(x, extra, ones):
    return (x + extra + ones) / lax.psum(x, axis_name="rows")


@program
def func13():
    """A mapped function with a psum; `pmap` in 2020, here `shard_map` over a mesh of one device."""
    mesh = jax.make_mesh((1,), ("rows",), (AxisType.Auto,), devices=jax.devices()[:1])

    def over_devices(arr, extra):
        def inner(x):
            return _share_of_all_rows(x, extra, jnp.ones(1))

        return jax.shard_map(inner, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))(arr)

    return over_devices, (np.ones((1, 3), np.float32), 5.0)


@program
def func13_captured():
    """As func13 with an array, made before, captured inside the `shard_map`."""
    mesh = jax.make_mesh((1,), ("rows",), (AxisType.Auto,), devices=jax.devices()[:1])
    ones = np.ones(16, np.float32)

    def over_devices(arr, extra):
        def inner(x):
            return _share_of_all_rows(x, extra, ones)

        return jax.shard_map(inner, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))(arr)

    return over_devices, (np.ones((1, 16), np.float32), 5.0)


@program
def func13_vmap_captured():
    """As func13_captured with `vmap` and a named axis in the place of devices."""
    ones = np.ones(16, np.float32)

    def over_rows(arr, extra):
        def inner(x):
            return _share_of_all_rows(x, extra, ones)

        return jax.vmap(inner, axis_name="rows")(arr)

    return over_rows, (np.arange(1, 49, dtype=np.float32).reshape(3, 16), 5.0)
