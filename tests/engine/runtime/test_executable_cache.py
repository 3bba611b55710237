"""Closures of one program over other values share one executable, and nothing else does."""

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import jax_internals
from engine.jax_internals import hooks
from engine.runtime import executable_cache
from parity_tests.observe.calls import work_of_jax

X = jnp.arange(9.0)


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    executable_cache.forget()


def closure(value, operation=jnp.add):
    captured = np.full(9, value, np.float32)
    return lambda x: operation(jnp.tanh(x), captured)


def compilations(constants, functions, **options):
    with work_of_jax() as work:
        for value, fun in enumerate(functions):
            result = engine.jit(fun, constants=constants, **options)(X)
            np.testing.assert_allclose(result, np.tanh(X) + value, rtol=1e-6)
    return work["compilation"]


@pytest.mark.parametrize(("constants", "expected"), [("legacy", 30), ("simplified", 1)])
def test_the_second_to_the_last_closure_compile_nothing(constants, expected):
    assert compilations(constants, [closure(n) for n in range(30)]) == expected


def test_closures_that_come_and_go_share_as_well():
    def one_by_one():
        for n in range(5):
            yield closure(n)
            gc.collect()

    assert compilations("simplified", one_by_one()) == 1


def test_stages_share_with_calls():
    with work_of_jax() as work:
        engine.jit(closure(1), constants="simplified")(X)
        lowered = engine.jit(closure(2), constants="simplified").lower(X)
        np.testing.assert_allclose(lowered.compile()(X), np.tanh(X) + 2, rtol=1e-6)
    assert work["compilation"] == 1
    [const] = lowered.const_args
    assert const[0] == 2


def test_a_lowered_program_goes_on_showing_its_own_lines():
    table = np.ones(9, np.float32)
    functions = (
        lambda x: x + table,
        lambda x: x + table,  # only the line differs
    )
    for fun in functions:
        lowered = engine.jit(fun, constants="simplified").lower(X)
        lowered.compile()
        line = fun.__code__.co_firstlineno
    assert f'test_executable_cache.py":{line}' in lowered.as_text(debug_info=True)


def test_other_options_and_programs_compile():
    def count(fun, **options):
        argument = jnp.copy(X)  # it may be donated
        with work_of_jax() as work:
            engine.jit(fun, constants="simplified", **options)(argument).block_until_ready()
        return work["compilation"]

    assert count(closure(0)) == 1
    assert count(closure(1)) == 0
    assert count(closure(1), donate_argnums=0) == 1
    assert count(closure(1), compiler_options={"xla_embed_ir_in_executable": True}) == 1
    assert count(closure(1, jnp.multiply)) == 1
    assert count(closure(2, jnp.multiply)) == 0


def test_embedded_values_are_part_of_the_program():
    with engine.embedded_constants_max_bytes(36):  # 9 floats: inlined, so all programs differ
        assert compilations("simplified", [closure(n) for n in range(3)]) == 3


def test_callbacks_are_never_shared():
    called = []

    def calling(n):
        captured = np.full(9, n, np.float32)

        def fun(x):
            jax.debug.callback(lambda: called.append(n))
            return x + captured

        return fun

    for n in range(3):
        engine.jit(calling(n), constants="simplified")(X).block_until_ready()
    jax.effects_barrier()
    assert called == [0, 1, 2]


def test_the_cache_does_not_keep_what_callbacks_captured():
    def calling(captured):
        table = np.full(9, captured.value, np.float32)

        def fun(x):
            return jax.pure_callback(lambda x: x * captured.value, x, x) + table

        return fun

    def called(value):
        captured = Captured(value)
        result = engine.jit(calling(captured), constants="simplified")(X)
        np.testing.assert_allclose(result, X * value + value)
        return weakref.ref(captured)

    found = [called(n) for n in range(3)]
    give_up = time.monotonic() + 5  # XLA's thread may let go of a callback after its result is seen
    while any(each() for each in found) and time.monotonic() < give_up:
        gc.collect()
    assert [each() for each in found] == [None] * 3


class Captured:
    def __init__(self, value):
        self.value = value


def test_only_so_many_executables_of_one_text_are_kept(monkeypatch):
    monkeypatch.setattr(hooks, "MOST_OF_ONE_TEXT", 2)

    def compilations_with(level):
        with work_of_jax() as work:
            lowered = engine.jit(closure(1), constants="simplified").lower(X)
            lowered.compile({"xla_backend_optimization_level": level})
        return work["compilation"]

    assert [compilations_with(level) for level in (0, 1, 2)] == [1, 1, 1]
    assert [compilations_with(level) for level in (2, 1, 0)] == [0, 0, 1]


def test_a_compilation_that_fails_leaves_nothing_behind():
    lowered = engine.jit(closure(1), constants="simplified").lower(X)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="xla_no_such_option"):
            lowered.compile({"xla_no_such_option": True})
    np.testing.assert_allclose(lowered.compile()(X), np.tanh(X) + 1, rtol=1e-6)
    other = jax.jit(lambda x: x + 1).lower(X)  # plain JAX has a table of its own
    np.testing.assert_array_equal(other.compile()(X), X + 1)


def compiled(checks, lowered):
    """An executable compiled under a setting that none of JAX's cache keys contains."""
    with jax.enable_checks(checks):
        return lowered.compile().runtime_executable()


def test_threads_compile_one_program_under_their_own_settings(monkeypatch):
    """In plain JAX the second thread waits for the first one and gets its executable."""
    both_lowered = threading.Barrier(2, timeout=60)
    compile_into = jax_internals.compile_into

    def at_once(computation, executables_of, options):
        def wait_first(module):
            both_lowered.wait()
            return executables_of(module)

        return compile_into(computation, wait_first, options)

    jitted = engine.jit(closure(1), constants="simplified")
    with monkeypatch.context() as patch, ThreadPoolExecutor(2) as threads:
        patch.setattr(jax_internals, "compile_into", at_once)
        with work_of_jax() as work:
            stages = jitted.lower(X), jitted.lower(X)
            first, second = threads.map(compiled, (False, True), stages)
    assert work["compilation"] == 2
    other = engine.jit(closure(2), constants="simplified")
    assert compiled(False, other.lower(X)) is first is not second
    assert compiled(True, other.lower(X)) is second


def test_a_stage_may_be_compiled_in_another_thread_meanwhile(monkeypatch):
    jitted = engine.jit(closure(1), constants="simplified")
    lowered, others = jitted.lower(X), []
    module = lowered.compiler_ir()
    compile_into = jax_internals.compile_into

    def meanwhile(computation, executables_of, options):
        def compile_elsewhere_first(module):
            if not others:
                others.append(None)
                with ThreadPoolExecutor(1) as threads:
                    others[0] = threads.submit(compiled, False, lowered).result()
            return executables_of(module)

        return compile_into(computation, compile_elsewhere_first, options)

    monkeypatch.setattr(jax_internals, "compile_into", meanwhile)
    own = compiled(True, lowered)
    assert others != [None]
    assert own is not others[0]
    assert lowered.compiler_ir() is module
    assert compiled(True, jitted.lower(X)) is own
    assert compiled(False, jitted.lower(X)) is others[0]


def test_an_executable_compiled_meanwhile_is_not_taken_for_ours(monkeypatch):
    """The user's code may run at any moment, in a finalizer, say."""
    compile_of_jax = jax_internals.Computation.compile

    def compile_another_first(computation, **options):
        jitted = jax.jit(lambda x, y: jnp.cos(x) - y)  # has the same key in JAX as `closure(1)`
        found.append(jitted(X, X))
        return compile_of_jax(computation, **options)

    found = []
    monkeypatch.setattr(jax_internals.Computation, "compile", compile_another_first)
    result = engine.jit(closure(1), constants="simplified")(X)
    np.testing.assert_allclose(result, np.tanh(X) + 1, rtol=1e-6)
    np.testing.assert_allclose(found, [np.cos(X) - X], rtol=1e-6)


def test_within_unshared_each_closure_is_compiled():
    functions = [closure(n) for n in range(3)]
    with executable_cache.unshared():
        assert compilations("simplified", functions) == 3
    assert compilations("simplified", [closure(n) for n in range(3)]) == 1


def test_clear_caches_of_jax_empties_our_caches():
    assert compilations("simplified", [closure(0)]) == 1
    jax.clear_caches()
    assert executable_cache._modules.cache_keys() == []
    assert executable_cache._programs.cache_keys() == []


def compilations_of(size):
    """Compilations of a program that differs from the others in the size of its result."""
    with work_of_jax() as work:
        table = np.ones(40 + size, np.float32)
        engine.jit(lambda x: x[0] + table, constants="simplified")(X)
    return work["compilation"]


def test_programs_seen_once_are_kept_for_a_while(monkeypatch):
    monkeypatch.setattr(executable_cache, "MAX_SEEN_ONCE", 2)
    assert [compilations_of(size) for size in (1, 2, 3)] == [1, 1, 1]
    found = executable_cache._modules.cache_info()
    assert found == "2 of 2 modules seen once, 0 of 128 seen twice"
    assert [compilations_of(size) for size in (2, 3)] == [0, 0]


def test_programs_seen_again_after_others_are_kept_from_then_on(monkeypatch):
    """A loop over six programs: two are kept at first, and all from the third turn on."""
    monkeypatch.setattr(executable_cache, "MAX_SEEN_ONCE", 2)
    turns = [sum(compilations_of(size) for size in range(6)) for _ in range(4)]
    assert turns == [6, 6 - 2, 0, 0]


def test_only_so_many_programs_seen_twice_are_kept(monkeypatch):
    monkeypatch.setattr(executable_cache, "MAX_SEEN_TWICE", 2)
    for size in range(4):
        for _ in range(2):
            compilations_of(size)
    assert executable_cache._programs.cache_info().endswith("2 of 2 seen twice")
    assert [compilations_of(size) for size in (3, 2)] == [0, 0]


def test_only_so_many_hashes_of_evicted_keys_are_kept(monkeypatch):
    monkeypatch.setattr(executable_cache, "MAX_SEEN_ONCE", 1)
    monkeypatch.setattr(executable_cache, "MAX_EVICTED", 2)
    for size in range(5):
        compilations_of(size)
    assert len(executable_cache._programs._evicted) == 2
