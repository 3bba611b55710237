"""The options of a program's own jit, and its arguments as these options take them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import engine
from parity_tests.own_jit import OwnJit, is_jitted, is_wrapper, jits_held_by, options_of


def power(x, n, scale=1.0, *, negative=False):
    return (-1 if negative else 1) * scale * x**n


X = jnp.arange(3.0)


@pytest.mark.parametrize("jit", [jax.jit, functools.partial(engine.jit, constants="simplified")])
def test_options_are_read_off_a_jitted_function(jit):
    mesh = jax.make_mesh((1,), ("x",))
    sharding = NamedSharding(mesh, P("x"))
    given = {"static_argnums": (1,), "donate_argnums": (0,), "keep_unused": True}
    found = options_of(jit(power, **given, out_shardings=sharding))
    assert {name: found[name] for name in given} == given
    assert found["out_shardings"] == sharding
    assert "in_shardings" not in found
    assert jax.jit(power, **found)(jnp.arange(4.0), 2).shape == (4,)


@pytest.mark.parametrize("jit", [jax.jit, functools.partial(engine.jit, constants="simplified")])
def test_a_layout_stands_in_a_format_with_the_sharding_beside_it(jit):
    one = SingleDeviceSharding(jax.devices()[0])
    columns = Format(Layout((1, 0)), one)
    jitted = jit(lambda x, y: (x, y), in_shardings=(columns, one), out_shardings=columns)
    found = options_of(jitted)
    assert (found["in_shardings"], found["out_shardings"]) == ((columns, one), columns)
    assert options_of(jit(power, **found)) == found
    matrix = np.ones((2, 3))
    assert OwnJit.of(jitted, (matrix, X), {}).leaves() == [(matrix, one), (X, one)]


def test_a_function_that_is_not_jitted_has_none():
    own = OwnJit.of(power, (X, 2), {})
    assert (own.options, own.bound, own.dynamic) == ({}, power, ((X, 2), {}))
    assert own.fresh()[0][0] is X


def test_static_arguments_are_bound():
    jitted = jax.jit(power, static_argnums=(-2, 1), static_argnames="negative")
    own = OwnJit.of(jitted, (X, 2, 3.0), {"negative": True})
    args, kwargs = own.dynamic
    assert (len(args), kwargs) == (2, {})
    np.testing.assert_array_equal(own.bound(*args, **kwargs), -3.0 * X**2)
    np.testing.assert_array_equal(jax.jit(own.bound)(*args), jitted(X, 2, 3.0, negative=True))
    assert own.bound.__name__ == "power"


def test_a_call_is_given_copies_of_what_it_consumes():
    own = OwnJit.of(jax.jit(power, donate_argnums=0, donate_argnames="scale"), (X, X), {"scale": X})
    (first, second), kwargs = own.fresh()
    assert (first is X, second is X, kwargs["scale"] is X) == (False, True, False)
    assert own.donates
    assert first.unsafe_buffer_pointer() != X.unsafe_buffer_pointer()


def test_a_compiled_stage_is_given_arguments_where_their_jit_puts_them():
    first, second = jax.devices()[:2]
    stated = SingleDeviceSharding(second)
    jitted = jax.jit(lambda tree, y: tree["a"] + y, in_shardings=(stated, None))
    given = {"a": jax.device_put(X, first), "b": np.ones(3)}, np.ones(3, np.float32)
    own, stage = OwnJit.of(jitted, given, {}), jitted.lower(*given).compile()
    (tree, y), _ = own.fresh_dynamic()
    assert (tree["a"].sharding, tree["b"] is given[0]["b"], y is given[1]) == (stated, True, True)
    assert stage(tree, y).sharding == jitted(*given).sharding
    with pytest.raises(ValueError, match="disagree with the shardings of arguments"):
        stage(*given)


@pytest.mark.parametrize("spec", [P("x"), P()])
def test_a_partition_spec_is_of_the_mesh_in_context(spec):
    mesh = Mesh(np.array(jax.devices()[:1]), ("x",))
    x = jax.device_put(X, NamedSharding(mesh, P()))
    with jax.set_mesh(mesh):
        jitted = jax.jit(lambda x: x * 2, in_shardings=spec)
        own = OwnJit.of(jitted, (x,), {})
        assert own.leaves() == [(x, NamedSharding(mesh, spec))]
        np.testing.assert_array_equal(jitted.lower(x).compile()(*own.dynamic[0]), x * 2)
    assert own.leaves() == [(x, None)]


class Model:
    scale = 2.0

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def raised(self, x, n):
        return self.scale * x**n

    cubed = functools.partialmethod(raised, n=3)

    @functools.partial(jax.jit, static_argnums=(0, 2))
    def __call__(self, x, n):
        return x**n


def test_a_jit_keeps_its_options_under_what_binds_its_arguments():
    model, jitted = Model(), jax.jit(power, static_argnames="n", donate_argnums=0)
    for fun, args, result in [
        (model.raised, (X, 3), 2 * X**3),
        (model.cubed, (X,), 2 * X**3),
        (model, (X, 3), X**3),
        (functools.partial(functools.partial(jitted, n=3), X), (), X**3),
        (functools.partial(model.raised, n=3), (X,), 2 * X**3),
    ]:
        own = OwnJit.of(fun, args, {})
        args, kwargs = own.dynamic
        assert (own.is_own, len(args), kwargs) == (True, 1, {})
        np.testing.assert_array_equal(own.bound(*args), result)
    assert own.args[0] is model


def test_what_binds_arguments_of_a_function_without_a_jit_stays():
    fun = functools.partial(power, n=2)
    assert OwnJit.of(fun, (X,), {}) == OwnJit(fun, (X,), {})


class Wrapper:
    """Jits as a library does: it traces the arrays in trees, and has stages of its own."""

    def __init__(self, fun):
        functools.update_wrapper(self, fun)

    def __call__(self, *args):
        return self.__wrapped__(*args)

    def lower(self, *args):
        raise NotImplementedError


def test_a_wrapper_of_a_library_takes_arrays_alone():
    def train(model, x, n):
        model["w"] = model["w"] * x**n
        return model["name"], x

    model = {"w": X, "name": len}
    own = OwnJit.of(Wrapper(train), (model, X, 2), {})
    assert is_wrapper(Wrapper(train))
    assert not is_jitted(Wrapper(train))
    assert (own.args, own.kwargs, own.options, own.is_own) == (((X,), X), {}, {}, False)
    # The name is no value of JAX, and the weights were replaced in the argument.
    (name, x), [updated] = jax.jit(own.fun)(*own.args)
    assert name is None
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(updated, X**3)
    assert model["w"] is X


def test_a_function_of_arrays_alone_is_there_where_other_arguments_are():
    assert OwnJit.of(power, (X, X), {}).of_arrays_alone() is None
    assert OwnJit.of(jax.jit(power), (X, 2), {}).of_arrays_alone() is None
    own = OwnJit.of(power, (X, 2), {"negative": True}).of_arrays_alone()
    assert (own.args, own.kwargs) == ((X,), {})
    np.testing.assert_array_equal(own.fun(X), -(X**2))


def test_an_object_without_a_hash_is_called_by_a_function():
    class Unhashable:
        __hash__ = None

        def __call__(self, x):
            return x * 2

    np.testing.assert_array_equal(jax.jit(OwnJit.of(Unhashable(), (X,), {}).fun)(X), X * 2)


jitted = jax.jit(power, donate_argnums=0)


def test_jits_are_known_to_who_holds_them():
    in_closure = jax.jit(power)

    class Holder:
        def __init__(self, fun):
            self.fun, self.unused = fun, jitted

        def __call__(self, x):
            return self.fun(x, 2)

    def later(x):
        return not_there_yet(x)

    assert jits_held_by(lambda x: in_closure(x, 2)) == [in_closure]
    assert jits_held_by(lambda x: jitted(x, 2)) == [jitted]
    assert jits_held_by(Holder(in_closure)) == [in_closure]
    of_jax = jax.nn.relu
    for fun in (power, Holder(power), functools.partial(power), len, later, lambda x: of_jax(x)):
        assert jits_held_by(fun) == []
    not_there_yet = in_closure
    assert jits_held_by(later) == [in_closure]


def test_a_jit_that_was_called_is_known():
    own = jax.jit(lambda x: x * 2)
    assert not OwnJit.of(own, (X,), {}).was_called
    own(X)
    assert OwnJit.of(own, (X,), {}).was_called


def test_a_jit_without_options_has_none_in_any_release():
    """Options are part of the digest, which is one in all releases that trace a program alike."""
    assert options_of(jax.jit(lambda x: x)) == {}
    assert set(options_of(jax.jit(lambda x: x, inline=True))) == {"inline"}
