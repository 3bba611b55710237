"""One program for each kind of array that can be captured: types, sizes, layouts, identities."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from parity_tests.program import program


@program
def bfloat16_weights():
    """Captured weights in bfloat16, used beside a float32 argument."""
    rng = np.random.default_rng(20)
    weights = jnp.asarray(rng.normal(size=(64, 32)).astype(ml_dtypes.bfloat16))

    def project(x):
        return x.astype(jnp.bfloat16) @ weights, x[:32] * weights[0]

    return project, (rng.normal(size=64).astype(np.float32),)


@program
def int8_quantized_weights():
    """Captured int8 weights with a captured scale per column, dequantized inside."""
    rng = np.random.default_rng(21)
    weights = jnp.asarray(rng.integers(-128, 128, (64, 32)).astype(np.int8))
    scale = rng.random(32).astype(np.float32) / 128

    def project(x):
        return x @ (weights.astype(jnp.float32) * scale)

    return project, (rng.normal(size=64).astype(np.float32),)


@program
def int4_quantized_weights():
    """Captured int4 weights, two of which fit into a byte, widened inside."""
    rng = np.random.default_rng(22)
    weights = jnp.asarray(rng.integers(-8, 8, (32, 16)).astype(ml_dtypes.int4))

    def project(x):
        return x @ weights.astype(jnp.int32)

    return project, (rng.integers(-9, 10, 32).astype(np.int32),)


@program
def float8_weights():
    """Captured weights in an eight-bit float format, widened inside."""
    rng = np.random.default_rng(23)
    weights = jnp.asarray(rng.normal(size=256).astype(ml_dtypes.float8_e4m3fn))

    def scale(x):
        return x * weights.astype(jnp.float32)

    return scale, (rng.normal(size=256).astype(np.float32),)


@program
def boolean_mask():
    """A captured mask of booleans selects, and is returned inverted."""
    mask = np.arange(100) % 3 == 0

    def select(x):
        return jnp.where(mask, x, 0.0), ~jnp.asarray(mask)

    return select, (np.arange(100, dtype=np.float32),)


@program
def complex_phases():
    """Captured complex numbers turn the argument in the complex plane."""
    phases = np.exp(1j * np.linspace(0.0, np.pi, 64)).astype(np.complex64)

    def rotate(x):
        turned = x * phases
        return turned, jnp.abs(turned), turned.conj()

    return rotate, (np.arange(64, dtype=np.float32),)


@program
def special_values():
    """Captured infinities, NaN and negative zero keep their signs and their bits."""
    specials = np.tile(np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0], np.float32), 3)

    def combine(x):
        return x * specials, 1.0 / (specials + 0.0 * x), jnp.signbit(specials), specials

    return combine, (np.full(18, 2.0, np.float32),)


@program
def subnormal_values():
    """Captured subnormal floats, which folding keeps and fast code may flush to zero."""
    subnormals = np.linspace(1e-45, 1e-38, 16, dtype=np.float32)

    def scale(x):
        return x * subnormals, subnormals

    return scale, (np.full(16, 0.5, np.float32),)


@program
def zero_size_array():
    """A captured array without elements, concatenated and returned."""
    nothing = np.zeros((0, 4), np.float32)

    def append_nothing(x):
        return jnp.concatenate([x, nothing]), jnp.sum(nothing + x[0]), nothing

    return append_nothing, (np.arange(8, dtype=np.float32).reshape(2, 4),)


@program
def at_the_embedding_threshold():
    """Captured arrays of 28, 32 and 36 bytes, around the size up to which JAX embeds them."""
    seven, eight, nine = (np.arange(n, dtype=np.float32) for n in (7, 8, 9))

    def add_each(x):
        return x[:7] + seven, x[:8] + eight, x[:9] + nine

    return add_each, (np.ones(9, np.float32),)


@program
def scalars_only():
    """Zero-dimensional captures: a JAX array, a NumPy array, a NumPy scalar, a Python number."""
    jax_scalar = jnp.asarray(np.float32(1.5))
    numpy_array = np.array(2.5, np.float32)
    numpy_scalar = np.float32(3.5)
    number = 4.5

    def add_scalars(x):
        return x + jax_scalar * numpy_array - numpy_scalar / number, jax_scalar, numpy_array

    return add_scalars, (np.arange(4, dtype=np.float32),)


@program
def weakly_typed_array():
    """A captured JAX array of weak type, which gives way to the type of the argument."""
    weak = jnp.broadcast_to(jax.device_put(2.0), (16,))

    def multiply(x):
        return x * weak, weak

    return multiply, (np.ones(16, ml_dtypes.bfloat16),)


@program
def python_list_inside():
    """A Python list turned into an array while tracing."""

    def add_list(x):
        return x + jnp.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])

    return add_list, (np.ones(9, np.float32),)


@program
def numpy_computed_inside():
    """An array that plain NumPy computes while JAX traces: new at every tracing."""

    def positional_encoding(x):
        positions = np.arange(x.shape[0], dtype=np.float32)[:, None]
        return x + np.sin(positions / np.float32(10.0) ** np.arange(x.shape[1]))

    return positional_encoding, (np.zeros((32, 8), np.float32),)


@program
def fortran_ordered():
    """A captured NumPy matrix in column-major order."""
    matrix = np.asfortranarray(np.arange(600, dtype=np.float32).reshape(20, 30))

    def add(x):
        return x + matrix, matrix

    return add, (np.ones((20, 30), np.float32),)


@program
def views_with_strides():
    """Captured NumPy views: strided, reversed, transposed, offset by one element."""
    base = np.arange(400, dtype=np.float32).reshape(20, 20)
    strided, backwards, turned, offset = base[::2, 1::2], base[::-1], base.T, base[1:, 1:]

    def add_views(x):
        return x[:10, :10] + strided, x + backwards, x + turned, x[1:, 1:] + offset

    return add_views, (np.ones((20, 20), np.float32),)


@program
def broadcast_view():
    """A captured NumPy view with stride zero: ten thousand elements on forty bytes."""
    view = np.broadcast_to(np.arange(10, dtype=np.float32)[:, None], (10, 1000))

    def add(x):
        return x + view

    return add, (np.ones((10, 1000), np.float32),)


@program
def splat_array():
    """A captured array whose elements are all the same, which StableHLO writes as one."""
    sevens = np.full((300, 300), 7.0, np.float32)

    def add(x):
        return x + sevens, sevens

    return add, (np.ones((300, 300), np.float32),)


@program
def numpy_array_twice():
    """One NumPy array captured under two names and used under both."""
    array = np.arange(64, dtype=np.float32)
    also_array = array

    def use_both(x):
        return x + array, x * also_array

    return use_both, (np.ones(64, np.float32),)


@program
def equal_but_distinct():
    """Two captured JAX arrays with the same values: equal, and yet not the same constant."""
    values = np.arange(64, dtype=np.float32)
    one, other = jnp.array(values), jnp.array(values)

    def use_both(x):
        return x + one, x * other

    return use_both, (np.ones(64, np.float32),)


@program
def many_small_arrays():
    """A hundred captured arrays of sixteen floats each."""
    rows = [np.full(16, i, np.float32) + np.arange(16, dtype=np.float32) for i in range(100)]

    def add_all(x):
        for row in rows:
            x = x + row
        return x

    return add_all, (np.zeros(16, np.float32),)


@program
def one_megabyte():
    """One captured array of a megabyte, used once."""
    matrix = jnp.asarray(np.random.default_rng(25).random((512, 512), np.float32))

    def multiply(x):
        return matrix @ x

    return multiply, (np.ones(512, np.float32),)
