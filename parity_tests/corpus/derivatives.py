"""Captured arrays under JAX's transformations: derivatives, batching, rematerialisation, rules."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.program import program


def _matrix(seed, *shape):
    values = np.random.default_rng(seed).normal(0, 0.3, shape).astype(np.float32)
    return jnp.asarray(values)


def _x(n=16):
    return np.linspace(-1.0, 1.0, n, dtype=np.float32)


@program
def grad_through_captured():
    """The gradient of a loss over a captured data set, with respect to the weights."""
    inputs, targets = _matrix(40, 64, 16), _matrix(41, 64)

    def gradient(weights):
        return jax.value_and_grad(lambda w: jnp.mean((inputs @ w - targets) ** 2))(weights)

    return gradient, (_x(),)


@program
def grad_of_scan():
    """A gradient through a scan: captured weights in the forward and the backward pass."""
    weights = _matrix(42, 16, 16)

    def gradient(x):
        def loss(x):
            last, outputs = jax.lax.scan(
                lambda h, _: (jnp.tanh(h @ weights), h[0]), x, None, length=5
            )
            return jnp.sum(last**2) + jnp.sum(outputs)

        return jax.grad(loss)(x)

    return gradient, (_x(),)


@program
def grad_of_cond():
    """A gradient through a cond whose branches capture different matrices."""
    left, right = _matrix(43, 16, 16), _matrix(44, 16, 16)

    def gradient(x, flag):
        def loss(x):
            return jnp.sum(jax.lax.cond(flag, lambda x: x @ left, lambda x: x @ right, x) ** 3)

        return jax.grad(loss)(x)

    return gradient, (_x(), True)


@program
def hessian_of_captured_quadratic():
    """Forward over reverse: the Hessian gives the captured matrix back, made symmetric."""
    matrix = _matrix(45, 16, 16)

    def hessian(x):
        return jax.hessian(lambda x: 0.5 * x @ matrix @ x)(x)

    return hessian, (_x(),)


@program
def jvp_along_captured():
    """A directional derivative whose direction is captured, beside a captured matrix."""
    matrix = _matrix(46, 16, 16)
    direction = np.ones(16, np.float32)

    def derivative(x):
        return jax.jvp(lambda x: jnp.sin(x @ matrix), (x,), (direction,))

    return derivative, (_x(),)


@program
def vjp_against_captured():
    """A pullback of a captured cotangent through a captured matrix."""
    matrix = _matrix(47, 16, 8)
    cotangent = np.arange(8, dtype=np.float32)

    def pull_back(x):
        primal, pullback = jax.vjp(lambda x: jnp.tanh(x @ matrix), x)
        return primal, pullback(cotangent)

    return pull_back, (_x(),)


@program
def linearize_at_captured():
    """A linearization at a captured point: what it keeps depends on captured arrays alone."""
    point = jnp.asarray(_x())
    matrix = _matrix(48, 16, 16)

    def push(tangent):
        value, derivative = jax.linearize(lambda x: jnp.tanh(x @ matrix), point)
        return value, derivative(tangent)

    return push, (np.ones(16, np.float32),)


@program
def vmap_with_captured():
    """A captured array that every lane of a vmap shares."""
    matrix = _matrix(50, 16, 8)

    def batched(rows):
        return jax.vmap(lambda row: row @ matrix)(rows)

    return batched, (np.arange(64, dtype=np.float32).reshape(4, 16),)


@program
def vmap_over_captured():
    """A captured array that is itself mapped: a lane gets one of its columns."""
    matrix = _matrix(51, 16, 8)

    def batched(x):
        return jax.vmap(lambda column, x: jnp.dot(column, x), in_axes=(1, None))(matrix, x)

    return batched, (_x(),)


@program
def per_example_gradients():
    """vmap of grad: a gradient for each captured example."""
    examples, labels = _matrix(52, 32, 16), np.arange(32, dtype=np.float32) / 32

    def gradients(weights):
        def loss(weights, example, label):
            return (jax.nn.sigmoid(example @ weights) - label) ** 2

        return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(weights, examples, labels)

    return gradients, (_x(),)


@program
def custom_jvp_captures():
    """A custom_jvp function whose primal and whose rule capture arrays."""
    knots = np.linspace(-2.0, 2.0, 32, dtype=np.float32)
    values, slopes = np.tanh(knots), 1 - np.tanh(knots) ** 2

    @jax.custom_jvp
    def tabulated(x):
        return jnp.interp(x, knots, values)

    @tabulated.defjvp
    def _(primals, tangents):
        (x,), (tangent,) = primals, tangents
        return tabulated(x), jnp.interp(x, knots, slopes) * tangent

    def value_and_gradient(x):
        return tabulated(x), jax.grad(lambda x: jnp.sum(tabulated(x)))(x)

    return value_and_gradient, (_x(),)


@program
def custom_vjp_captures():
    """A custom_vjp function whose primal, forward rule and backward rule capture arrays."""
    scale = jnp.asarray(np.linspace(1.0, 3.0, 16, dtype=np.float32))
    limit = np.full(16, 0.25, np.float32)

    @jax.custom_vjp
    def clipped(x):
        return jnp.sin(x * scale)

    def forward(x):
        return clipped(x), jnp.cos(x * scale) * scale

    def backward(slope, cotangent):
        return (jnp.clip(cotangent * slope, -limit, limit),)

    clipped.defvjp(forward, backward)

    def value_and_gradient(x):
        return clipped(x), jax.grad(lambda x: jnp.sum(clipped(x)))(x)

    return value_and_gradient, (_x(),)


@program
def custom_rules_undifferentiated():
    """Functions with custom rules, called without a derivative: only the primals matter."""
    scale = np.linspace(1.0, 3.0, 16, dtype=np.float32)

    @jax.custom_jvp
    def first(x):
        return x * scale

    first.defjvp(lambda primals, tangents: (first(*primals), tangents[0] * scale))

    @jax.custom_vjp
    def second(x):
        return x + scale

    second.defvjp(lambda x: (second(x), None), lambda _, cotangent: (cotangent * scale,))

    def both(x):
        return first(second(x))

    return both, (_x(),)


@program
def checkpointed_layers():
    """Rematerialised layers: captured weights are used again in the backward pass."""
    weights = [_matrix(53 + i, 16, 16) for i in range(3)]

    def gradient(x):
        def loss(x):
            for w in weights:
                x = jax.checkpoint(lambda x, w=w: jnp.tanh(x @ w))(x)
            return jnp.sum(x**2)

        return jax.grad(loss)(x)

    return gradient, (_x(),)


@program
def checkpoint_with_policy():
    """A rematerialised scan that saves its products and shares one captured matrix."""
    matrix = _matrix(56, 16, 16)

    def gradient(x):
        policy = jax.checkpoint_policies.dots_saveable

        @functools.partial(jax.checkpoint, policy=policy)
        def step(h, _):
            return jnp.sin(h @ matrix), None

        return jax.grad(lambda x: jnp.sum(jax.lax.scan(step, x, None, length=4)[0]))(x)

    return gradient, (_x(),)


@program
def grad_of_captured_alone():
    """A gradient at a captured point that no argument reaches: a constant of the program."""
    point = jnp.asarray(_x())

    def gradient(x):
        return x + jax.grad(lambda p: jnp.sum(jnp.sin(p) ** 2))(point)

    return gradient, (_x(),)
