"""Which part of a program becomes the preamble: the graph, the choice of results, the cut."""

import gc
import weakref
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine
from simplified_consts.preamble import constant_search
from simplified_consts.preamble import extraction as preamble_extraction
from simplified_consts.preamble.extraction import Result, extract
from simplified_consts.preamble.profitability import Limits

TABLE = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, (16, 16)), jnp.float32)
KEY = jax.random.key(7)
ANYTHING = Limits(extra_bytes=2**30, least_operations=0, least_operations_of_a_result=1)


def names_of(body):
    """The primitives of a body and of its inner bodies."""
    jaxpr = getattr(body, "jaxpr", body)
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in engine.ir.jaxprs.bodies_of(eqn):
            yield from names_of(inner)


def cut(fun, *args, limits=ANYTHING):
    """The primitives of the preamble and of the rest, and the shapes of the results."""
    closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(*args)
    extraction = extract(engine.jax_internals.live_part(closed_jaxpr), 32, limits=limits)
    if extraction is None:
        return set(), set(names_of(closed_jaxpr)), []
    rest = engine.jax_internals.live_part(extraction.rest)
    preamble = extraction.preamble.closed_jaxpr
    assert preamble.jaxpr.invars == []
    return set(names_of(preamble)), set(names_of(rest)), [aval.shape for aval in preamble.out_avals]


def ordered(x):
    return jnp.sort(x, axis=-1)


def in_scan(x):
    return lax.scan(lambda c, row: (c + ordered(TABLE)[0] * row, None), x, TABLE)[0]


def handed_to_scan(x):
    table = ordered(TABLE)
    return lax.scan(lambda c, row: (c + (table @ table)[0] * row, None), x, TABLE)[0]


def in_while(x):
    return lax.while_loop(
        lambda c: c.sum() < ordered(TABLE)[0, 0], lambda c: c + ordered(TABLE)[1], x
    )


def handed_to_while(x):
    table = ordered(TABLE)
    return lax.while_loop(lambda c: c.sum() < (table @ table)[0, 0], lambda c: c + table[1], x)


def in_fori(x):
    return lax.fori_loop(0, 3, lambda i, c: c + ordered(TABLE)[i], x)


def in_cond(x):
    return lax.cond(x[0] > 0, lambda x: x + ordered(TABLE)[0], lambda x: x, x)


def handed_to_cond(x):
    table = TABLE @ TABLE
    return lax.cond(x[0] > 0, lambda x: x + ordered(table)[0], lambda x: x, x)


def in_nested_jit(x):
    return jax.jit(lambda x: jax.jit(lambda y: y + ordered(TABLE)[0])(x) * 2)(x)


def handed_to_nested_jit(x):
    inner = jax.jit(lambda table, y: y @ ordered(table))
    return inner(TABLE, inner(TABLE * 2, x))


def in_checkpoint(x):
    return jax.checkpoint(lambda x: jnp.sin(x + ordered(TABLE)[0]))(x)


def in_custom_jvp(x):
    scaled = jax.custom_jvp(lambda x: x * ordered(TABLE)[0])
    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * 2))
    return scaled(x)


def in_custom_jvp_by_keyword(x):
    """JAX names the static argument that is passed by keyword, which is no input."""

    @partial(jax.custom_jvp, nondiff_argnums=(1,))
    def scaled(x, power):
        return jax.jit(lambda x, table: x * ordered(table)[0] ** power)(x, TABLE)

    scaled.defjvp(lambda power, primals, tangents: (scaled(*primals, power), tangents[0] * 2))
    return scaled(x, power=2)


def in_custom_vjp(x):
    scaled = jax.custom_vjp(lambda x: x * ordered(TABLE)[0])
    scaled.defvjp(lambda x: (scaled(x), None), lambda _, cotangent: (cotangent * 2,))
    return scaled(x)


def as_output(x):
    return x, ordered(TABLE)


BODIES = [
    in_scan, handed_to_scan, in_while, handed_to_while, in_fori, in_cond, handed_to_cond,
    in_nested_jit, handed_to_nested_jit, in_checkpoint, in_custom_jvp,
    in_custom_jvp_by_keyword, in_custom_vjp, as_output,
]  # fmt: skip
X = np.linspace(-1, 1, 16, dtype=np.float32)


@pytest.fixture
def anything(monkeypatch):
    """Make any amount of work worth a preamble."""
    monkeypatch.setattr(preamble_extraction, "LIMITS", ANYTHING)


def off_and_auto(fun):
    return tuple(
        engine.jit(fun, constants="simplified", precompute_constants=precompute)
        for precompute in ("off", "auto")
    )


@pytest.mark.parametrize("fun", BODIES)
def test_constant_work_is_taken_out_of_every_body(fun, anything):
    off, auto = off_and_auto(fun)
    assert "sort" in off.lower(X).as_text()
    assert "sort" not in auto.lower(X).as_text()
    for _ in range(2):
        jax.tree.map(np.testing.assert_array_equal, auto(X), off(X))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), auto(X), jax.jit(fun)(X))


@pytest.mark.parametrize("transform", [jax.vmap, jax.grad, jax.jacfwd, jax.linearize])
@pytest.mark.parametrize("fun", [in_scan, in_cond, in_nested_jit, in_checkpoint, in_custom_vjp])
def test_derived_programs(fun, transform, anything):
    if fun is in_custom_vjp and transform in (jax.jacfwd, jax.linearize):
        pytest.skip("JAX has no forward mode for custom_vjp")
    if transform is jax.linearize:
        results = [jax.linearize(jitted, X)[1](X) for jitted in off_and_auto(fun)]
    else:
        summed = [lambda x, j=j: j(x).sum() for j in off_and_auto(fun)]
        x = np.stack([X, -X]) if transform is jax.vmap else X
        results = [transform(fun)(x) for fun in summed]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_equations_that_depend_on_a_carry_or_a_slice_stay():
    def fun(x):
        def body(carry, row):
            return carry + jnp.sort(carry * TABLE[0]) + jnp.cumsum(row * TABLE[1]), None

        return lax.scan(body, x, TABLE)[0]

    moved, left, _ = cut(fun, X)
    assert {"sort", "cumsum"} <= left
    assert not {"sort", "cumsum"} & moved


def test_a_carry_that_is_taken_for_a_constant_is_noticed(anything, monkeypatch):
    """A planted fault: the first carry of a scan counts as a constant operand."""
    stock = constant_search.bodies_within

    def bodies_within(eqn):
        for body, first, count in stock(eqn):
            yield body, first, count + (eqn.primitive.name == "scan")

    def fun(x):
        return lax.scan(lambda c, row: (ordered(c) + row, None), TABLE[0] - 2, TABLE)[0] + x

    off, auto = off_and_auto(fun)
    np.testing.assert_array_equal(auto(X), off(X))
    monkeypatch.setattr(constant_search, "bodies_within", bodies_within)
    table = constant_search.WorkTable
    monkeypatch.setattr(table, "of", without_loops(table.of))
    _, wrong = off_and_auto(lambda x: fun(x))
    assert not np.array_equal(wrong(X), off(X))


def without_loops(of):
    return lambda table, eqn: None if eqn.primitive.name == "scan" else of(table, eqn)


def test_a_loop_of_constants_alone_runs_once_as_a_whole():
    def fun(x):
        total, rows = lax.scan(lambda c, row: (c + row, jnp.sort(row)), TABLE[0], TABLE)
        return x + total @ rows

    moved, left, shapes = cut(fun, X)
    assert {"scan", "sort", "dot_general"} <= moved
    assert "scan" not in left
    assert shapes == [(16,)]


def test_a_search_in_a_captured_table_runs_once():
    edges = jnp.sort(TABLE.ravel())

    def searched(x):
        return jnp.interp(TABLE, edges, edges**2)[0] + x

    moved, left, _ = cut(searched, X)
    if "call_hi_primitive" in moved | left:  # JAX 0.12 searches by one primitive, of no table
        assert "call_hi_primitive" in left
        assert "lt_to" not in moved | left
    else:
        assert "lt_to" in moved
        assert "gather" not in left


def test_a_loop_that_may_not_end_stays_if_a_call_may_not_reach_it():
    def endless(_):
        return lax.while_loop(lambda c: c[0] < jnp.inf, lambda c: c * 0 + TABLE[0], TABLE[0])

    def fun(x):
        return lax.cond(x[0] > 5, endless, lambda x: x, x)

    assert "while" in cut(fun, X)[1]
    auto = engine.jit(fun, constants="simplified", precompute_constants="auto")
    np.testing.assert_array_equal(auto(X), X)
    moved, _, _ = cut(lambda x: x + lax.while_loop(lambda c: c[0] < 9, jnp.exp, TABLE[0]), X)
    assert "while" in moved  # if a call surely reaches it


@pytest.mark.parametrize(
    ("fun", "primitive"),
    [
        (
            lambda x: x + jax.pure_callback(lambda t: t, TABLE[0], ordered(TABLE)[0]),
            "pure_callback",
        ),
        (lambda x: (jax.debug.callback(lambda t: None, ordered(TABLE)), x)[1], "debug_callback"),
        (lambda x: x + lax.rng_uniform(0.0, TABLE[0, 0], (16,)), "rng_uniform"),
        (lambda x: x + lax.optimization_barrier(ordered(TABLE))[0], "optimization_barrier"),
        (lambda x: x + jax.device_put(ordered(TABLE), jax.devices()[0])[0], "device_put"),
    ],
)
def test_equations_that_are_more_than_a_function_of_their_operands_stay(fun, primitive):
    moved, left, _ = cut(fun, X)
    assert primitive in left
    assert primitive not in moved


def test_broadcasts_iotas_and_reshapes_are_not_materialised():
    """The results are the operands of the cheap equations."""

    def fun(x):
        column = jnp.sum(TABLE, axis=1)
        mask = jnp.tri(16) * 2 + jnp.arange(16)
        spread = jnp.broadcast_to(column[:, None, None], (16, 16, 16)).reshape(256, 16)
        outer = column[:, None] - ordered(TABLE)[0][None, :]
        return x @ mask, spread * x, x @ outer

    moved, left, shapes = cut(fun, X)
    assert [np.prod(shape) for shape in shapes] == [16, 16]
    assert "iota" in left
    assert {"sort", "reduce_sum"} <= moved
    assert not {"iota", "mul", "sub", "reshape"} & moved


def test_elementwise_results_of_a_repeated_array_are_not_materialised():
    def fun(x):
        prior = jnp.log(jnp.ones((512, 16)) / 512)
        column = jnp.broadcast_to(jnp.sum(TABLE, axis=1), (512, 16))
        table = jnp.exp(column) * jnp.sqrt(column)
        return x + prior + table

    assert cut(fun, X)[2] == [(16,)]
    norm = lambda x: x + sum(jnp.sum(jnp.sort(TABLE + i)) for i in range(9))  # noqa: E731
    assert cut(norm, X)[2] == [()]  # numbers are not repeated
    outer = lambda x: x + jnp.exp(jnp.sum(TABLE, axis=1)[:, None] * jnp.arange(16.0))  # noqa: E731
    assert cut(outer, X)[2] == [(16, 16)]  # two arrays with other repetitions make more elements


@pytest.mark.parametrize(
    "pick", [lambda product, i: product[i], lambda product, i: product[i].sum()]
)
def test_a_value_is_passed_instead_of_many_results_made_from_it_with_little_work(pick):
    large = jnp.ones((64, 64))

    def fun(count):
        def program(x):
            product = large @ large
            return sum(x * pick(product, i) for i in range(count))

        return program

    limits = Limits(least_operations=0)
    assert cut(fun(40), np.ones(64), limits=limits)[2] == [(64, 64)]
    assert len(cut(fun(3), np.ones(64), limits=limits)[2]) == 3
    # "Little work" is the sum over all steps, and each step reads one array alone.
    several = lambda product, i: jnp.linalg.matrix_power(product[i : i + 8, :8], 64)  # noqa: E731
    one = lambda x: sum(x * several(large @ large, i).sum() for i in range(9))  # noqa: E731
    many_steps = Limits(least_operations=0, least_operations_of_a_result=2**12)
    assert len(cut(one, np.ones(64), limits=many_steps)[2]) == 9

    def with_arrays_of_its_own(x):
        product = large @ large
        return sum(x * (product[i] @ (large + i)) for i in range(9))

    assert len(cut(with_arrays_of_its_own, np.ones(64), limits=limits)[2]) == 9
    # If the value is too large, the many small results are passed and still save the work.
    too_large = Limits(extra_bytes=-1, least_operations=0)
    assert len(cut(fun(40), np.ones(64), limits=too_large)[2]) == 40


@pytest.mark.parametrize(("elements", "moved"), [(1024, set()), (4096, {"sort"})])
def test_a_sort_of_some_thousand_elements_is_worth_a_preamble(elements, moved):
    samples = jnp.asarray(np.random.default_rng(0).random(elements), jnp.float32)
    found = cut(lambda x: x[0] * lax.sort(samples), X, limits=Limits())
    assert found[0] == moved


def test_equal_computations_in_two_places_run_once():
    large = jnp.ones((1024, 64))

    def fun(x):
        y = x @ jnp.sort(large, axis=0)
        return lax.scan(lambda c, _: (c + x @ jnp.sort(large, axis=0), None), y, None, length=3)[0]

    # Two results would take more memory than the one array that they replace.
    assert cut(fun, np.ones(1024), limits=Limits(extra_bytes=0))[2] == [(1024, 64)]
    two = np.array(2, np.float32)  # copied by each capture
    twice = lambda x: x @ ordered(lax.mul(TABLE, two)) + x @ ordered(lax.mul(TABLE, two))  # noqa: E731
    assert len(cut(twice, X)[2]) == 1
    zeros = lambda x: (x @ ordered(TABLE * 0.0), x @ ordered(TABLE * -0.0))  # noqa: E731
    assert len(cut(zeros, X)[2]) == 2


def test_a_result_has_the_width_that_the_program_reads():
    """XLA computes in the wider type if it sees both, so it never rounds to the narrow one."""
    narrow = jnp.linspace(0, 3, 64).astype(jnp.bfloat16)
    fun = lambda x: x * jnp.exp(narrow).astype(jnp.float32)  # noqa: E731
    closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(np.ones(64, np.float32))
    [result] = extract(closed_jaxpr, 32, limits=ANYTHING).preamble.closed_jaxpr.out_avals
    assert result.dtype == jnp.float32


def test_a_result_is_passed_as_a_transposition_that_alone_reads_it():
    table = jnp.linspace(0, 3, 64 * 32).reshape(64, 32)
    x = np.ones((1, 32), np.float32)

    def results(fun, *, passes_transposed=True):
        closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(x)
        limits = replace(ANYTHING, passes_transposed=passes_transposed)
        found = extract(closed_jaxpr, 32, limits=limits).preamble.closed_jaxpr.out_avals
        return [each.shape for each in found]

    assert results(lambda x: x @ jnp.sin(table).T) == [(32, 64)]
    # Read in both orders it is passed once.
    assert results(lambda x: x @ jnp.sin(table).T @ jnp.sin(table)) == [(64, 32)]
    # Where a product reads either order as fast.
    assert results(lambda x: x @ jnp.sin(table).T, passes_transposed=False) == [(64, 32)]


def test_heavy_work_that_a_call_may_not_reach_stays():
    def heavy(turns):
        return lax.fori_loop(0, turns, lambda i, c: jnp.tanh(c @ TABLE), jnp.ones((16, 16)))[0]

    def in_a_branch(turns):
        return lambda x: lax.cond(x[0] > 0, lambda: heavy(turns), lambda: x)

    assert len(cut(in_a_branch(10), X)[2]) == 1
    assert cut(in_a_branch(10**8), X)[2] == []
    assert len(cut(lambda x: x + heavy(10**8), X)[2]) == 1  # each call reaches it


def test_a_table_that_the_program_unpacks_stays_packed():
    packed = jnp.asarray(TABLE * 100, jnp.int8)
    assert cut(lambda x: x @ (packed.astype(jnp.float32) * 0.01), X)[2] == []


def test_little_work_stays():
    def fun(x):
        return x @ jnp.linalg.inv(TABLE @ TABLE)

    assert cut(fun, X)[2] == [(16, 16)]
    assert cut(fun, X, limits=Limits())[2] == []
    large = jnp.ones((256, 256))
    assert cut(lambda x: x @ (large @ large), np.ones(256), limits=Limits())[2] == [(256, 256)]
    assert cut(lambda x: x @ large.T.reshape(256, 256) * 2, np.ones(256), limits=Limits())[2] == []


def test_results_take_no_more_bytes_than_the_arrays_they_replace_plus_the_budget():
    def two(x):
        return x @ ordered(TABLE) + x @ jnp.cumsum(TABLE, axis=0)

    def drawn(x):
        return x + jax.random.normal(KEY, (16, 16)) @ ordered(TABLE)[0]

    size = TABLE.nbytes
    one_more = Limits(size, 0, 1)
    assert cut(two, X, limits=one_more)[2] == [(16, 16), (16, 16)]
    assert cut(two, X, limits=Limits(size - 1, 0, 1))[2] == []
    moved, left, shapes = cut(
        lambda x: two(x) + jnp.sum(jnp.cumprod(TABLE)), X, limits=Limits(100, 0, 1)
    )
    assert shapes == [()]  # the small one is still worth it
    assert "cumprod" in moved
    assert {"sort", "cumsum"} <= left
    assert cut(drawn, X, limits=Limits(0, 0, 1))[2] == [(16,)]


def test_a_captured_array_that_nothing_else_reads_is_no_const_arg(anything):
    fun = lambda x: x @ ordered(TABLE)  # noqa: E731
    [result] = (
        engine.jit(fun, constants="simplified", precompute_constants="auto").lower(X).const_args
    )
    np.testing.assert_array_equal(result, np.sort(TABLE, axis=-1))
    also = engine.jit(
        lambda x: fun(x) @ TABLE, constants="simplified", precompute_constants="auto"
    ).lower(X)
    assert len(also.const_args) == 2


def test_equations_keep_their_names_and_contexts():
    @jax.jit
    def inner(x):
        with jax.named_scope("deep"):
            return x + TABLE @ TABLE[0]

    def fun(x):
        with jax.named_scope("wide"), jax.default_matmul_precision("highest"):
            return inner(x)

    closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(X)
    [dot] = (
        eqn
        for eqn in extract(closed_jaxpr, 32, limits=ANYTHING).preamble.closed_jaxpr.eqns
        if eqn.primitive.name == "dot_general"
    )
    assert str(dot.source_info.name_stack) == "wide/jit(inner)/deep"
    assert set(dot.params["precision"]) == {lax.Precision.HIGHEST}


def test_unchanged_bodies_stay_the_same_objects():
    body = jax.jit(lambda x: jnp.sin(x) + TABLE[0])
    closed_jaxpr = engine.make_jaxpr(lambda x: body(x) @ ordered(TABLE), constants="simplified")(X)
    [jit] = (e for e in closed_jaxpr.eqns if e.params.get("name") == "<lambda>")
    rest = extract(closed_jaxpr, 32, limits=ANYTHING).rest
    [same] = (e for e in rest.eqns if e.params.get("name") == "<lambda>")
    assert same is jit
    literals = [a for e in rest.eqns for a in e.invars if isinstance(a, engine.Literal)]
    assert sum(isinstance(a.val, Result) for a in literals) == 1


def test_equal_preambles_of_the_same_arrays_are_shared():
    def preamble_for(x, table=TABLE, axis=-1):
        fun = lambda x: x[..., None] + jnp.sort(table, axis=axis)  # noqa: E731
        closed_jaxpr = engine.make_jaxpr(fun, constants="simplified")(x)
        return extract(closed_jaxpr, 32, limits=ANYTHING).preamble

    one = preamble_for(X)
    assert preamble_for(np.ones((3, 16))) is one
    assert preamble_for(X, axis=0) is not one
    assert preamble_for(X, table=TABLE + 0) is not one


def test_a_captured_array_goes_with_its_function_without_a_collection_of_garbage():
    def captured():
        w = jnp.full((128, 128), 0.5)
        f = engine.jit(
            lambda x: x @ (jnp.sin(w) @ jnp.cos(w)),
            constants="simplified",
            precompute_constants="auto",
        )
        f(jnp.ones((4, 128)))
        return weakref.ref(w)

    gc.collect()
    gc.disable()
    try:
        assert captured()() is None
    finally:
        gc.enable()


def test_an_array_that_a_loop_captures_is_replaced_by_the_result_of_the_loop():
    def fun(x):
        return x @ lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ TABLE), jnp.ones((16, 16)))

    assert cut(fun, X, limits=Limits(0, 0, 1))[2] == [(16, 16)]


@pytest.mark.parametrize("custom", [jax.custom_vjp, jax.custom_jvp])
def test_functions_with_custom_derivatives_are_passed_only_what_they_read(custom, monkeypatch):
    """JAX itself passes all operands: derivative rules may want them."""
    monkeypatch.setattr(preamble_extraction, "LIMITS", Limits(0, 0, 1))

    @custom
    def product(x, table, scale):
        return x @ ordered(table) * scale

    if custom is jax.custom_vjp:
        product.defvjp(
            lambda x, table, scale: (product(x, table, scale), (x, table)),
            lambda kept, g: (g * kept[0], g[:, None] * kept[1], g),
        )
    else:
        product.defjvp(lambda primals, tangents: (product(*primals), tangents[0] * primals[1][0]))

    def fun(x):
        return product(x, TABLE, x)

    jitted = engine.jit(fun, constants="simplified", precompute_constants="auto")
    [only] = jitted.lower(X).const_args
    np.testing.assert_array_equal(only, np.sort(TABLE, axis=-1))
    of_sum = jax.grad(lambda x: fun(x).sum())
    for derived, x in ((fun, X), (of_sum, X), (jax.vmap(fun), np.stack([X, X]))):
        ours = engine.jit(derived, constants="simplified", precompute_constants="auto")
        np.testing.assert_allclose(ours(x), jax.jit(derived)(x), rtol=1e-5)


def test_constants_go_through_functions_with_custom_derivatives():
    def fun(x):
        return x @ jnp.cumsum(jax.nn.relu(TABLE), axis=0)

    assert cut(fun, X, limits=Limits(0, 0, 1))[2] == [(16, 16)]


def test_an_operand_that_is_passed_on_but_never_read_is_no_const_arg(monkeypatch):
    monkeypatch.setattr(preamble_extraction, "LIMITS", Limits(0, 0, 1))
    ignoring = jax.custom_vjp(lambda x, table: jnp.sin(x))
    ignoring.defvjp(lambda x, table: (jnp.sin(x), None), lambda _, g: (g, None))

    def fun(x):
        return ignoring(x, TABLE) + x @ ordered(TABLE)

    jitted = engine.jit(fun, constants="simplified", precompute_constants="auto")
    [only] = jitted.lower(X).const_args
    np.testing.assert_array_equal(only, np.sort(TABLE, axis=-1))
    np.testing.assert_allclose(jitted(X), fun(X), rtol=1e-6)
