"""Programs that need JAX alone: models, filters, tables and solvers with captured data."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import sparse

from parity_tests.program import program


@program
def mlp_frozen_weights():
    """A multi-layer perceptron for inference with all of its weights captured."""
    rng = np.random.default_rng(0)
    sizes = (32, 128, 128, 10)
    layers = [
        (
            jnp.asarray(rng.normal(0, n_in**-0.5, (n_in, n_out)).astype(np.float32)),
            jnp.asarray(rng.normal(0, 0.1, n_out).astype(np.float32)),
        )
        for n_in, n_out in itertools.pairwise(sizes)
    ]

    def predict(x):
        *hidden, last = layers
        for weights, bias in hidden:
            x = jax.nn.relu(x @ weights + bias)
        weights, bias = last
        return jax.nn.log_softmax(x @ weights + bias)

    return predict, (rng.normal(size=(8, 32)).astype(np.float32),)


@program
def attention_with_captured_projections():
    """One head of attention: captured projections and a captured causal mask."""
    rng = np.random.default_rng(1)
    query, key, value = (
        jnp.asarray(rng.normal(0, 0.2, (64, 32)).astype(np.float32)) for _ in range(3)
    )
    causal = np.tril(np.ones((16, 16), bool))

    def attend(x):
        scores = (x @ query) @ (x @ key).T / np.sqrt(32.0)
        scores = jnp.where(causal, scores, -jnp.inf)
        return jax.nn.softmax(scores) @ (x @ value)

    return attend, (rng.normal(size=(16, 64)).astype(np.float32),)


@program
def image_convolution_filters():
    """A two-dimensional convolution with captured filters, then a captured bias."""
    rng = np.random.default_rng(2)
    filters = jnp.asarray(rng.normal(size=(8, 3, 3, 3)).astype(np.float32))
    bias = rng.normal(size=(8, 1, 1)).astype(np.float32)

    def convolve(images):
        return jax.nn.relu(lax.conv(images, filters, (1, 1), "SAME") + bias)

    return convolve, (rng.normal(size=(2, 3, 16, 16)).astype(np.float32),)


@program
def fft_filter_bank():
    """Four filters applied in the frequency domain; their spectra are captured."""
    rng = np.random.default_rng(3)
    spectra = np.fft.rfft(rng.normal(size=(4, 256))).astype(np.complex64)

    def filter_signal(signal):
        return jnp.fft.irfft(jnp.fft.rfft(signal) * spectra, n=256)

    return filter_signal, (rng.normal(size=256).astype(np.float32),)


@program
def fft_of_captured_filter():
    """A filter captured in the time domain and transformed inside the program."""
    rng = np.random.default_rng(4)
    impulse_response = jnp.asarray(rng.normal(size=128).astype(np.float32))

    def filter_signal(signal):
        spectrum = jnp.fft.rfft(impulse_response)
        return jnp.fft.irfft(jnp.fft.rfft(signal) * spectrum, n=128)

    return filter_signal, (rng.normal(size=128).astype(np.float32),)


@program
def embedding_lookup():
    """Rows of a captured embedding table of one megabyte, by token."""
    rng = np.random.default_rng(5)
    table = jnp.asarray(rng.normal(size=(2048, 128)).astype(np.float32))

    def embed(tokens):
        return table[tokens]

    return embed, (rng.integers(0, 2048, 64).astype(np.int32),)


@program
def tied_embedding():
    """One captured table that embeds tokens at the start and scores them at the end."""
    rng = np.random.default_rng(6)
    table = jnp.asarray(rng.normal(0, 0.1, (512, 64)).astype(np.float32))

    def next_token_scores(tokens):
        hidden = jnp.tanh(jnp.mean(table[tokens], axis=0))
        return table @ hidden

    return next_token_scores, (rng.integers(0, 512, 16).astype(np.int32),)


@program
def used_in_five_places():
    """One captured array as addend, factor, divisor, index table and output."""
    numbers = jnp.asarray(np.arange(1, 257, dtype=np.int32))

    def use_five_times(x):
        return x + numbers, x * numbers, x // numbers, x[numbers - 1], numbers

    return use_five_times, (np.arange(256, dtype=np.int32),)


@program
def interpolation_table():
    """A lookup with linear interpolation between captured knots."""
    knots = np.linspace(0.0, 10.0, 128, dtype=np.float32)
    values = np.sin(knots)

    def look_up(x):
        return jnp.interp(x, knots, values)

    return look_up, (np.linspace(-1.0, 11.0, 64, dtype=np.float32),)


@program
def sparse_product_by_scatter():
    """A sparse matrix times a vector: captured indices gather, captured indices scatter."""
    rng = np.random.default_rng(7)
    rows, columns = rng.integers(0, 64, (2, 300)).astype(np.int32)
    values = rng.integers(-4, 5, 300).astype(np.float32)

    def multiply(x):
        return jnp.zeros(64, x.dtype).at[rows].add(values * x[columns])

    return multiply, (rng.integers(-4, 5, 64).astype(np.float32),)


@program
def sparse_matrix_object():
    """A captured `BCOO` matrix: the arrays hide inside a library's object."""
    rng = np.random.default_rng(8)
    dense = np.where(rng.random((32, 48)) < 0.1, rng.integers(-4, 5, (32, 48)), 0)
    indices = np.argwhere(dense).astype(np.int32)
    matrix = sparse.BCOO(
        (jnp.asarray(dense[tuple(indices.T)].astype(np.float32)), jnp.asarray(indices)),
        shape=dense.shape,
    )

    def multiply(x):
        return matrix @ x

    return multiply, (rng.integers(-4, 5, 48).astype(np.float32),)


@program
def segment_sum_by_captured_labels():
    """Sums per group; the group of every element is captured."""
    rng = np.random.default_rng(9)
    labels = rng.integers(0, 10, 500).astype(np.int32)

    def totals(x):
        return jax.ops.segment_sum(x, labels, num_segments=10)

    return totals, (rng.integers(-9, 10, 500).astype(np.float32),)


@program
def permutation_by_captured_indices():
    """A gather and its inverse, a scatter, by one captured permutation."""
    order = jnp.asarray(np.random.default_rng(10).permutation(1000).astype(np.int32))

    def there_and_back(x):
        shuffled = x[order]
        return shuffled, jnp.zeros_like(x).at[order].set(shuffled)

    return there_and_back, (np.arange(1000, dtype=np.float32),)


def _well_conditioned(rng, n):
    matrix = rng.normal(size=(n, n)).astype(np.float32)
    return matrix @ matrix.T / n + np.eye(n, dtype=np.float32)


@program
def linear_solve():
    """The solution of a linear system with a captured matrix."""
    rng = np.random.default_rng(11)
    matrix = jnp.asarray(_well_conditioned(rng, 24))

    def solve(rhs):
        return jnp.linalg.solve(matrix, rhs)

    return solve, (rng.normal(size=24).astype(np.float32),)


@program
def cholesky_of_captured():
    """A Gaussian log-density: the captured covariance is factored inside the program."""
    rng = np.random.default_rng(12)
    covariance = jnp.asarray(_well_conditioned(rng, 16))
    mean = rng.normal(size=16).astype(np.float32)

    def log_density(x):
        factor = jnp.linalg.cholesky(covariance)
        white = jax.scipy.linalg.solve_triangular(factor, x - mean, lower=True)
        return -0.5 * white @ white - jnp.sum(jnp.log(jnp.diag(factor)))

    return log_density, (rng.normal(size=16).astype(np.float32),)


@program
def conjugate_gradient():
    """An iterative solve whose matrix is captured by the function that multiplies with it."""
    rng = np.random.default_rng(13)
    matrix = jnp.asarray(_well_conditioned(rng, 24))

    def solve(rhs):
        solution, _ = jax.scipy.sparse.linalg.cg(lambda v: matrix @ v, rhs, maxiter=10)
        return solution

    return solve, (rng.normal(size=24).astype(np.float32),)


@program
def callback_on_captured():
    """A host callback that gets a captured array as an operand and captures another one."""
    weights = jnp.asarray(np.arange(64, dtype=np.float32))
    on_the_host = np.full(64, 3.0, np.float32)

    def call_host(x):
        def add(a, b):
            return np.asarray(a) + np.asarray(b) + on_the_host

        return jax.pure_callback(add, jax.ShapeDtypeStruct((64,), np.float32), x, weights)

    return call_host, (np.ones(64, np.float32),)
