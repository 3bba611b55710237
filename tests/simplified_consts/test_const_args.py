"""`precompute_constants`: a preamble runs once, at the right time and place, and unnoticed."""

import concurrent.futures
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from profiled import frames_of

import engine
from engine.jax_internals import placement
from engine.runtime import lowering
from simplified_consts import const_args
from simplified_consts.preamble import extraction
from simplified_consts.preamble.profitability import Limits

TABLE = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1.5, (16, 16)), jnp.float32)
X = np.linspace(-1, 1, 16, dtype=np.float32)


@pytest.fixture(autouse=True)
def anything(monkeypatch):
    """Make any amount of work worth a preamble."""
    limits = Limits(extra_bytes=2**30, least_operations=0, least_operations_of_a_result=1)
    monkeypatch.setattr(extraction, "LIMITS", limits)


@pytest.fixture
def runs(monkeypatch):
    """Each run of a preamble, in order: its device, its results and its const args."""
    found = []
    stock = const_args.results_of
    # Otherwise preambles of other tests over the same table would be found.
    monkeypatch.setitem(globals(), "TABLE", jnp.array(TABLE))

    class Watched:
        def __init__(self, request):
            self._request = request

        def run(self, closed_jaxpr, device):
            results, const_args = self._request.run(closed_jaxpr, device)
            found.append((device, results, const_args))
            return results, const_args

        def __getattr__(self, name):
            return getattr(self._request, name)

    def results_of(preamble, request):
        return stock(preamble, Watched(request))

    monkeypatch.setattr(const_args, "results_of", results_of)
    return found


def auto(fun, **options):
    return engine.jit(fun, constants="simplified", precompute_constants="auto", **options)


def off(fun, **options):
    return engine.jit(fun, constants="simplified", precompute_constants="off", **options)


def copied_bytes(arrays):
    """The bytes that all devices together hold beyond one copy of each array."""
    shards = [shard.data.nbytes for array in arrays for shard in array.addressable_shards]
    return sum(shards) - sum(array.nbytes for array in arrays)


def using(table):
    return lambda x: x @ jnp.sort(table, axis=0)


# -- when ------------------------------------------------------------------------------------------


def test_it_runs_when_a_program_is_lowered_and_once(runs):
    jitted = auto(using(TABLE))
    traced = jitted.trace(X)
    jitted.eval_shape(X)
    assert runs == []
    lowered = traced.lower()
    assert len(runs) == 1
    [result] = lowered.const_args
    np.testing.assert_array_equal(result, np.sort(TABLE, axis=0))
    compiled = lowered.compile()
    [again] = compiled.const_args
    assert again.unsafe_buffer_pointer() == result.unsafe_buffer_pointer()
    for call in (compiled, jitted, jitted):
        np.testing.assert_array_equal(call(X), off(using(TABLE))(X))
    assert len(runs) == 1
    assert lowered.args_info[0][0].shape == X.shape
    assert [aval.shape for aval in lowered.in_avals[0]] == [X.shape]


def test_signatures_share_computed_results(runs):
    jitted = auto(using(TABLE))
    for rows in (1, 2, 3):
        x = np.ones((rows, 16), np.float32)
        np.testing.assert_array_equal(jitted(x), off(using(TABLE))(x))
    jax.vmap(jitted)(x)
    assert len(runs) == 1


def test_later_calls_run_no_python():
    jitted = auto(using(TABLE))
    plain = engine.jit(using(TABLE), constants="simplified")
    assert frames_of(jitted, X) > 0
    assert frames_of(jitted, X) == 0
    for precompute in ("auto", "off"):
        with engine.precompute_constants(precompute):
            assert frames_of(plain, X) > 0  # the count can fail: this is another executable
            assert frames_of(plain, X) == 0
    with engine.precompute_constants("auto"):
        assert frames_of(plain, X) == 0


def sorts(lowered):
    return "sort" in lowered.as_text()


def test_a_flip_is_another_program_and_the_keyword_beats_the_setting(runs):
    plain = engine.jit(using(TABLE), constants="simplified")
    assert sorts(plain.lower(X))
    with engine.precompute_constants("auto"):
        assert not sorts(plain.lower(X))
        assert sorts(off(using(TABLE)).lower(X))
        kept = plain.trace(X)
    assert sorts(plain.lower(X))
    assert not sorts(kept.lower())  # the setting of the trace stays with it
    assert not sorts(auto(using(TABLE)).lower(X))
    try:
        engine.config.update("precompute_constants", "auto")
        assert engine.config.precompute_constants == "auto"
        assert not sorts(plain.lower(X))
    finally:
        engine.config.update("precompute_constants", "off")
    assert len(runs) == 1


def test_with_nothing_to_compute_both_settings_share_one_executable():
    fun = engine.jit(lambda x: x @ TABLE, constants="simplified")
    executables = []
    for precompute in ("off", "auto"):
        with engine.precompute_constants(precompute):
            fun(X)
            executables.append(fun.lower(X).compile()._executable)
    assert executables[0] is executables[1]


def test_many_threads_wait_for_one_run(runs):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        table = TABLE + 1
        jitted = auto(using(table))
        results = list(pool.map(lambda _: jitted(X), range(16)))
    assert len(runs) == 1
    for result in results:
        np.testing.assert_array_equal(result, off(using(table))(X))


def test_results_are_released_with_the_function():
    def one():
        jitted = auto(using(TABLE * 3))
        jitted(X)
        return weakref.ref(jitted.lower(X).const_args[0])

    result = one()
    gc.collect()
    assert result() is None
    held = auto(using(TABLE))
    held(X)
    alive = weakref.ref(held.lower(X).const_args[0])
    gc.collect()
    assert alive() is not None  # so the check above can fail


@pytest.mark.parametrize("bad", ["on", True, 1, ""])
def test_other_values_are_refused(bad):
    for refuse in (
        lambda: engine.jit(using(TABLE), precompute_constants=bad),
        lambda: engine.precompute_constants(bad),
        lambda: engine.config.update("precompute_constants", bad),
    ):
        with pytest.raises(ValueError, match="precompute_constants must be 'off' or 'auto', got"):
            refuse()


# -- what else decides -----------------------------------------------------------------------------


def test_legacy_lowerings_without_hoisting_and_exports_ignore_the_setting(runs):
    legacy = [
        engine.jit(using(TABLE), constants="legacy", precompute_constants=value)
        for value in ("off", "auto")
    ]
    assert legacy[0].lower(X).as_text() == legacy[1].lower(X).as_text()
    jitted = auto(using(TABLE))
    assert sorts(jitted.trace(X).lower(hoist_constants_as_args=False))
    assert sorts(jitted.trace(X).lower(lowering_platforms=("cpu",)))
    exported = jax.export.export(jitted)(X)
    np.testing.assert_array_equal(exported.call(X), off(using(TABLE))(X))
    assert "sort" in exported.mlir_module()
    assert runs == []


def test_the_outermost_program_decides(runs):
    inner = auto(using(TABLE))
    assert sorts(off(lambda x: inner(x) + 1).lower(X))
    assert not sorts(auto(lambda x: off(using(TABLE))(x) + 1).lower(X))
    assert len(runs) == 1
    np.testing.assert_array_equal(jax.jit(inner)(X), off(using(TABLE))(X))
    assert len(runs) == 1  # a program of plain JAX is lowered by JAX


@pytest.mark.parametrize("answer", ["inline", "embed"])
def test_an_array_that_a_policy_inlines_is_left_to_xla(runs, answer):
    jitted = auto(using(TABLE), constant_policy=lambda constant: answer)
    lowered = jitted.lower(X)
    assert lowered.const_args == []
    assert sorts(lowered)
    assert runs == []
    hoisted = auto(using(TABLE), constant_policy=lambda constant: "hoist").lower(X)
    assert not sorts(hoisted)


@pytest.mark.parametrize(
    "key", [jax.random.key(3), jax.random.PRNGKey(3), jax.random.split(jax.random.key(3), 2)[1]]
)
def test_random_numbers_have_the_same_bits(key):
    def fun(x):
        one, other = jax.random.split(key)
        return x + jax.random.normal(one, (64,)).sum() + jax.random.uniform(other, (16,))

    text = auto(fun).lower(X).as_text()
    assert "threefry" not in text
    np.testing.assert_array_equal(auto(fun)(X), off(fun)(X))
    np.testing.assert_allclose(auto(fun)(X), jax.jit(fun)(X), rtol=1e-6)


def test_prng_keys_may_be_results():
    key = jax.random.key(5)
    fun = lambda x: jax.random.normal(jax.random.split(key, 4)[x], (3,))  # noqa: E731
    for call in (auto(fun), auto(fun).lower(1).compile()):
        for _ in range(2):
            np.testing.assert_array_equal(call(1), off(fun)(1))


def test_effects_happen_at_every_call():
    seen = []

    def fun(x):
        jax.debug.callback(lambda total: seen.append(float(total)), jnp.sort(TABLE).sum())
        return x

    jitted = auto(fun)
    for _ in range(3):
        jitted(X)
    jax.effects_barrier()
    assert len(seen) == 3


def test_nan_is_an_error_only_where_the_program_returns_it():
    def masked(x):
        logs = jnp.log(TABLE - 1)  # NaN where it is negative
        return x + jnp.sum(jnp.where(x[:, None] > 5, logs, 0.0))

    def returned(x):
        return x + jnp.log(TABLE - 1)[0]

    with jax.debug_nans(True):
        np.testing.assert_array_equal(auto(masked)(X), X)
        with pytest.raises(FloatingPointError, match="nan"):
            auto(returned)(X)
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="inf"):
        auto(lambda x: x / jnp.sort(TABLE * 0)[0])(X)


def test_double_precision_follows_the_trace():
    table = np.linspace(0, 1, 64).reshape(8, 8)
    with jax.enable_x64(True):
        jitted = auto(lambda x: x @ jnp.linalg.inv(table.T @ table + jnp.eye(8)))
        x = np.ones(8)
        traced = jitted.trace(x)
        assert jitted(x).dtype == np.float64
        expected = x @ np.linalg.inv(table.T @ table + np.eye(8))
        np.testing.assert_allclose(jitted(x), expected, rtol=1e-12)
    assert [c.dtype for c in traced.lower().const_args] == [np.float64]


# -- where -----------------------------------------------------------------------------------------


def test_it_runs_where_the_arguments_are_once_for_each_device(runs):
    jitted = auto(using(TABLE))
    first, third = jax.devices()[0], jax.devices()[3]
    for device in (third, first, third):
        result = jitted(jax.device_put(X, device))
        assert result.devices() == {device}
        np.testing.assert_array_equal(result, off(using(TABLE))(X))
    with jax.default_device(third):
        assert jitted(X).devices() == {third}
    assert [device for device, *_ in runs] == [third, first]


def test_a_committed_table_follows_the_arguments_as_without_a_preamble():
    table = jax.device_put(TABLE, jax.devices()[2])
    for make in (auto, off):
        assert make(using(table))(X).devices() == {jax.devices()[0]}
        with engine.strict_placement(True):
            assert make(using(table))(X).devices() == {jax.devices()[2]}
            with pytest.raises(ValueError, match="incompatible devices"):
                make(using(table))(jax.device_put(X, jax.devices()[1]))


@pytest.mark.parametrize("kind", list(jax.sharding.AxisType)[:2])
@pytest.mark.parametrize("spec", [P("x"), P(None, "x"), P("x", "y"), P()])
def test_results_of_sharded_constants_stay_on_their_devices(spec, kind):
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(kind,) * 2)
    table = jax.device_put(TABLE, NamedSharding(mesh, spec))

    def fun(x):
        return x + jnp.exp(table) * 2, jnp.exp(table)

    x = jax.device_put(np.ones((16, 16), np.float32), NamedSharding(mesh, P()))
    lowered = auto(fun).lower(x)
    assert "exponential" not in lowered.as_text()
    assert all(c.sharding.device_set == set(mesh.devices.flat) for c in lowered.const_args)
    for ours, plain in zip(auto(fun)(x), off(fun)(x), strict=True):
        np.testing.assert_array_equal(ours, plain)
        assert ours.sharding.is_equivalent_to(plain.sharding, 2)


def test_results_of_sharded_constants_are_not_copied_to_each_device(runs, monkeypatch):
    """Sorting along a sharded axis may gather the array; then the program is lowered whole."""
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    table = jax.device_put(TABLE, NamedSharding(mesh, P("x")))
    monkeypatch.setattr(const_args, "LIMITS", Limits(extra_bytes=0))
    fun = lambda x: x * jnp.broadcast_to(jnp.sum(table), (16,)) + jnp.sum(table, axis=0)  # noqa: E731
    x = jax.device_put(X, NamedSharding(mesh, P()))
    lowered = auto(fun).lower(x)
    [(_, results, constants)] = runs
    assert copied_bytes(results) > copied_bytes(constants) == 0
    [whole] = lowered.const_args
    assert whole is table
    np.testing.assert_array_equal(auto(fun)(x), off(fun)(x))


def test_a_mesh_in_context():
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    with jax.set_mesh(mesh):
        fun = lambda x: jax.lax.with_sharding_constraint(x @ jnp.sort(TABLE), P("x"))  # noqa: E731
        ours, plain = auto(fun)(X), off(fun)(X)
    np.testing.assert_array_equal(ours, plain)
    assert ours.sharding == plain.sharding


def test_arrays_in_other_memory_stay():
    host = jax.device_put(TABLE, TABLE.sharding.with_memory_kind("pinned_host"))
    fun = lambda x: x @ jnp.sort(jax.device_put(host, jax.memory.Space.Device))  # noqa: E731
    np.testing.assert_array_equal(auto(fun)(X), off(fun)(X))


# -- buffers ---------------------------------------------------------------------------------------


def test_a_result_that_is_returned_may_be_donated_to_another_function():
    jitted = auto(lambda x: (x, jnp.sort(TABLE)))
    for _ in range(3):
        _, returned = jitted(X)
        jax.jit(lambda table: table + 1, donate_argnums=0)(returned)
    np.testing.assert_array_equal(jitted(X)[1], np.sort(TABLE))


def test_a_captured_array_may_be_donated():
    table = TABLE + 2
    expected = off(using(TABLE + 2))(X)
    jitted = auto(lambda x, t: (using(table)(x), t + 1), donate_argnums=1)
    np.testing.assert_array_equal(jitted(X, table)[0], expected)
    np.testing.assert_array_equal(jitted(X, TABLE + 0)[0], expected)


def test_a_numpy_array_keeps_its_captured_value():
    table = np.array(TABLE)
    jitted = auto(using(table))
    expected = np.asarray(jitted(X))
    table[:] = 0
    np.testing.assert_array_equal(jitted(X), expected)
    elsewhere = jax.device_put(X, jax.devices()[5])  # the preamble of one trace runs a second time
    np.testing.assert_array_equal(jitted(elsewhere), expected)


def test_a_branch_for_another_platform_is_left_alone(runs):
    """JAX never lowers that branch here, where it may not compile."""
    tf32 = jax.lax.DotAlgorithmPreset.TF32_TF32_F32

    def fun(x):
        return jax.lax.platform_dependent(
            x,
            cuda=lambda x: x @ jax.lax.dot(TABLE, TABLE, precision=tf32),
            default=lambda x: x @ jnp.sort(TABLE, axis=0),
        )

    np.testing.assert_array_equal(auto(fun)(X), off(fun)(X))
    assert not runs


def test_a_captured_array_may_be_donated_before_the_preamble_runs_on_another_device(runs):
    def program(table):
        return lambda x, t: (x @ jnp.sort(table, axis=0), t + 1)

    other = jax.devices()[1]
    first = np.asarray(TABLE)
    for jit in (off, auto):
        table = jnp.asarray(first)
        jitted = jit(program(table), donate_argnums=1)
        jitted(X, table)
        assert table.is_deleted()
        result, _ = jitted(*jax.device_put((X, first), other))
        assert result.devices() == {other}
        np.testing.assert_allclose(result, X @ np.sort(first, axis=0), rtol=1e-5)
    assert len(runs) == 2


def test_a_preamble_may_be_requested_while_the_same_thread_computes_it(runs, monkeypatch):
    """This happens if garbage is collected and a finalizer calls the function."""
    jitted, met = auto(using(TABLE)), []
    stock = lowering.run

    def run(*args, **options):
        if not met:
            met.append("a finalizer")
            met.append(jitted.lower(X))
        return stock(*args, **options)

    monkeypatch.setattr(lowering, "run", run)
    lowered = jitted.lower(X)
    assert len(runs) == 2
    for one, other in zip(lowered.const_args, met[1].const_args, strict=True):
        assert one is other


@pytest.mark.parametrize("answer", ["inline", "embed"])
def test_an_array_that_a_policy_inlines_is_left_to_xla_in_a_loop_too(runs, answer):
    def fun(x):
        start = jnp.ones((16, 16))
        return x @ jax.lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ TABLE), start)

    jitted = auto(fun, constant_policy=lambda constant: answer)
    assert jitted.lower(X).const_args == []
    assert not runs
    np.testing.assert_allclose(jitted(X), off(fun)(X), rtol=1e-5)


def test_a_loop_over_arrays_on_two_meshes_is_left_alone():
    one, two = (
        jax.device_put(TABLE, NamedSharding(Mesh(np.array(devices), "i"), P("i")))
        for devices in (jax.devices()[:2], jax.devices()[2:4])
    )

    def fun(x):
        return x + jax.lax.fori_loop(0, 3, lambda i, c: c @ one - two, jnp.ones((16, 16)))

    x = jax.device_put(np.ones((16, 16), np.float32), jax.devices()[3])
    np.testing.assert_allclose(auto(fun)(x), off(fun)(x), rtol=1e-5)


def test_a_numpy_array_that_only_a_preamble_reads_does_not_stay_on_the_device():
    table = np.random.default_rng(3).random((16, 19), np.float32)
    jitted = auto(using(table))
    jitted(X)
    gc.collect()
    alike = [each for each in jax.live_arrays() if each.shape == table.shape]
    assert not any(np.array_equal(each, table) for each in alike)
    assert len(alike) >= 1


def test_no_preamble_runs_on_devices_that_can_only_be_compiled_for(runs, monkeypatch):
    client = type(jax.devices()[0].client)  # like the client of a topology, which CPUs do not have
    monkeypatch.setattr(placement._jaxlib, "CompileOnlyPyClient", client)
    jitted = engine.jit(
        lambda x: x @ jnp.sort(TABLE), constants="simplified", precompute_constants="auto"
    )
    lowered = jitted.lower(X)
    assert runs == []
    assert "sort" in lowered.as_text()
    assert [const.shape for const in lowered.const_args] == [TABLE.shape]
