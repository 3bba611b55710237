"""Closures of one program over other values share one executable, and nothing else does."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import executable_sharing
from parity_tests.calls import work_of_jax

X = jnp.arange(9.0)


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    executable_sharing.forget()


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
        lambda x: x + table,  # of another line, and nothing else
    )
    for fun in functions:
        lowered = engine.jit(fun, constants="simplified").lower(X)
        lowered.compile()
        line = fun.__code__.co_firstlineno
    assert f'test_executable_sharing.py":{line}' in lowered.as_text(debug_info=True)


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
    with engine.embedded_constants_max_bytes(36):  # 9 floats: inlined, so that no two are alike
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


def test_what_measures_compiling_compiles_each():
    functions = [closure(n) for n in range(3)]
    with executable_sharing.unshared():
        assert compilations("simplified", functions) == 3
    assert compilations("simplified", [closure(n) for n in range(3)]) == 1


def test_clear_caches_forgets_them():
    assert compilations("simplified", [closure(0)]) == 1
    jax.clear_caches()
    assert executable_sharing._modules.cache_keys() == []
    assert executable_sharing._programs.cache_keys() == []


def compilations_of(size):
    """Of one program among others that differ in the size of what they return."""
    with work_of_jax() as work:
        table = np.ones(40 + size, np.float32)
        engine.jit(lambda x: x[0] + table, constants="simplified")(X)
    return work["compilation"]


def test_what_is_met_once_is_kept_for_a_while(monkeypatch):
    monkeypatch.setattr(executable_sharing, "MOST_MET_ONCE", 2)
    assert [compilations_of(size) for size in (1, 2, 3)] == [1, 1, 1]
    found = executable_sharing._modules.cache_info()
    assert found == "2 of 2 modules met once, 0 of 128 met again"
    assert [compilations_of(size) for size in (2, 3)] == [0, 0]


def test_what_is_met_again_after_others_is_kept_from_then_on(monkeypatch):
    """A loop over six programs, of which two are kept at first: from its third turn on, all are."""
    monkeypatch.setattr(executable_sharing, "MOST_MET_ONCE", 2)
    turns = [sum(compilations_of(size) for size in range(6)) for _ in range(4)]
    assert turns == [6, 6 - 2, 0, 0]


def test_only_so_many_are_kept_that_were_met_again(monkeypatch):
    monkeypatch.setattr(executable_sharing, "MOST_MET_AGAIN", 2)
    for size in range(4):
        for _ in range(2):
            compilations_of(size)
    assert executable_sharing._programs.cache_info().endswith("2 of 2 met again")
    assert [compilations_of(size) for size in (3, 2)] == [0, 0]


def test_only_so_many_hashes_of_what_is_gone_are_kept(monkeypatch):
    monkeypatch.setattr(executable_sharing, "MOST_MET_ONCE", 1)
    monkeypatch.setattr(executable_sharing, "MOST_GONE", 2)
    for size in range(5):
        compilations_of(size)
    assert len(executable_sharing._programs._gone) == 2
