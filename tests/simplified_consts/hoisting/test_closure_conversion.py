"""Closure conversion changes how a program gets its arrays, never its results."""

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import engine
from engine.ir import closures
from engine.ir.jaxprs import bodies_of, constant_key, is_hoistable
from simplified_consts.hoisting.closure_conversion import Conversion

ARRAYS = [jnp.asarray(np.random.default_rng(i).normal(size=12).astype(np.float32)) for i in (1, 2)]
X = jnp.linspace(-1, 1, 12)


def key_if_large(value):
    return constant_key(value) if is_hoistable(value, 32) else None


def hoisted(fun, *args):
    closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(*args)
    conversion = Conversion(key_if_large)
    constants = conversion.needs(closed_jaxpr)
    return closed_jaxpr, conversion.body(closed_jaxpr, constants), list(constants.values())


def check(fun, *args, arrays):
    """Assert that the converted program, given its constants, computes the same results."""
    closed_jaxpr, converted, constants = hoisted(fun, *args)
    assert len(constants) == arrays
    assert engine.jaxpr_const_args(converted) == []  # none is left inside
    assert len(converted.invars) == len(closed_jaxpr.invars) + arrays
    jax.extend.core.check_jaxpr(converted.jaxpr)
    flat = jax.tree.leaves(args)
    actual = jax.jit(jax.extend.core.jaxpr_as_fun(converted))(*constants, *flat)
    expected = jax.tree.leaves(jax.jit(fun)(*args))
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-6, atol=1e-6)
    return converted


A, B = ARRAYS


def scan(x):
    return lax.scan(lambda c, v: (c * A + v, c + B), x, jnp.ones((3, 12)))


def scan_without_xs(x):
    return lax.scan(lambda c, _: (jnp.sin(c + A), None), x, None, length=3)[0]


def reverse_scan_emitting_the_constant(x):
    return lax.scan(lambda c, v: (c + v, A), x, jnp.ones((3, 12)), reverse=True, unroll=2)


def while_both(x):
    return lax.while_loop(lambda c: c.sum() < A.sum() + 5, lambda c: c + jnp.abs(B), x)


def cond_different_arrays(x):
    return lax.cond(x[0] > 0, lambda v: v + A, lambda v: v * B, x)


def switch_with_one_user(x):
    return lax.switch(1, [lambda v: v, lambda v: v + A, lambda v: -v], x)


def nested_jits(x):
    return jax.jit(lambda v: jax.jit(lambda w: w + A)(v) * B)(x) + A


def checkpointed(x):
    return jax.grad(lambda v: jax.checkpoint(lambda w: jnp.sum(jnp.sin(w * A) * B))(v))(x)


def custom_jvp(x):
    @jax.custom_jvp
    def f(v):
        return v * A

    f.defjvp(lambda p, t: (f(p[0]), t[0] * A))
    return f(x), jax.jvp(f, (x,), (B,))[1]


def custom_vjp(x):
    @jax.custom_vjp
    def f(v):
        return v * A

    f.defvjp(lambda v: (v * A, None), lambda _, ct: (ct * B,))
    return f(x), jax.grad(lambda v: f(v).sum())(x)


def linear_solve(x):
    return lax.custom_linear_solve(
        lambda v: v * (A + 3), x + B, solve=lambda matvec, b: b / (A + 3), symmetric=True
    )


def constant_out(x):
    return A, x, B


@pytest.mark.parametrize(
    ("fun", "arrays"),
    [
        (scan, 2),
        (scan_without_xs, 1),
        (reverse_scan_emitting_the_constant, 1),
        (while_both, 2),
        (cond_different_arrays, 2),
        (switch_with_one_user, 1),
        (nested_jits, 2),
        (checkpointed, 2),
        (custom_jvp, 2),
        (custom_vjp, 2),
        (linear_solve, 2),
        (constant_out, 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_primitive(fun, arrays):
    check(fun, X, arrays=arrays)


def test_custom_rules_survive():
    """Derivatives are taken by the user's rules, which do not see the new operands."""

    def loss(x):
        return sum(jnp.sum(leaf) for leaf in custom_jvp(x) + custom_vjp(x))

    _, converted, constants = hoisted(loss, X)
    run = jax.extend.core.jaxpr_as_fun(converted)
    np.testing.assert_allclose(
        jax.grad(lambda x: run(*constants, x)[0])(X), jax.grad(loss)(X), rtol=1e-6
    )


def test_a_shared_body_stays_shared():
    """A jitted function called twice is lowered to one function, before and after."""
    inner = jax.jit(lambda x: x + A)
    converted = check(lambda x: (inner(x), inner(x * 2)), X, arrays=1)
    first, second = (
        body for eqn in converted.eqns for body in bodies_of(eqn) if eqn.primitive.name == "jit"
    )
    assert first is second


def test_operands_passed_by_the_user_are_left_alone():
    _, converted, constants = hoisted(lambda x: lax.cond(x[0] > 0, jnp.add, jnp.multiply, x, A), X)
    [cond] = [eqn for eqn in converted.eqns if eqn.primitive.name == "cond"]
    assert len(cond.invars) == 3  # the index, x and A, which the user passed
    assert len(constants) == 1


def test_primitives_without_a_rule_are_named(monkeypatch):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("i")
    mapped = jax.shard_map(lambda x: x + A, mesh=mesh, in_specs=spec, out_specs=spec)
    closed_jaxpr = engine.make_jaxpr(mapped, constants="simplified")(X)
    monkeypatch.delitem(closures._RULES, "shard_map")
    conversion = Conversion(key_if_large)
    assert conversion.needs(closed_jaxpr) == {}
    assert conversion.unconverted == {"shard_map"}


# Programs as trees: an operation on the value so far, or a body with a program inside.
LEAVES = st.sampled_from(["add A", "mul B", "sin", "dot A"])
PROGRAMS = st.recursive(
    st.lists(LEAVES, min_size=1, max_size=3),
    lambda inner: st.lists(
        LEAVES | st.tuples(st.sampled_from(["scan", "cond", "while", "jit", "remat"]), inner),
        min_size=1,
        max_size=3,
    ),
    max_leaves=6,
)


def run_program(steps, x):
    for step in steps:
        if step == "add A":
            x = x + A
        elif step == "mul B":
            x = x * B
        elif step == "sin":
            x = jnp.sin(x)
        elif step == "dot A":
            x = x + jnp.dot(x, A)
        else:
            kind, inner = step
            body = lambda v, inner=inner: run_program(inner, v)  # noqa: E731
            x = {
                "scan": lambda v: lax.scan(lambda c, r: (jnp.tanh(body(c) + r), None), v, X)[0],  # noqa: B023
                "cond": lambda v: lax.cond(v[0] > 0, body, lambda w: w - B, v),  # noqa: B023
                "while": lambda v: lax.fori_loop(0, 2, lambda _, c: jnp.tanh(body(c)), v),  # noqa: B023
                "jit": lambda v: jax.jit(body)(v),  # noqa: B023
                "remat": lambda v: jax.checkpoint(body)(v),  # noqa: B023
            }[kind](x)
    return x


@settings(max_examples=15, deadline=None, derandomize=True)
@given(PROGRAMS)
def test_any_nesting(steps):
    # A conditional subtracts B besides, and a scan is given X.
    text = repr(steps)
    used = {"A": "A" in text, "B": "B" in text or "cond" in text, "X": "scan" in text}
    check(lambda x: run_program(steps, x), X, arrays=sum(used.values()))


@pytest.mark.parametrize("prevent_cse", [True, False, (True, False)])
def test_checkpoints_that_keep_some_operands_apart(prevent_cse):
    kept = jax.checkpoint(lambda x, y: jnp.sin(x * ARRAYS[0]) + y, prevent_cse=prevent_cse)

    def fun(x, y):
        return kept(x, y).sum()

    for side in engine.SIDES:
        for derived in (fun, jax.grad(fun)):
            jitted = engine.jit(derived, constants=side)
            np.testing.assert_allclose(jitted(X, X), jax.jit(derived)(X, X), rtol=1e-6)
        lifted = engine.jit(fun, constants=side).trace(X, X).lower(hoist_constants_as_args=False)
        np.testing.assert_allclose(lifted.compile()(X, X), fun(X, X), rtol=1e-6)
