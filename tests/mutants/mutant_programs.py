"""The programs that mutants are caught on: factories all, so that no cache knows them."""

import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import io_callback
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from parity_tests import program

X = (np.float32(2.0),)


def tables(count, size=77):
    """Arrays of equal shape and unlike values."""
    return [jnp.arange(float(size)) + 100 * n for n in range(count)]


@program
def uses_table():
    """One captured array in two equations."""
    [table] = tables(1)
    return (lambda x: x * table + jnp.sin(table)), X


@program
def two_tables():
    """Two captured arrays of equal shape."""
    a, b = tables(2)
    return (lambda x: x * a + b), X


@program
def exported():
    """Two captured arrays of equal shape in a program that is exported and read back as well."""
    a, b = tables(2)
    return (lambda x: x * a + b), X


@program
def returned():
    """A captured array that is itself an output."""
    [table] = tables(1)
    return (lambda x: (x * table, table)), X


@program
def scanned():
    """Two captured arrays in the body of a scan."""
    a, b = tables(2)

    def turn(carry, x):
        return carry * 0.5 + a * x, (carry - b).sum()

    return (lambda xs: lax.scan(turn, a, xs)), (np.arange(3, dtype=np.float32),)


@program
def branched():
    """Two branches with an array each."""
    a, b = tables(2)
    return (lambda x: lax.cond(x > 0, lambda y: y * a, lambda y: y - b, x)), X


@program
def looped():
    """A while loop whose body has two arrays."""
    a, b = tables(2)
    return (lambda x: lax.while_loop(lambda y: y[0] < 9, lambda y: y * a + b + 1, a * x)), X


@program
def inner_function():
    """An inner function with two arrays, called twice."""
    a, b = tables(2)
    inner = jax.jit(lambda y: y * a + b)
    return (lambda x: inner(x) - inner(x + 1)), X


@program
def two_functions():
    """One array that two inner functions capture."""
    [table] = tables(1)
    one, two = jax.jit(lambda y: y * table), jax.jit(lambda y: y - table)
    return (lambda x: one(x) + two(x)), X


@program
def around_the_threshold():
    """Arrays of 28, 32 and 36 bytes."""
    arrays = [jnp.arange(float(n)) for n in (7, 8, 9)]
    return (lambda x: [x * array for array in arrays]), X


@program
def scalar_and_table():
    """A 0-d array beside a table."""
    scalar, [table] = jnp.asarray(np.float32(1.5)), tables(1)
    return (lambda x: x * scalar + table), X


@program
def special_numbers():
    """A NumPy array with negative zeros and NaNs of several payloads."""
    bits = np.tile(np.uint32([0x80000000, 0x7FC00001, 0x7FC00002, 0x3F800000]), 5)
    special = bits.view(np.float32)
    return (lambda x: (x * special, special)), X


def reversed_along(axis):
    """A program for each axis: their jaxprs differ in one param, and in nothing else."""
    matrix = jnp.arange(81.0).reshape(9, 9)
    return (lambda x: lax.rev(x * matrix, (axis,))), X


def reversed_in_a_loop(axis):
    """The same, in the body of a scan."""
    matrix = jnp.arange(81.0).reshape(9, 9)

    def turn(carry, x):
        return lax.rev(carry * 0.5 + x * matrix, (axis,)), None

    return (lambda xs: lax.scan(turn, matrix, xs)[0]), (np.arange(3, dtype=np.float32),)


@program
def reversed_rows():
    """A captured matrix with its rows in the other order."""
    return reversed_along(0)


@program
def reversed_rows_in_a_loop():
    """The body of a scan that reverses rows."""
    return reversed_in_a_loop(0)


@program
def weakly_typed():
    """A captured array of weak type, returned as it is."""
    weak = jnp.broadcast_to(jax.device_put(2.0), (16,))
    return (lambda x: (x * weak, weak)), X


@program
def column_major():
    """A captured NumPy matrix in column-major order."""
    matrix = np.asfortranarray(np.arange(81, dtype=np.float32).reshape(9, 9))
    return (lambda x: (x * matrix, matrix)), X


@program
def same_memory():
    """A matrix and its transpose, which differ in strides alone; nobody can write to them."""
    matrix = np.asarray(jnp.arange(81, dtype=jnp.float32).reshape(9, 9))
    turned = matrix.T
    return (lambda x: x * matrix - turned), X


@program
def same_memory_of_two_dtypes():
    """One piece of memory, seen as floats and as integers."""
    floats = np.arange(1, 82, dtype=np.float32)
    integers = floats.view(np.int32)
    return (lambda x: x * floats + integers), X


@program
def wide():
    """A float64 array, used in 64 bits."""
    table = np.linspace(0.0, 1.0, 77)

    def double(x):
        with jax.enable_x64(True):
            return x.astype(jnp.float64) * jnp.asarray(table)

    return double, (jnp.float32(2.0),)


@program
def keys_returned():
    """A batch of typed PRNG keys, returned as it is."""
    batch = jax.random.split(jax.random.key(0), 8)
    return (lambda x: (x, batch)), X


@program
def sharded():
    """An array over eight devices."""
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    table = jax.device_put(jnp.arange(80.0), NamedSharding(mesh, PartitionSpec("i")))
    return (lambda x: x * table), X


@program
def on_another_device():
    """An array that is committed to the second device."""
    table = jax.device_put(jnp.arange(77.0), jax.devices()[1])
    return (lambda x: x * table), X


@program
def with_a_token():
    """An ordered effect, so that main takes a token."""
    [table] = tables(1)

    def show(x):
        jax.debug.callback(_nothing, x, ordered=True)
        return x * table

    return show, X


@program
def with_an_effect():
    """An effect without order, which no output depends on."""
    [table] = tables(1)

    def show(x):
        jax.debug.callback(_nothing, x)
        return x * table

    return show, X


@program
def told_one_of_two():
    """A callback that gets one of two captured arrays; the output has both alike."""
    a, b = tables(2)

    def show(x):
        jax.debug.callback(_nothing, a)
        return x * (a + b)

    return show, X


@program
def two_ordered_effects():
    """Two effects that keep their order."""
    [table] = tables(1)

    def show(x):
        jax.debug.callback(_nothing, x, ordered=True)
        jax.debug.callback(_nothing_more, x, ordered=True)
        return x * table

    return show, X


@program
def print_in_a_branch():
    """A print in a branch that has an array."""
    a, b = tables(2)

    def shown(y):
        jax.debug.print("the branch was given {y}", y=y)
        return y * a

    return (lambda x: lax.cond(x > 0, shown, lambda y: y - b, x)), X


@program
def two_tables_and_an_effect():
    """Two captured arrays beside an effect, so that each call runs Python."""
    a, b = tables(2)

    def show(x):
        jax.debug.callback(_nothing, x)
        return x * a + b

    return show, X


@program
def slow_callback():
    """A callback that is slow, so that the tester looks at memory after each call."""
    [table] = tables(1)
    number = jax.ShapeDtypeStruct((), np.float32)
    return (lambda x: io_callback(_slowly, number, x) * table), X


def _nothing(x):
    pass


def _nothing_more(x):
    pass


def _slowly(x):
    time.sleep(0.012)  # longer than `later_calls.LONG`
    return x


@program
def used_four_times():
    """A value that is computed once and used four times."""
    [table] = tables(1)

    def use(x):
        wave = jnp.sin(x * table)
        return wave * wave + wave * jnp.cos(wave)

    return use, X


@program
def used_four_times_in_a_scan():
    """The body of a scan with a value that is computed once and used four times."""
    [table] = tables(1)

    def turn(carry, x):
        wave = jnp.sin(x * table)
        return carry + wave * wave, wave * jnp.cos(wave)

    return (lambda xs: lax.scan(turn, jnp.zeros(77), xs)), (np.arange(3, dtype=np.float32),)


@program
def table_and_matrix():
    """A captured vector beside a captured matrix."""
    [table] = tables(1)
    matrix = jnp.arange(81.0).reshape(9, 9)
    return (lambda x: (x * table, x * matrix)), X


@program
def subnormal_numbers():
    """A captured array with numbers that are smaller than a normal float."""
    small = jnp.asarray(np.full(77, 1e-41, np.float32))
    return (lambda x: (x, small)), X


@program
def donates():
    """A jitted function that donates its argument."""
    [table] = tables(1)
    return jax.jit(lambda state: state * table, donate_argnums=0), (jnp.ones(77),)


@program
def keeps_unused():
    """A jitted function that keeps an argument which it does not use."""
    [table] = tables(1)
    return jax.jit(lambda x, unused: x * table, keep_unused=True), (*X, *X)


@program
def dead():
    """An array that dead code alone reads, beside one that is used."""
    used, unused = tables(2)

    def ignore(x):
        jnp.sin(unused)
        return x * used

    return ignore, X


@program
def written_later():
    """A NumPy array that can be written to, at an address that JAX shares on CPU."""
    memory = np.zeros(77 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    table = memory[start : start + 77 * 4].view(np.float32)
    table[:] = np.arange(77)
    return (lambda x: x * table), X
