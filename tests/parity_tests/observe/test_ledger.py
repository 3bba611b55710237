"""The fates of captured arrays, counted in what each side really made of them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import engine
from parity_tests.jaxpr import counts
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.observe import stablehlo
from parity_tests.observe.ledger import ledger

RNG = np.random.default_rng(7)
WEIGHTS = jnp.asarray(RNG.normal(size=(8, 8)).astype(np.float32))
HOST = RNG.normal(size=(8, 8)).astype(np.float32)
X = np.ones((8, 8), np.float32)


def rows(fun, *args, side="jax-legacy"):
    """The ledger on one of the sides that this process can be."""
    jitted = jax.jit(fun) if side == "jax-legacy" else engine.jit(fun, constants=side)
    traced = jitted.trace(*args)
    lowered = traced.lower()
    return ledger(
        traced.jaxpr,
        live_part(traced.jaxpr),
        stablehlo.count(lowered.compiler_ir(), embed_threshold=32),
        const_args=getattr(lowered, "const_args", None),
        embed_threshold=32,
        optimised_hlo=lowered.compile().as_text(),
    )


def fates(*args, **kwargs):
    return [(row.fate, row.copies, row.alike) for row in rows(*args, **kwargs)]


LEGACY = pytest.mark.parametrize("side", ["jax-legacy", "legacy"])


def test_a_row_says_what_the_array_is():
    [row] = rows(lambda x: x @ WEIGHTS, X)
    assert (row.shape, row.dtype, row.bytes, row.uses) == ((8, 8), "float32", 256, 1)
    assert row.sharding == str(jax.devices()[0])
    assert row.file.endswith("test_ledger.py")
    assert row.function.endswith("<lambda>")
    [row] = rows(lambda x: x @ HOST, X)
    assert row.sharding == ""


@LEGACY
def test_legacy_inlines(side):
    assert fates(lambda x: x @ WEIGHTS, X, side=side) == [("inlined", 1, 1)]


def test_legacy_inlines_once_in_each_function():
    @jax.jit
    def inner(y):
        return y @ WEIGHTS

    assert fates(lambda x: inner(x) @ WEIGHTS, X) == [("inlined", 2, 1)]


@pytest.mark.parametrize("captured", [WEIGHTS, HOST], ids=["jax.Array", "NumPy"])
def test_simplified_hoists_one_each(captured):
    def f(x):
        y = lax.cond(x[0, 0] > 0, lambda: x @ captured, lambda: captured)
        return y @ captured, captured

    assert fates(f, X, side="simplified") == [("hoisted", 1, 1)]


def test_small_arrays_are_embedded():
    small = np.arange(8, dtype=np.float32)
    for side in ("jax-legacy", "legacy", "simplified"):
        assert fates(lambda x: x + small, X, side=side) == [("embedded", 1, 1)]


@LEGACY
def test_what_xla_has_folded_is_gone_from_the_program(side):
    # A sum of the array is all that is left of it.
    assert fates(lambda x: x[0, 0] + WEIGHTS.sum(), X, side=side) == [("folded", 1, 1)]
    assert fates(lambda x: x + WEIGHTS.sum() * WEIGHTS, X, side=side) == [("inlined", 1, 1)]


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_dead_code_leaves_an_array_unused(side):
    def f(x):
        jnp.sin(WEIGHTS)
        return x

    assert fates(f, X, side=side) == [("unused", 0, 1)]


def test_equal_arrays_cannot_be_told_apart_where_they_are_inlined():
    twin = jnp.array(WEIGHTS)

    def f(x):
        return x @ WEIGHTS @ twin

    assert fates(f, X) == [("inlined", 2, 2)] * 2
    assert fates(f, X, side="simplified") == [("hoisted", 1, 1)] * 2


def test_equal_bytes_of_another_type_are_another_array():
    floats = np.zeros(64, np.float32)
    integers = np.zeros(64, np.int32)

    def f(x):
        return lax.optimization_barrier((x * floats, jnp.int32(x) * integers))

    assert [(row.copies, row.alike) for row in rows(f, 1.0)] == [(1, 1)] * 2


@pytest.mark.parametrize(
    "array",
    [
        RNG.normal(size=300).astype(ml_dtypes.bfloat16),
        RNG.normal(size=300).astype(np.complex64),
        RNG.normal(size=300).astype(ml_dtypes.float8_e4m3fn),
        RNG.integers(-8, 8, 300).astype(ml_dtypes.int4),
        RNG.integers(0, 2, 300).astype(bool),
        np.broadcast_to(RNG.normal(size=(300, 1)).astype(np.float32), (300, 4)),
        np.ones(300, np.float32),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_every_type_is_found_in_the_module(array):
    other = array[::-1].copy()

    def f(x):
        return lax.optimization_barrier((jnp.asarray(array), jnp.asarray(other))), x

    for side in ("jax-legacy", "legacy"):
        found = rows(f, 1.0, side=side)
        assert {row.fate for row in found} <= {"inlined", "folded"}
        assert all(row.copies in (1, 2) for row in found)
    assert fates(f, 1.0, side="simplified") == [("hoisted", 1, 1)] * 2


def test_bfloat16_arrays_of_one_shape_are_told_apart():
    first, second = RNG.normal(size=(2, 300)).astype(ml_dtypes.bfloat16)
    found = fates(lambda x: x + first + second, np.ones(300, ml_dtypes.bfloat16))
    assert [(copies, alike) for _, copies, alike in found] == [(1, 1)] * 2


def test_a_broadcast_scalar_is_not_counted():
    full = np.broadcast_to(np.float32(3), (100,))
    [row] = rows(lambda x: x + full, 1.0)
    assert (row.fate, row.copies, row.note[:11]) == ("inlined", 0, "as a scalar")


# XLA splits the words of the keys into two halves.
@pytest.mark.parametrize(("side", "fate"), [("jax-legacy", "folded"), ("simplified", "hoisted")])
def test_typed_keys_have_a_fate(side, fate):
    keys = jax.random.split(jax.random.key(0), 9)
    [row] = rows(lambda x: jax.vmap(jax.random.uniform)(keys) + x, 1.0, side=side)
    assert (row.fate, row.dtype, row.copies) == (fate, "key<fry>", 1)


def test_const_args_that_are_not_those_of_the_module_are_told_by_type():
    lowered = engine.jit(lambda x: x @ WEIGHTS, constants="simplified").trace(X).lower()
    closed = engine.jit(lambda x: x @ WEIGHTS, constants="simplified").trace(X).jaxpr
    module = stablehlo.count(lowered.compiler_ir(), embed_threshold=32)
    for const_args in ([], [HOST[0]], [WEIGHTS, WEIGHTS]):
        [row] = ledger(
            closed, closed, module, const_args=const_args, embed_threshold=32, optimised_hlo=""
        )
        assert (row.fate, row.copies) == ("hoisted", 1)


def test_the_element_types_are_those_of_the_module():
    arrays = [
        np.zeros(9, dtype)
        for dtype in (
            bool, np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64,
            ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.int4,
            ml_dtypes.uint4,
        )
    ]  # fmt: skip
    for array in arrays:
        # The module is held by a name: to read an operation that outlives it ends the process.
        module = jax.jit(lambda x: x).lower(array).compiler_ir()
        [type_] = module.body.operations[0].type.inputs
        assert stablehlo.element_of(array.dtype) == str(type_.element_type)
        del type_  # before its module


def test_a_captured_reference_is_state_and_no_array():
    reference = jax.new_ref(jnp.arange(64.0))
    closed = jax.make_jaxpr(lambda x: reference[0] + x)(1.0)
    assert counts.count(closed, embed_threshold=32).captured == ()


def test_an_array_that_is_read_and_missing_from_the_module_is_not_found():
    read, dead = jnp.arange(64.0), jnp.arange(32.0)

    def f(x):
        _ = dead * 2.0
        return read[:3] + x

    closed = jax.make_jaxpr(f)(jnp.ones(3))
    other = jax.jit(lambda x: x).lower(jnp.ones(3)).compiler_ir()
    module = stablehlo.count(other, embed_threshold=32)
    rows = ledger(
        closed, live_part(closed), module, const_args=(), embed_threshold=32, optimised_hlo=""
    )
    assert {row.shape: row.fate for row in rows} == {(64,): "not found", (32,): "unused"}
