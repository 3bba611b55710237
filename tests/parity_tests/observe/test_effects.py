"""Effects: callbacks are recorded as they are called, and nothing else of a program changes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from parity_tests.jax_internals import const_args
from parity_tests.observe import effects, memory
from parity_tests.observe.effects import effects as rows_of
from parity_tests.observe.memory import Memory
from parity_tests.proof.modules import number_module
from parity_tests.proof.rules import with_functions

SCALAR = jax.ShapeDtypeStruct((), np.float32)


def note(*values):
    pass


def recorded(fun, *args):
    effects.install()
    jitted = jax.jit(fun)
    with effects.recording() as found:
        jax.block_until_ready(jitted(*args))
    return found


def test_each_kind_of_callback_is_recorded_with_its_values():
    def fun(x):
        jax.debug.print("x {} {}", x, "text", ordered=True)
        jax.debug.callback(note, x, "tag")
        y = jax.pure_callback(lambda y: np.float32(y + 1), SCALAR, x)
        return io_callback(np.float32, SCALAR, y, ordered=True)

    found = {each.target.kind: each for each in recorded(fun, np.float32(2)).invocations}
    assert set(found) == {"debug_print", "debug_callback", "pure_callback", "io_callback"}
    printed, noted, called = found["debug_print"], found["debug_callback"], found["io_callback"]
    assert printed.show(printed.arguments) == "x 2.0 text"
    assert (printed.target.function, printed.target.ordered) == ("x {} {}", True)
    assert (noted.target.function, noted.target.static) == ("note", "'tag'")
    assert noted.target.place == f"tests/parity_tests/observe/test_effects.py:{line_of(note)}"
    assert (called.target.function, called.target.ordered) == ("float32", True)
    assert called.arguments == (3.0,)


def line_of(function):
    return function.__code__.co_firstlineno


def test_modules_and_jaxprs_stay_as_they_are():
    def fun(x):
        jax.debug.print("x {}", x)
        return jax.pure_callback(lambda y: y, SCALAR, x)

    effects.install()
    effects.install()  # once is enough
    traced = jax.jit(fun).trace(1.0)
    assert [each.primitive.name for each in traced.jaxpr.eqns] == ["debug_print", "pure_callback"]
    assert traced.lower().as_text().count("callback") >= 2


def test_calls_outside_of_a_recording_are_not_recorded(capfd):
    effects.install()
    jitted = jax.jit(lambda x: jax.debug.print("x {}", x))
    jitted(1.0)
    with effects.recording(with_values=False) as found:
        jitted(2.0)
    jitted(3.0)
    jax.effects_barrier()
    assert found.counts.total() == 1
    assert found.invocations == ()
    assert capfd.readouterr().out == "x 1.0\nx 2.0\nx 3.0\n"


def test_effects_without_an_order_are_sorted_by_value():
    def fun(xs):
        for n in (2, 0, 1):
            jax.debug.callback(note, xs[n])

    def backwards(xs):
        for n in (1, 2, 0):
            jax.debug.callback(note, xs[n])

    xs = np.float32([0.5, np.nan, -1])
    [one], [two] = (
        rows_of(found, found).found for found in (recorded(fun, xs), recorded(backwards, xs))
    )
    assert (one.calls, one.sha256, one.arguments) == (3, two.sha256, two.arguments)


def seen(*arrays, resident=(0,) * 9):
    return [
        Memory(calls=5 * n, arrays=each, bytes=4 * each, resident=of)
        for n, (each, of) in enumerate(zip(arrays, resident, strict=False), 1)
    ]


def test_growth_is_what_each_call_leaves():
    assert memory.growth_between(seen(10, 15)) is None  # too few looks at memory
    assert memory.growth_between(seen(10, 12, 10, 12)).arrays == 0
    # Ten calls later these are gone: garbage.
    assert memory.growth_between(seen(10**6, 10**6 + 5, 10**6 + 10)).arrays == 0
    [check] = memory.check_growth(memory.growth_between(seen(10, 10, 10, 10)))
    assert (check.holds, check.statement) == (True, "each of 20 calls left nothing")


def test_arrays_that_stay_are_counted():
    kept = []
    looks = []
    for n in range(1, 4):
        kept.append(jnp.ones(3) + n)
        looks.append(memory.seen_after(n))
    [check] = memory.check_growth(memory.growth_between(looks))
    assert not check.holds
    assert check.statement.startswith("each of 3 calls left 1 array on devices, of 12 B")


def test_what_notes_its_calls_is_no_part_of_a_function():
    def functions(*callbacks):
        def calling(x):
            for each in callbacks:
                jax.pure_callback(each, x, x)
                jax.debug.callback(each, x)
                jax.debug.print("{}", io_callback(each, x, x, ordered=True))
            return x

        lowered = jax.jit(calling).lower(jnp.ones(2))
        found = number_module(lowered.compiler_ir(), const_args(lowered))
        return with_functions(found, lowered).functions

    effects.install()
    assert functions(np.sin) == functions(np.sin)
    assert len({functions(np.sin), functions(np.cos), functions(lambda x: x * 2)}) == 3
