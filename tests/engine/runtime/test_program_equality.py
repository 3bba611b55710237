"""An equal program from before is lowered in a program's place: which programs are equal?"""

import concurrent.futures
import contextlib
import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata

import engine
from engine.ir.jaxprs import bodies_of
from engine.runtime import executable_cache, program_equality
from engine.runtime.lowering import plan_of
from parity_tests import targets
from parity_tests.observe.calls import work_of_jax
from simplified_consts.pipeline import PIPELINE

X = np.ones((4, 4), np.float32)


ALIVE = []  # keeps programs alive, because the cache holds programs seen once only weakly


@pytest.fixture(autouse=True)
def nothing_lowered_before():
    executable_cache.forget()
    yield
    ALIVE.clear()


def jit(fun):
    """A function whose program lives until the end of the test."""
    ALIVE.append(engine.jit(fun, constants="simplified"))
    return ALIVE[-1]


def lowered(fun, *args, alone=False, **kwargs):
    """A lowered program, the bytes of its module, and the number of JAX's lowerings for it."""
    with executable_cache.unshared() if alone else contextlib.nullcontext():
        jitted = jit(fun)
        with work_of_jax() as work:
            found = jitted.lower(*args, **kwargs)
    return found, found.as_text(debug_info=True), work["lowering"]


def planned(fun, *args):
    """The jaxpr that JAX would be asked to lower."""
    traced = engine.jit(fun, constants="simplified").trace(*args)
    return plan_of(PIPELINE, traced.jaxpr, traced._params["name"].choices).closed_jaxpr


# -- a program that another one replaces has the module that it would have had alone ---------------

NEVER_COMPARED = {"callback_on_captured", "exported_beside_captured"}


def test_programs_of_the_corpus_have_the_modules_that_they_would_have_alone():
    lowered_again = set()
    for program in targets.load([]):
        modules = []
        for alone in (True, False, False):
            fun, args, kwargs = program.build()
            found, module, lowerings = lowered(fun, *args, alone=alone, **kwargs)
            modules.append(module)
        assert modules[1] == modules[2] == modules[0], program.name
        if found.const_args and lowerings:
            lowered_again.add(program.name)
    assert lowered_again == NEVER_COMPARED


def test_closures_are_lowered_once_and_keep_their_values():
    def closure(n):
        captured = np.full((4, 4), n, np.float32)
        return engine.jit(lambda x: jnp.tanh(x) @ captured, constants="simplified")

    with work_of_jax() as work:
        closures = [closure(n) for n in range(20)]
        for _ in range(2):
            for n, jitted in enumerate(closures):
                np.testing.assert_allclose(jitted(X), np.tanh(X) @ np.full((4, 4), n), rtol=1e-6)
                [const] = jitted.lower(X).const_args
                assert const[0, 0] == n
    assert work["lowering"] == work["compilation"] == 1


def test_one_program_is_lowered_for_each_type_of_argument_and_each_name():
    def jitted(name, n):
        captured = np.full((4, 4), n, np.float32)

        def fun(x):
            return x + captured

        fun.__name__ = name
        return jit(fun)

    def lowerings(name, n, x):
        with work_of_jax() as work:
            text = jitted(name, n).lower(x).as_text()
        assert f"@jit_{name}" in text
        return work["lowering"]

    assert [lowerings("one", n, X) for n in range(2)] == [1, 0]
    assert [lowerings("other", n, X) for n in range(2)] == [1, 0]
    assert [lowerings("one", n, X.astype(np.int32)) for n in range(2)] == [1, 0]


def test_lines_tell_programs_apart():
    captured = np.ones((4, 4), np.float32)
    functions = (
        lambda x: x + captured,
        lambda x: x + captured,
    )
    assert len({lowered(fun, X)[1] for fun in functions}) == 2


# -- programs that differ in one thing are not equal -----------------------------------------------
# One line makes both functions of a pair, so their source locations are equal. TABLE is hoisted,
# and the same in both.

TABLE = np.linspace(0, 1, 16, dtype=np.float32).reshape(4, 4)
SAME_VALUES = TABLE.copy()
NANS = np.array([[0x7FC00000] * 4, [0x7FC00001] * 4], np.uint32).view(np.float32)


def looked_up(x, **how):
    return jnp.asarray(TABLE).at[x.astype(int)].get(**how)


def within(context, x):
    with context:
        return x + TABLE


def doubling():
    return jax.jit(lambda x: x * 2)


def checkpointed(fun, **how):
    return lambda x: jax.grad(lambda x: jax.checkpoint(fun, **how)(x @ TABLE).sum())(x)


DIFFERENT = {
    "zeros of two signs": (lambda p: lambda x: x * p + TABLE, 0.0, -0.0),
    "numbers": (lambda p: lambda x: x * p + TABLE, 2.0, 3.0),
    "types of numbers": (lambda p: lambda x: (x + TABLE, p), 1, 1.0),
    "a number and a bool": (lambda p: lambda x: (x + TABLE, p), 1, True),
    "embedded NumPy arrays": (lambda p: lambda x: x @ TABLE + p, X[0], X[0] * 2),
    "embedded arrays of JAX": (lambda p: lambda x: x @ TABLE + p, jnp.arange(4.0), jnp.ones(4)),
    "bits of what is not a number": (lambda p: lambda x: x @ TABLE + p, *NANS),
    "repeats of embedded values": (
        lambda p: lambda x: x @ TABLE + p,
        X[0],
        np.broadcast_to(X[:1, 0], 4),
    ),
    "axes": (lambda p: lambda x: jnp.sum(x + TABLE, axis=p), 0, 1),
    "dtypes": (lambda p: lambda x: (x + TABLE).astype(p), jnp.int32, jnp.bfloat16),
    "reversed axes": (lambda p: lambda x: lax.rev(x + TABLE, (p,)), 0, 1),
    "reversed axes in a loop": (
        lambda p: lambda x: lax.scan(lambda c, _: (lax.rev(c + TABLE, (p,)), None), x, length=3)[0],
        0,
        1,
    ),
    "reversed axes in a branch of a function": (
        lambda p: (
            lambda x: jax.jit(
                lambda x: lax.cond(x[0, 0] > 0, lambda x: lax.rev(x + TABLE, (p,)), jnp.sin, x)
            )(x)
        ),
        0,
        1,
    ),
    "directions": (lambda p: lambda x: lax.cumsum(x + TABLE, reverse=p), False, True),
    "precisions": (lambda p: lambda x: jnp.matmul(x, TABLE, precision=p), "default", "highest"),
    "gather modes": (lambda p: lambda x: looked_up(x, mode=p), "clip", "fill"),
    "fill values": (lambda p: lambda x: looked_up(x, mode="fill", fill_value=p), 0.0, -0.0),
    "the order of operands": (lambda p: lambda x: jnp.subtract(*(x, TABLE)[::p]), 1, -1),
    "which of two values": (lambda p: lambda x: (x * 2, x * 2)[p] + TABLE, 0, 1),
    "the order of results": (lambda p: lambda x: (x + TABLE, x + x)[::p], 1, -1),
    "which result": (lambda p: lambda x: (lambda a, b: (a, (a, b)[p]))(x + TABLE, x + 1), 0, 1),
    "branches": (
        lambda p: lambda x: lax.switch(x[0, 0].astype(int), [jnp.sin, jnp.cos][::p], x + TABLE),
        1,
        -1,
    ),
    "lengths": (
        lambda p: lambda x: lax.scan(lambda c, _: (c + TABLE, None), x, length=p)[0],
        2,
        3,
    ),
    "unrolling": (
        lambda p: lambda x: lax.scan(lambda c, _: (c + TABLE, None), x, length=4, unroll=p)[0],
        1,
        2,
    ),
    "functions": (lambda p: lambda x: jax.jit((jnp.sin, jnp.cos)[p])(x + TABLE), 0, 1),
    "inlining": (lambda p: lambda x: jax.jit(jnp.add, inline=p)(x, TABLE), False, True),
    "one function and two": (
        lambda p: lambda x: (lambda made: made[0](made[p](x + TABLE)))([doubling(), doubling()]),
        0,
        1,
    ),
    "names of scopes": (lambda p: lambda x: within(jax.named_scope(p), x), "one", "two"),
    "metadata": (lambda p: lambda x: within(set_xla_metadata(mark=p), x), "one", "two"),
    "whether prevented from being merged": (
        lambda p: checkpointed(jnp.sin, prevent_cse=p),
        True,
        False,
    ),
    "one array and two": (lambda p: lambda x: x @ TABLE @ (TABLE, SAME_VALUES)[p], 0, 1),
    "names of arguments": (
        lambda p: eval(f"lambda {p}: {p} + TABLE", {"TABLE": TABLE}),
        "one",
        "two",
    ),
}


# Pairs with equal outlines; a few are enough to see that the comparison is asked.
OF_REVERSED_AXES = (
    "reversed axes",
    "reversed axes in a loop",
    "reversed axes in a branch of a function",
)
OF_ONE_OUTLINE = {
    *("zeros of two signs", "numbers", "directions", "the order of operands", "lengths"),
    *OF_REVERSED_AXES,
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_programs_that_differ_in_one_thing_are_lowered_each(case):
    make, *both = DIFFERENT[case]
    turns = [(p, alone) for alone in (True, False, False) for p in both]
    found = [lowered(make(p), X, alone=alone)[1:] for p, alone in turns]
    modules, lowerings = zip(*found, strict=True)
    assert modules[0] != modules[1]
    assert modules == modules[:2] * 3
    assert lowerings[2:] == (1, 1, 0, 0)


@pytest.mark.parametrize("case", OF_REVERSED_AXES)
def test_programs_that_differ_in_a_param_have_results_of_their_own(case):
    """Where bodies are of one class, one that is found to be its own partner equals any other."""
    make, *axes = DIFFERENT[case]
    x = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    for axis in axes * 2:
        np.testing.assert_allclose(jit(make(axis))(x), jax.jit(make(axis))(x), rtol=1e-6)


@pytest.mark.parametrize("case", DIFFERENT)
def test_the_comparison_sees_differences_that_an_outline_misses(case):
    make, *values = DIFFERENT[case]
    one, other, again = [planned(make(p), X) for p in (*values, values[0])]
    assert not program_equality.are_equal(one, other)
    assert program_equality.are_equal(one, again)
    if case in OF_ONE_OUTLINE:
        assert program_equality.outline(one) == program_equality.outline(other)
    assert program_equality.outline(one) == program_equality.outline(again)


SETTINGS = {
    "jax_include_full_tracebacks_in_locations": False,
    "jax_traceback_in_locations_limit": 1,
    "jax_disable_most_optimizations": True,
    "jax_optimization_level": "O1",
    "jax_memory_fitting_level": "O1",
    "jax_compiler_enable_remat_pass": False,
    "jax_default_matmul_precision": "highest",
    "jax_numpy_dtype_promotion": "strict",
}
if jax.__version_info__ < (0, 11, 2):  # removed there
    SETTINGS |= {"jax_exec_time_optimization_effort": 0.5, "jax_memory_fitting_effort": 0.5}


@contextlib.contextmanager
def configured(setting, value):
    before = jax.config._read(setting)
    jax.config.update(setting, value)
    try:
        yield
    finally:
        jax.config.update(setting, before)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_program_is_lowered_and_compiled_under_the_settings_in_force(setting):
    """As in stock JAX, where each closure is a program of its own."""

    def work_of_a_closure(n):
        captured = np.full((4, 4), n, np.float32)
        with work_of_jax() as work:
            jit(lambda x: x @ captured)(X)
        return work["lowering"], work["compilation"]

    assert [work_of_a_closure(n) for n in range(2)] == [(1, 1), (0, 0)]
    with configured(setting, SETTINGS[setting]):
        assert [work_of_a_closure(n) for n in range(2)] == [(1, 1), (0, 0)]
    assert work_of_a_closure(2) == (0, 0)


def test_the_module_follows_the_settings():
    def fun(x):
        return x + TABLE

    modules = []
    for limit, alone in [(10, False), (1, True), (1, False)]:
        with configured("jax_traceback_in_locations_limit", limit):
            modules.append(lowered(lambda x: fun(x), X, alone=alone)[1])
    assert modules[0] != modules[1] == modules[2]


# -- programs with params that cannot be compared, or with objects that must not be kept -----------


def effectful(x):
    jax.debug.print("{}", x[0, 0])
    return x + TABLE


UNCOMPARED = {
    "an array in the module that JAX would hoist": lambda x: x + TABLE + np.ones((65, 4, 4)),
    "a callback": lambda x: jax.pure_callback(lambda x: x, x, x + TABLE),
    "an effect": effectful,
}


@pytest.mark.parametrize("what", UNCOMPARED)
def test_a_program_that_cannot_be_compared_equals_none(what):
    with engine.constant_policy(lambda constant: "hoist" if constant.nbytes < 100 else "embed"):
        assert program_equality.outline(planned(UNCOMPARED[what], X)) is None


def custom_jvp(held):
    @jax.custom_jvp
    def fun(x):
        return jnp.sin(x)

    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0] * held))
    return fun


def custom_vjp(held):
    @jax.custom_vjp
    def fun(x):
        return jnp.sin(x)

    fun.defvjp(lambda x: (fun(x), None), lambda _, cotangent: (cotangent * held,))
    return fun


def policy_of_a_checkpoint(held):
    def policy(*_, **__):
        return held is None

    return checkpointed(jnp.sin, policy=policy)


@pytest.mark.parametrize("make", [custom_jvp, custom_vjp])
def test_functions_of_the_user_are_freed(make):
    """Derivative rules are not lowered, and may hold gigabytes."""

    class Held:
        pass

    def one(n):
        held, captured = Held(), np.full((4, 4), n, np.float32)
        fun = make(held)
        jitted = engine.jit(lambda x: fun(x) + captured, constants="simplified")
        np.testing.assert_allclose(jitted(X), np.sin(X) + captured, rtol=1e-6)
        return weakref.ref(held)

    with work_of_jax() as work:
        held = [one(n) for n in range(3)]
    gc.collect()
    assert [reference() for reference in held] == [None] * 3
    assert work["compilation"] == 1


def unread_params(closed_jaxpr):
    """The params that lowering does not read, of all equations in all bodies."""
    bodies = [closed_jaxpr]
    for body in bodies:
        for eqn in getattr(body, "jaxpr", body).eqns:
            bodies.extend(bodies_of(eqn))
            names = program_equality.UNREAD.get(eqn.primitive.name, ())
            yield from (eqn.params[name] for name in names)


@pytest.mark.parametrize("make", [custom_jvp, custom_vjp, policy_of_a_checkpoint])
@pytest.mark.parametrize("around", [lambda fun: fun, jax.jit, jax.checkpoint, jax.vmap])
def test_a_kept_program_holds_no_functions_of_the_user(make, around):
    """Looks at the params, because JAX's own caches keep nested functions alive."""
    held = np.float32(2)
    program = planned(lambda x: around(make(held))(x) + TABLE, X)
    kept = program_equality.kept(program)
    given, left = list(unread_params(program)), list(unread_params(kept))
    assert given
    assert len(given) == len(left)
    assert not {id(each) for each in given if each is not None} & {id(each) for each in left}
    assert program_equality.are_equal(program, kept)


# -- embedded arrays may be deleted or changed after their program was lowered ---------------------


def closure(embedded, n=0):
    hoisted = np.full((4, 4), n, np.float32)
    return engine.jit(lambda x: x * embedded + hoisted, constants="simplified")


DTYPES = {jnp.dtype(each) for each in vars(jnp).values() if type(each) is type(jnp.float32)}
DTYPES = sorted(each.name for each in DTYPES if jax.dtypes.canonicalize_dtype(each) == each)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_kept_program_has_copies_of_embedded_arrays_of_each_dtype(dtype):
    """float8_e5m2 alone has a text ("<f1") that NumPy cannot parse."""
    two = np.zeros((2, 1), dtype)
    embedded = [two, np.zeros((0, 3), dtype), two.T, np.broadcast_to(two, (2, 4))]
    program = planned(lambda x: (x + TABLE, *map(jnp.asarray, embedded)), X)
    assert program_equality.are_equal(program_equality.kept(program), program)


@pytest.mark.parametrize("end", ["delete", "donate"])
def test_an_embedded_array_may_be_deleted_after_its_program_was_lowered(end):
    embedded = jnp.float32(2)
    assert closure(embedded)(X)[0, 0] == 2
    if end == "delete":
        embedded.delete()
    else:
        jax.jit(lambda x: x + 1, donate_argnums=0)(embedded)
    assert closure(jnp.float32(3))(X)[0, 0] == 3
    assert closure(jnp.float32(2), 1)(X)[0, 0] == 3


def test_an_embedded_array_may_be_written_to_after_its_program_was_lowered():
    embedded = np.array(2, np.float32)
    assert closure(embedded)(X)[0, 0] == 2
    embedded[...] = 3
    assert closure(np.array(3, np.float32))(X)[0, 0] == 3
    assert closure(np.array(2, np.float32))(X)[0, 0] == 2


@pytest.mark.parametrize("around", [lambda fun: fun, jax.jit, jax.checkpoint])
def test_embedded_arrays_are_read_in_every_body(around):
    def jitted(embedded, n):
        hoisted = np.full((4, 4), n, np.float32)
        fun = around(lambda x: lax.fori_loop(0, 2, lambda _, x: x * embedded, x) + hoisted)
        return engine.jit(lambda x: fun(x), constants="simplified")

    for _ in range(2):
        assert [jitted(jnp.float32(n), n)(X)[0, 0] for n in (2, 3)] == [6, 12]


def test_the_memory_behind_embedded_views_is_freed():
    def one(n):
        large = np.arange(1000, dtype=np.float32)
        jitted = closure(large[n : n + 1].reshape(()), n)
        jitted(X)
        return weakref.ref(large)

    large = [one(n) for n in range(3)]
    gc.collect()
    assert [reference() for reference in large] == [None] * 3


def test_a_constant_policy_is_freed():
    class Policy:
        def __call__(self, constant):
            return "hoist"

    def one(n):
        policy, captured = Policy(), np.full((4, 4), n, np.float32)
        options = {"constants": "simplified", "constant_policy": policy}
        engine.jit(lambda x: x + captured, **options)(X)
        return weakref.ref(policy)

    policies = [one(n) for n in range(3)]
    gc.collect()
    assert [reference() for reference in policies] == [None] * 3


# -- devices, threads, and stages under other settings ---------------------------------------------


def test_const_args_are_on_the_devices_of_the_call():
    found = set()
    for n, device in enumerate(jax.devices()[:2] * 2):
        result = closure(np.float32(1), n)(jax.device_put(X, device))
        assert result[0, 0] == 1 + n
        found |= result.devices()
    assert found == set(jax.devices()[:2])


def test_threads_with_one_program_get_their_own_results():
    closures = [closure(np.float32(2), n) for n in range(24)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda jitted: float(jitted(X)[0, 0]), closures))
    assert results == [2 + n for n in range(24)]


def test_a_program_is_compiled_under_the_settings_of_that_moment():
    first, second, third = (closure(np.float32(2), n).lower(X) for n in range(3))

    def compilations(lowered):
        with work_of_jax() as work:
            lowered.compile()
        return work["compilation"]

    with configured("jax_optimization_level", "O1"):
        assert compilations(first) == 1
    assert compilations(second) == 1
    with configured("jax_optimization_level", "O1"):
        assert compilations(third) == 0
    assert [compilations(each) for each in (first, second, third)] == [0, 0, 0]


def test_settings_missing_in_jax_cache_keys_are_part_of_a_program():
    closures = [closure(np.float32(2), n) for n in range(3)]
    with work_of_jax() as work:
        closures[0].lower(X)
        with configured("jax_use_magma", "on"):  # an attribute of calls, on GPU
            closures[1].lower(X)
            closures[2].lower(X)
    assert work["lowering"] == 2


def test_embedded_arrays_keep_the_types_of_the_trace():
    """A rule that traces anew must not turn 64 bits into 32, nor a weak type into a strong one."""
    small = np.arange(4, dtype=np.float32)
    program = planned(lambda x: x @ TABLE + small, X)

    def types(closed_jaxpr):
        atoms = [atom for eqn in closed_jaxpr.eqns for atom in eqn.invars]
        return [type(atom.val) for atom in atoms if isinstance(atom, engine.Literal)]

    assert np.ndarray not in types(program)
    assert types(program_equality.kept(program)) == types(program) != []


def test_a_captured_array_may_be_deleted_before_it_is_lowered_again():
    captured = jnp.full((4, 4), 7.0)
    jitted = engine.jit(lambda x: x + captured, constants="simplified")
    first = jitted.lower(X)
    captured.delete()
    assert jitted.lower(X).compiler_ir() is first.compiler_ir()


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("end", ["deleted", "donated"])
def test_a_captured_array_deleted_before_the_lowering_is_an_error_where_it_is_read(
    side, end, committed
):
    """As in stock JAX: legacy reads it to lower, simplified to call."""
    captured = jnp.full((4, 4), 7.0)
    if committed:
        captured = jax.device_put(captured, jax.devices()[0])
    traced = engine.jit(lambda x: x + captured, constants=side).trace(X)
    if end == "donated":
        jax.jit(lambda x: x + 1, donate_argnums=0)(captured)
    else:
        captured.delete()
    read = traced.lower if side == "legacy" else functools.partial(traced.lower().compile(), X)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        read()


def test_types_that_modules_do_not_show_are_part_of_a_program():
    def result_of(p):
        return engine.jit((lambda p: lambda x: (x + TABLE, p))(p), constants="simplified")(X)[1]

    assert [result_of(p).weak_type for p in (1.0, np.float32(1), 1.0)] == [True, False, True]


def test_a_program_may_be_called_and_differentiated_after_an_equal_one():
    def loss(n):
        fun = custom_vjp(np.float32(n))
        captured = np.full((4, 4), n, np.float32)
        return engine.jit(lambda x: (fun(x) * captured).sum(), constants="simplified")

    for n in (1, 2, 3):
        fun = loss(n)
        np.testing.assert_allclose(fun(X), np.sin(X).sum() * n, rtol=1e-6)
        np.testing.assert_allclose(jax.grad(fun)(X), np.full((4, 4), n * n), rtol=1e-6)


def test_a_program_keeps_its_module_when_the_cache_has_evicted_it():
    captured = np.ones((4, 4), np.float32)
    jitted = engine.jit(lambda x: x + captured, constants="simplified")
    first = jitted.lower(X)
    executable_cache.forget()
    with work_of_jax() as work:
        assert jitted.lower(X).compiler_ir() is first.compiler_ir()
    assert work["lowering"] == 0


def test_an_evicted_program_is_lowered_once_more_and_then_kept():
    """A module takes a megabyte of host memory, and most programs are seen once."""

    def work_of_one_that_goes(n):
        captured = np.full((4, 4), n, np.float32)
        with work_of_jax() as work:
            engine.jit(lambda x: x + captured, constants="simplified")(X)
        gc.collect()
        return work["lowering"], work["compilation"]

    assert [work_of_one_that_goes(n) for n in range(4)] == [(1, 1), (1, 0), (0, 0), (0, 0)]


def test_no_module_is_kept_for_a_program_seen_once():
    """Nor for a program that shares the executable of another one."""

    def module(n):
        captured = np.full((4, 4), n, np.float32)
        lowered = engine.jit(lambda x: x + captured, constants="simplified").lower(X)
        lowered.compile()
        return weakref.ref(lowered.compiler_ir())

    first, second, third = module(1), module(2), module(3)
    gc.collect()
    assert first() is None
    assert second() is third() is not None


def test_equal_functions_on_other_lines_are_programs_seen_once():
    def module(fun):
        return weakref.ref(engine.jit(fun, constants="simplified").lower(X).compiler_ir())

    captured = np.ones((4, 4), np.float32)
    modules = [
        module(lambda x: x + captured),
        module(lambda x: x + captured),
    ]
    gc.collect()
    assert [module() is None for module in modules] == [True, True]


def test_only_so_many_programs_of_one_outline_are_kept(monkeypatch):
    monkeypatch.setattr(executable_cache, "MAX_PER_KEY", 2)

    def lowerings(p):
        return lowered((lambda p: lambda x: x * p + TABLE)(p), X)[2]

    assert [lowerings(p) for p in (1.0, 2.0, 3.0)] == [1, 1, 1]
    assert [lowerings(p) for p in (3.0, 2.0, 1.0)] == [0, 0, 1]
