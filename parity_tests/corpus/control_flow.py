"""Captured arrays in the bodies, conditions and operands of JAX's control flow."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests.program import program


def _x(n=32):
    return np.linspace(-1.0, 1.0, n, dtype=np.float32)


@program
def cond_one_branch_captures():
    """A captured array that only one branch of a cond uses, and not the one taken."""
    offset = np.arange(32, dtype=np.float32)

    def maybe_add(flag, x):
        return lax.cond(flag, lambda x: x + offset, lambda x: -x, x)

    return maybe_add, (False, _x())


@program
def cond_both_branches_share():
    """Both branches of a cond use one captured array, and so does the code around it."""
    table = jnp.asarray(np.arange(32, dtype=np.float32))

    def choose(flag, x):
        return lax.cond(flag, lambda x: x + table, lambda x: x * table, x - table)

    return choose, (True, _x())


@program
def cond_returns_captured():
    """The branches of a cond return two captured arrays as they are."""
    left, right = np.arange(64, dtype=np.float32).reshape(2, 32)

    def choose(flag):
        return lax.cond(flag, lambda: left, lambda: right)

    return choose, (True,)


@program
def switch_between_tables():
    """A switch over four branches, each with its own captured table."""
    tables = np.random.default_rng(30).random((4, 32), np.float32)

    def apply(index, x):
        return lax.switch(index, [lambda x, table=table: x * table for table in tables], x)

    return apply, (np.int32(2), _x())


@program
def while_captures_in_both():
    """A while loop whose condition and whose body capture arrays, one of them in common."""
    limits = np.full(32, 50.0, np.float32)
    growth = jnp.asarray(np.linspace(1.0, 2.0, 32, dtype=np.float32))

    def grow(x):
        def below(x):
            return jnp.any(x * growth < limits)

        return lax.while_loop(below, lambda x: x + growth, x)

    return grow, (_x(),)


@program
def batched_while():
    """A while loop under vmap: each lane ends after its own number of turns."""
    limits = np.arange(1, 33, dtype=np.float32)

    def grow(x):
        def lane(start, step):
            return lax.while_loop(lambda v: jnp.sum(v) < 40.0, lambda v: v + step * limits, start)

        return jax.vmap(lane)(x, jnp.abs(x[:, 0]) + 0.1)

    return grow, (np.zeros((4, 32), np.float32) + np.arange(4, dtype=np.float32)[:, None],)


@program
def fori_over_captured():
    """A fori_loop that picks row after row of a captured matrix."""
    rows = jnp.asarray(np.random.default_rng(31).random((10, 32), np.float32))

    def accumulate(x):
        return lax.fori_loop(0, 10, lambda i, total: total * 0.5 + rows[i], x)

    return accumulate, (_x(),)


@program
def scan_with_interpolation_table():
    """A simulation: each step of a scan reads a captured table with interpolation."""
    knots = np.linspace(0.0, 20.0, 64, dtype=np.float32)
    force = np.cos(knots)

    def simulate(position, velocity):
        def step(state, time):
            position, velocity = state
            velocity = velocity + 0.1 * (jnp.interp(time, knots, force) - position)
            position = position + 0.1 * velocity
            return (position, velocity), position

        times = jnp.arange(100) * 0.1
        return lax.scan(step, (position, velocity), times)

    return simulate, (np.float32(1.0), np.float32(0.0))


@program
def recurrent_network():
    """A recurrent network: a scan over the argument with captured weights in its body."""
    rng = np.random.default_rng(32)
    recurrent, inward = (
        jnp.asarray(rng.normal(0, 0.1, shape).astype(np.float32)) for shape in ((32, 32), (8, 32))
    )

    def run(inputs):
        def step(hidden, x):
            hidden = jnp.tanh(hidden @ recurrent + x @ inward)
            return hidden, hidden

        return lax.scan(step, jnp.zeros(32), inputs)

    return run, (rng.normal(size=(12, 8)).astype(np.float32),)


@program
def scan_over_captured():
    """Captured arrays as the scanned input and as the first carry of a scan."""
    schedule = np.linspace(1.0, 0.1, 20, dtype=np.float32)
    start = jnp.asarray(_x())

    def decay(x):
        return lax.scan(lambda carry, rate: (carry * rate + x, carry[0]), start, schedule)

    return decay, (_x(),)


@program
def scan_emits_captured():
    """A scan that gives out a captured array at each step and carries another one on."""
    emitted = np.arange(32, dtype=np.float32)
    carried = np.ones(32, np.float32)

    def emit(x):
        return lax.scan(lambda carry, _: (carried, (emitted, carry)), x, None, length=3)

    return emit, (_x(),)


@program
def scan_unrolled_in_reverse():
    """A reverse scan, unrolled by three, with a captured array in its body."""
    weights = np.linspace(0.5, 1.5, 32, dtype=np.float32)

    def discount(rewards):
        def step(total, reward):
            total = reward + 0.9 * total * weights
            return total, total

        return lax.scan(step, jnp.zeros(32), rewards, reverse=True, unroll=3)

    return discount, (np.arange(7, dtype=np.float32),)


@program
def scan_cond_and_jit_share():
    """One captured array in a scan, in a cond inside it, and in a jit inside that."""
    shared = jnp.asarray(np.linspace(0.0, 1.0, 32, dtype=np.float32))

    @jax.jit
    def add_shared(x):
        return x + shared

    def walk(x):
        def step(x, i):
            x = lax.cond(i % 2 == 0, add_shared, lambda x: x * shared, x)
            return x - 0.5 * shared, jnp.sum(x)

        return lax.scan(step, x, jnp.arange(6))

    return walk, (_x(),)


@program
def associative_scan_with_weights():
    """A linear recurrence by associative_scan with captured decay rates."""
    decay = np.linspace(0.5, 0.99, 64, dtype=np.float32)

    def recur(x):
        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        return lax.associative_scan(combine, (decay, x))[1]

    return recur, (_x(64),)


@program
def lax_map_with_captured():
    """`lax.map` over the rows of the argument with a captured matrix, in batches."""
    matrix = jnp.asarray(np.random.default_rng(34).random((16, 8), np.float32))

    def project_rows(rows):
        return lax.map(lambda row: row @ matrix, rows, batch_size=2)

    return project_rows, (np.arange(80, dtype=np.float32).reshape(5, 16),)
