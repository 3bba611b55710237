"""The keywords of `jax.jit` work for functions with captured arrays as for others."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine

TABLE = jnp.arange(49.0).reshape(7, 7)
X = jnp.ones((7, 7))


def kept_arguments(lowered):
    """Number of the user's arguments that are left in main."""
    main = next(line for line in lowered.as_text().splitlines() if "@main" in line)
    return main.count("%arg") - main.count("jax.const = true")


def test_unused_arguments_are_dropped_or_kept(jit):
    def fun(x, unused):
        return x * TABLE

    for keep in (False, True):
        jitted = jit(fun, keep_unused=keep)
        lowered = jitted.lower(X, X)
        assert kept_arguments(lowered) == (2 if keep else 1)
        np.testing.assert_array_equal(lowered.compile()(X, X), TABLE)
        np.testing.assert_array_equal(jitted(X, X), TABLE)


# Since jax 0.11.2 a call of an inlined function stays in the jaxpr, and goes when it is lowered.
INLINED_WHEN_LOWERED = jax.__version_info__ >= (0, 11, 2)


@pytest.mark.parametrize("inline", [True, False])
def test_inline_leaves_no_call_in_the_module(jit, inline):
    inner = jit(lambda x: x * TABLE, inline=inline)
    traced = jit(lambda x: inner(x) + 1).trace(X)
    names = [eqn.primitive.name for eqn in traced.jaxpr.eqns]
    assert ("jit" in names) is (not inline or INLINED_WHEN_LOWERED)
    assert ("call @" in traced.lower().as_text()) is not inline
    np.testing.assert_array_equal(jit(lambda x: inner(x) + 1)(X), TABLE + 1)


def test_donation_by_name_and_by_number(jit):
    for options in ({"donate_argnames": "y"}, {"donate_argnums": 1}):
        jitted = jit(lambda x, y: x + y * TABLE, **options)
        x, y = jnp.ones((7, 7)), jnp.ones((7, 7))
        np.testing.assert_array_equal(
            jitted(x, y=y) if "y" in str(options) else jitted(x, y), 1 + TABLE
        )
        assert (x.is_deleted(), y.is_deleted()) == (False, True)
        assert [info.donated for info in jax.tree.leaves(jitted.lower(X, X).args_info)] == [
            False,
            True,
        ]


def test_device_and_backend_warn_and_place(jit):
    device = jax.devices()[2]
    for options in ({"device": device}, {"backend": "cpu"}):
        with pytest.warns(DeprecationWarning, match="backend and device argument on jit"):
            jitted = jit(lambda x: x * TABLE, **options)
        result = jitted(np.ones((7, 7), np.float32))
        np.testing.assert_array_equal(result, TABLE)
        assert result.devices() == {options.get("device", jax.devices()[0])}


def test_compiler_options_reach_the_compiler(jit):
    option = {"xla_embed_ir_in_executable": True}
    np.testing.assert_array_equal(jit(lambda x: x * TABLE, compiler_options=option)(X), TABLE)
    lowered = jit(lambda x: x * TABLE).lower(X)
    np.testing.assert_array_equal(lowered.compile(option)(X), TABLE)
    for wrong in (
        lambda: jit(lambda x: x * TABLE, compiler_options={"nonsense": 1})(X),
        lambda: lowered.compile({"nonsense": 1}),
    ):
        with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'nonsense'"):
            wrong()


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "n"}])
def test_static_arguments_that_cannot_be_hashed_are_refused(jit, options):
    jitted = jit(lambda x, n: x * TABLE + len(n), **options)
    np.testing.assert_array_equal(
        jitted(X, n=(1, 2)) if "argnames" in str(options) else jitted(X, (1, 2)), TABLE + 2
    )
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        jitted(X, n=[1, 2]) if "argnames" in str(options) else jitted(X, [1, 2])


class Scale:
    """Has a hash and an equality of its own: equal objects are one program."""

    def __init__(self, factor):
        self.factor = factor

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return self.factor == other.factor


def test_static_arguments_are_told_apart_by_equality(jit):
    traces = []

    @functools.partial(jit, static_argnums=1)
    def fun(x, scale):
        traces.append(scale)
        return x * TABLE * scale.factor

    for factor in (2, 3, 2):
        np.testing.assert_array_equal(fun(X, Scale(factor)), TABLE * factor)
    assert len(traces) == 2


def test_defaults_keywords_classes_and_callables(jit):
    class Model:
        def __init__(self, weight):
            self.weight = weight

        def __call__(self, x, *, shift=1.0):
            return x * self.weight + shift

    model = Model(TABLE)
    for jitted in (jit(model), jit(model.__call__), jit(functools.partial(model, shift=1.0))):
        np.testing.assert_array_equal(jitted(X), TABLE + 1)
    np.testing.assert_array_equal(jit(model)(X, shift=3.0), TABLE + 3)
    np.testing.assert_array_equal(jit(lambda *args, k=2: args[0] * TABLE * k)(X, X), TABLE * 2)


def test_donating_the_words_of_a_key_does_not_donate_a_captured_key(side):
    keys = jax.random.split(jax.random.key(0), 8)

    def fun(words):
        return words + jax.random.bits(keys[0], words.shape, "uint32")

    words = np.asarray(jax.random.key_data(keys))
    expected = fun(words)
    result = engine.jit(fun, constants=side, donate_argnums=0)(jax.random.key_data(keys))
    np.testing.assert_array_equal(result, expected)


def test_nothing_is_lowered_within_no_tracing(side):
    called, lowered = (engine.jit(lambda x: x + 1, constants=side) for _ in range(2))
    called(1.0)
    lowered.lower(1.0)
    with jax.no_tracing(True):
        assert float(called(1.0)) == 2
        with pytest.raises(RuntimeError, match="'no_tracing' is set"):
            lowered(1.0)
