"""Estimates of work: by shapes, and the same in both modes where the program is one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from parity_tests.jaxpr.rewriting import live_part
from parity_tests.jaxpr.work import constant_work, equations_at_work, operations_of

A = np.ones((8, 4), np.float32)
X = np.ones((4, 16), np.float32)


SQUARE = np.ones((8, 8), np.float32)
KERNEL = np.ones((4, 5, 3), np.float32)


@pytest.mark.parametrize(
    ("fun", "x", "operations"),
    [
        (lambda x: A @ x, X, 2 * 8 * 16 * 4),
        (lambda x: x + x, X, 64),
        (lambda x: jnp.sin(x), X, 16 * 64),
        (lambda x: x.sum(), X, 64),
        (lambda x: lax.sort(x), X, 2 * 64 * np.log2(66)),
        (lambda x: x.T, X, 0),
        (lambda x: lax.cumsum(x), X, 64 * np.log2(66)),
        (lambda x: lax.reduce_precision(x, 8, 8), X, 64),
        (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), SQUARE, 64 * 8),
        (lambda x: lax.reduce_window(x, 0.0, lax.max, (2, 2), (1, 1), "VALID"), SQUARE, 49 * 4),
        (
            lambda x: lax.conv(x, x, (1, 1), "SAME"),
            np.ones((2, 2, 3, 3), np.float32),
            2 * 36 * 18,
        ),
    ],
)
def test_an_equation_is_estimated_by_its_shapes(fun, x, operations):
    equations = jax.make_jaxpr(fun)(x).eqns
    assert max(map(operations_of, equations)) == pytest.approx(operations)


def test_a_scan_counts_its_turns_and_another_loop_one():
    def loop(x):
        return lax.scan(lambda c, _: (c + c, None), x, None, 5)[0]

    def endless(x):
        return lax.while_loop(lambda c: c[0, 0] < 3, lambda c: c + c, x)

    names, operations = equations_at_work(jax.make_jaxpr(loop)(X))
    assert (names, operations) == ({"add": 1}, 5 * 64)
    names, operations = equations_at_work(jax.make_jaxpr(endless)(X))
    assert (names, operations) == ({"add": 1, "lt": 1}, 64 + 1)


def test_what_moves_elements_is_no_work_and_bodies_are():
    def f(x):
        return jax.jit(lambda y: jnp.sin(y).T)(x).reshape(-1)[::-1]

    assert equations_at_work(live_part(jax.make_jaxpr(f)(X)))[0] == {"sin": 1}


DEVICE = jax.devices()[0]
TABLE = jnp.arange(64.0)
ARGUMENT = jnp.arange(8.0)


def repeated(fun, *, simplified):
    before = jax.config.jax_use_simplified_jaxpr_constants
    jax.config.update("jax_use_simplified_jaxpr_constants", simplified)
    try:
        closed = jax.make_jaxpr(fun)(ARGUMENT)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", before)
    return constant_work(live_part(closed), embed_threshold=32).repeated


def branch(value):
    return lax.cond(value > 0, lambda: value * TABLE.sum(), lambda: value)


@pytest.mark.parametrize(
    ("fun", "legacy", "simplified"),
    [
        (lambda x: jax.vmap(branch)(x), True, False),
        (lambda x: x[:, None] * jnp.broadcast_to(TABLE, (8, 64)), True, True),
        (lambda x: x.sum() * TABLE, False, False),
        (lambda x: x[0] * TABLE.reshape(8, 8), False, False),
        (lambda x: jnp.broadcast_to(x, (64, 8)) + TABLE[:, None], False, False),
    ],
)
def test_what_repeats_a_captured_array_in_each_form(fun, legacy, simplified):
    found = [repeated(fun, simplified=form) > 0 for form in (False, True)]
    assert found == [legacy, simplified]


@pytest.mark.parametrize(
    ("spec", "is_transposed"),
    [
        ("ab,bc->ac", False), ("ab,cb->ac", False), ("tab,tcb->tac", False), ("mt,mtl->lm", False),
        ("ab,abc->c", False), ("tab,btc->tac", True), ("ac,abc->b", True), ("tm,tlm->lm", True),
    ],
)  # fmt: skip
def test_a_captured_operand_that_xla_transposes_is_named(spec, is_transposed):
    shapes = ([32] * len(operand) for operand in spec.partition("->")[0].split(","))
    x, captured = (np.ones(shape, np.float32) for shape in shapes)
    compiled = jax.jit(lambda *operands: jnp.einsum(spec, *operands)).lower(x, captured).compile()
    assert (compiled.memory_analysis().temp_size_in_bytes >= captured.nbytes) == is_transposed

    moved = constant_work(
        live_part(jax.make_jaxpr(lambda x: jnp.einsum(spec, x, captured))(x)), embed_threshold=0
    ).moved
    assert (moved is not None) == is_transposed
    if moved:
        said = f"the transposition of {jax.typeof(captured).str_short()} in `dot_general`"
        assert (moved.what, moved.bytes) == (said, captured.nbytes)


def test_a_transposition_prevails_over_the_conversion_before_it():
    def f(x):
        return jnp.einsum("tlm,tm->lm", lax.convert_element_type(KERNEL, x.dtype), x)

    moved = constant_work(jax.make_jaxpr(f)(np.ones((4, 3), np.complex64)), embed_threshold=0).moved
    assert moved.what == "the transposition of complex64[4,5,3] in `dot_general`"


@pytest.mark.parametrize("rows", [87_000, 88_000])  # XLA's limit is 45 million elements
@pytest.mark.parametrize(
    "reduced",
    [jnp.max, lambda table: table @ table[0], lambda table: table[: len(table) // 2] - table[0]],
)
def test_a_large_reduction_is_not_folded_nor_is_what_depends_on_it(reduced, rows):
    """Nor is an elementwise equation that repeats an operand."""
    table = jnp.ones((rows, 512), jnp.int8)

    def f(x):
        return x * jnp.sin(reduced(table).astype(x.dtype))

    closed = jax.make_jaxpr(f)(np.float32(1))
    found = [each.primitive.name for each in constant_work(closed, embed_threshold=0).equations]
    assert ("sin" in found) == (rows == 87_000)


def test_a_factorisation_is_not_folded_nor_is_what_depends_on_it():
    def f(x):
        return x + jnp.exp(lax.linalg.cholesky(jnp.sin(SQUARE), symmetrize_input=False))

    text = jax.jit(f).lower(SQUARE).compile().as_text()
    assert (" sine(" in text, " exponential(" in text, "potrf" in text) == (False, True, True)
    found = constant_work(jax.make_jaxpr(f)(SQUARE), embed_threshold=0)
    assert [each.primitive.name for each in found.equations] == ["sin"]


def squared_in_python(x):
    return jax.pure_callback(np.square, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


@pytest.mark.parametrize(
    ("through", "is_folded"),
    [(squared_in_python, False), (lax.optimization_barrier, False), (lax.neg, True)],
)
def test_what_xla_does_not_look_into_is_not_folded_nor_is_what_depends_on_it(through, is_folded):
    def f(x):
        return x + jnp.exp(through(SQUARE))

    assert (" exponential(" not in jax.jit(f).lower(SQUARE).compile().as_text()) == is_folded
    found = constant_work(jax.make_jaxpr(f)(SQUARE), embed_threshold=0).equations
    assert [each.primitive.name for each in found] == (["neg", "exp"] if is_folded else [])


@pytest.mark.parametrize(
    ("length", "unroll", "is_folded"), [(1, 1, True), (3, True, True), (4, 2, False)]
)
def test_a_loop_that_jax_writes_out_is_folded_and_what_depends_on_it(length, unroll, is_folded):
    def f(x):
        turned, _ = lax.scan(lambda c, _: (c + c, None), SQUARE, length=length, unroll=unroll)
        return x + jnp.exp(turned)

    assert (" exponential(" not in jax.jit(f).lower(SQUARE).compile().as_text()) == is_folded
    found = constant_work(jax.make_jaxpr(f)(SQUARE), embed_threshold=0).equations
    assert [each.primitive.name for each in found] == (["add", "exp"] if is_folded else [])


@pytest.mark.parametrize("chosen_by", ["a constant", "an argument"])
def test_what_depends_on_a_branch_that_a_constant_chooses_is_folded(chosen_by):
    constant = jnp.array(True)

    def f(x):
        chosen = constant if chosen_by == "a constant" else x[0, 0] > 0
        return x + jnp.exp(lax.cond(chosen, lambda c: c, lambda c: c.T, jnp.asarray(SQUARE)))

    is_folded = " exponential(" not in jax.jit(f).lower(SQUARE).compile().as_text()
    found = constant_work(jax.make_jaxpr(f)(SQUARE), embed_threshold=0).equations
    names = [each.primitive.name for each in found if each.primitive.name != "transpose"]
    assert (is_folded, names) == ((True, ["exp"]) if chosen_by == "a constant" else (False, []))


@pytest.mark.parametrize(
    "moved",
    [
        jax.device_put,
        lambda c: checkpoint_name(c, "c"),
        lambda c: lax.with_sharding_constraint(c, jax.sharding.SingleDeviceSharding(DEVICE)),
    ],
    ids=["device_put", "checkpoint_name", "sharding_constraint"],
)
def test_what_only_names_or_places_a_captured_array_is_no_work(moved):
    closed = jax.make_jaxpr(lambda x: x + moved(SQUARE))(SQUARE)
    found = constant_work(closed, embed_threshold=0)
    assert (found.equations, equations_at_work(closed)[0]) == ((), {"add": 1})


def test_a_transposed_captured_array_is_work_for_the_product_of_it_has_other_bits_where_xla_folds():
    closed = jax.make_jaxpr(lambda x: x @ jnp.asarray(SQUARE).T)(SQUARE)
    [equation] = constant_work(closed, embed_threshold=0).equations
    assert equation.primitive.name == "transpose"


CONVERSIONS = [  # XLA folds the first three to other values than it computes
    ("float32", "bool"),
    ("float32", "float8_e8m0fnu"),  # seen on JAX 0.10.2, and in larger arrays on 0.12.0.1
    ("int8", "float8_e8m0fnu"),
    ("bfloat16", "float32"),
    ("float32", "bfloat16"),
    ("int8", "float32"),
]


def test_a_conversion_that_is_folded_to_other_values_is_work():
    numbers = jnp.array([0, 1, -1, 1e-40, -1e-40, 0.3, -6.5], jnp.float32)
    captured = {source: numbers.astype(source) for source, _ in CONVERSIONS}

    def convert(arrays):
        return [lax.convert_element_type(arrays[source], target) for source, target in CONVERSIONS]

    work = constant_work(jax.make_jaxpr(lambda: convert(captured))(), embed_threshold=0)
    told = [(each.invars[0].aval.dtype, each.outvars[0].aval.dtype) for each in work.equations]
    assert [(source.name, target.name) for source, target in told] == CONVERSIONS[:3]
    folded, computed = jax.jit(lambda: convert(captured))(), jax.jit(convert)(captured)
    differ = [one.tobytes() != other.tobytes() for one, other in zip(folded, computed, strict=True)]
    assert (differ[0], differ[3:]) == (True, [False] * 3)
