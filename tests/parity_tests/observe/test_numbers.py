"""Numbers of a program: what is lowered for them, and under which settings."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.layout import Format, Layout

from parity_tests.experiments.variants import Variants
from parity_tests.judge.proofs import claims_of
from parity_tests.observe import measure, numbers
from parity_tests.program import Mark, Program, from_function
from parity_tests.proof.numbers import UndecidedError
from parity_tests.targets import load_one
from reports.rows import Numbers, Observation, ProgramNumber
from reports.rows.claims import answer_of

PROGRAM = "parity_tests.corpus.plain_jax:mlp_frozen_weights"
TABLE = jnp.linspace(0.5, 2.0, 64)


def test_another_platform_is_lowered_under_the_users_settings(monkeypatch):
    seen = []

    def lower(lowered, platform):
        seen.append((platform, jax.config.jax_default_matmul_precision))
        raise UndecidedError("not needed here")

    monkeypatch.setattr(numbers, "_number_lowered", lower)
    with jax.default_matmul_precision("highest"):
        found = measure.number(load_one(PROGRAM), "jax-legacy", platforms=("tpu",))
    assert seen == [("", "highest"), ("tpu", "highest")]
    assert found.numbers.modules["tpu"].undecided == "not needed here"


def test_a_captured_array_with_bits_that_mean_nothing_is_undecided_where_it_is_passed():
    mask = np.uint8([0, 1, 2, 3] * 16).view(bool)
    masked = from_function(lambda: (lambda x: jnp.where(mask, x, 0), (TABLE,)), "here")
    before, after = (measure.number(masked, side) for side in ("legacy", "simplified"))
    assert not before.numbers.modules[""].undecided
    told = "a captured array of bool with bits that mean nothing"
    assert {after.numbers.modules[""].undecided, after.numbers.jaxpr.undecided} == {told}


def test_the_functions_that_a_module_calls_are_known_of_stock_jax_where_they_have_numbers():
    def module(function, side="jax-legacy"):
        calling = from_function(lambda: (lambda x: jax.pure_callback(function, x, x), (TABLE,)), "")
        return measure.number(calling, side).numbers.modules[""]

    found = module(np.sin)
    assert (found.callbacks, found.functions) == (1, module(np.sin, "jax-simplified").functions)
    assert "" != found.functions != module(np.cos).functions != ""
    for unknown in (module(lambda x: os.getenv(x)), module(np.sin, "legacy")):
        assert (unknown.callbacks, unknown.functions, unknown.undecided) == (1, "", "")


def added(x_ref, table_ref, sum_ref):
    sum_ref[...] = x_ref[...] + table_ref[...]


@pytest.mark.parametrize("side", ["jax-legacy", "simplified"])
def test_programs_that_read_another_argument_are_two_though_their_modules_are_alike(side):
    """JAX leaves out the arguments that a program does not read, and the modules do not say so."""
    x = np.ones(4, np.float32)

    def module(function, *args):
        program = from_function(lambda: (function, args), "")
        return measure.number(program, side).numbers.modules[""].digest

    first, second = (lambda p, q: p * TABLE[:4]), (lambda p, q: q * TABLE[:4])
    assert "" != module(first, x, x) != module(second, x, x) != ""
    # The same, with another place in a tree.
    assert module(first, x, x) == module(first, x, np.int32(3))
    assert module(second, (x, x), x) != module(second, x, x)


def test_a_kernel_for_a_device_that_is_away_is_lowered_for_it():
    table = jnp.ones((8, 128))
    mark = Mark((jax.ShapeDtypeStruct((8, 128), "float32"),), {}, None, ())
    summing = pl.pallas_call(added, out_shape=mark.args[0])
    kernel = Program("p", "p", "p.py:1", "", lambda x: summing(x, table), mark)
    here, away = (measure.number(kernel, "jax-legacy", platforms=each) for each in ((), ("tpu",)))
    assert (here.failure.stage, away.failure) == ("lower", None)
    assert away.proof.holds
    modules = away.numbers.modules
    assert modules[""].undecided.startswith("it cannot be lowered here: ValueError: Only interpret")
    assert (modules[""].not_lowered, modules["tpu"].not_lowered) == (True, False)
    ours = measure.number(kernel, "legacy", platforms=("tpu",))
    assert ours.numbers.jaxpr.digest == away.numbers.jaxpr.digest != ""
    nowhere = measure.number(kernel, "legacy", platforms=("rocm",)).failure
    assert (nowhere.stage, "Only interpret mode" in nowhere.message) == ("lower", False)


def test_where_one_form_alone_can_be_lowered_for_a_platform_equal_jaxprs_prove_nothing():
    known = ProgramNumber(digest="d")
    away = ProgramNumber(undecided="it cannot be lowered for tpu: why", not_lowered=True)

    def answer(before, after):
        one, two = (
            Observation(
                program="p", side=side,
                numbers=Numbers(jaxpr=known, modules={"": known, "tpu": each}),
            )
            for side, each in (("jax-legacy", before), ("jax-simplified", after))
        )  # fmt: skip
        claims = claims_of(one, two)
        return answer_of(claims), claims[-1].reason

    assert answer(known, away) == (
        "refuted", "after the flip: it cannot be lowered for tpu: why",
    )  # fmt: skip
    assert answer(away, known) == (
        "failed", "before the flip: it cannot be lowered for tpu: why",
    )  # fmt: skip
    assert answer(away, away) == ("proved", "it cannot be lowered for tpu: why")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jax_debug_key_reuse", True),
        ("jax_debug_nans", True),
        ("jax_default_matmul_precision", "highest"),
        ("jax_disable_most_optimizations", True),
        ("jax_embedded_constants_max_bytes", 10**9),
        ("jax_optimization_level", "O0"),
    ],
)
def test_settings_are_in_both_numbers_whether_a_program_runs_or_not(name, value):
    def digests(made):
        return made.numbers.jaxpr.digest, made.numbers.modules[""].digest

    program, before = load_one(PROGRAM), jax.config.values[name]
    plain = digests(measure.number(program, "jax-legacy"))
    jax.config.update(name, value)
    try:
        numbered = digests(measure.number(program, "jax-legacy"))
        measured = digests(measure.measure(program, "jax-legacy").observation)
    finally:
        jax.config.update(name, before)
    assert numbered == measured
    assert not {*numbered} & {*plain}


def test_whether_jax_may_run_anything_is_in_the_numbers():
    mark = Mark((np.ones(64, np.float32),), {}, None, ())
    doubled = Program("p", "p", "p.py:1", "", lambda x: x * 2, mark)

    def digest():
        return measure.number(doubled, "jax-legacy").numbers.jaxpr.digest

    plain = digest()
    jax.config.update("jax_no_execution", True)
    try:
        assert digest() != plain
    finally:
        jax.config.update("jax_no_execution", False)


def test_devices_and_layouts_of_captured_arrays_are_the_placement_of_a_program():
    def numbered(device, layout):
        held = jax.device_put(
            np.ones((3, 3), np.float32),
            Format(Layout(layout), jax.sharding.SingleDeviceSharding(jax.devices()[device])),
        )
        x = jax.device_put(held[0], jax.devices()[device])
        target = Program("p", "p", "p.py:1", "", lambda x: x @ held, Mark((x,), {}, None, ()))
        numbers = measure.number(target, "jax-legacy").numbers
        assert numbers == measure.measure(target, "jax-legacy").observation.numbers
        return numbers

    here = numbered(0, (0, 1))
    assert here == numbered(0, (0, 1))
    for other in (numbered(1, (0, 1)), numbered(0, (1, 0))):
        assert other.modules[""].digest == here.modules[""].digest
        assert other.placement != here.placement


def test_settings_as_jax_has_them_say_nothing(monkeypatch):
    """So that releases which lack one, or have None for it, have equal numbers."""
    digest = numbers.digest_of(b"program", {})
    assert digest == "a042b845f65ce6ac4c7b14f875b6174b"
    without = {**jax.config.values, "jax_memory_fitting_effort": None}
    del without["jax_embedded_constants_max_bytes"]
    monkeypatch.setattr(type(jax.config), "values", without)
    assert numbers.digest_of(b"program", {}) == digest


@pytest.mark.parametrize(("by_calls", "answer"), [("", "refuted"), ("c", "parted")])
def test_effects_of_calls_that_are_not_expanded_refute_nothing(by_calls, answer):
    def observed(side, effects):
        jaxpr = ProgramNumber(digest=side, by_calls=f"{by_calls and side}", effects=effects)
        return Observation(program="p", side=side, numbers=Numbers(jaxpr=jaxpr))

    [claim] = claims_of(observed("jax-legacy", 3), observed("jax-simplified", 2))
    assert claim.answer == answer


@pytest.mark.parametrize(
    ("jaxpr", "modules"),
    [
        ({"digest": "d"}, set()),
        ({"undecided": "a reason"}, {""}),
        ({"digest": "d", "effects": 1}, {""}),  # which lowering may lose
    ],
)
def test_a_program_whose_jaxpr_tells_is_not_lowered(monkeypatch, jaxpr, modules):
    monkeypatch.setattr(numbers, "_row", lambda *given: ProgramNumber(**jaxpr))
    found = measure.number(load_one(PROGRAM), "jax-legacy", lowers=False)
    assert set(found.numbers.modules) == modules
    assert bool(found.proof) == bool(modules)


def test_a_jaxpr_that_is_not_in_the_form_of_its_side_is_an_error_all_the_same():
    found = measure.number(load_one(PROGRAM), "jax-simplified", lowers=False)
    assert (found.failure.kind, found.proof.holds) == ("wrong side", False)


def reduces(x):
    """Stock JAX lowers no function of `reduce` that captures an array, in either mode."""
    return lax.reduce(x, np.float32(0), lambda a, b: a + b * TABLE[3], (0,))


@pytest.mark.parametrize("within", [lambda fun: fun, jax.jit])
def test_arrays_in_a_body_that_lowering_may_refuse_are_lowered(within):
    mark = Mark((np.ones(64, np.float32),), {}, None, ())
    program = Program("p", "p", "p.py:1", "", lambda x: within(reduces)(x), mark)
    found = measure.number(program, "jax-legacy", lowers=False)
    assert found.failure.stage == "lower"


def test_a_program_that_captures_a_tracer_of_another_trace_is_not_proved():
    left = []
    jax.jit(lambda x: left.append(x) or x)(1.0)  # as many libraries do by accident
    program = Program("p", "p", "p.py:1", "", lambda x: x + left[0], Mark((1.0,), {}, None, ()))
    found = measure.number(program, "jax-legacy")
    assert (found.failure.stage, found.failure.type) == (
        "trace",
        "jax.errors.UnexpectedTracerError",
    )
    with pytest.raises(jax.errors.UnexpectedTracerError, match="another trace has left behind"):
        Variants(program)


@jax.jit
def called_before(x):
    return x * TABLE


@functools.partial(jax.jit, donate_argnums=0)
def donated_and_captured(x):
    return x * 2 + TABLE


def shared():
    return jax.device_put(TABLE, jax.devices()[0], may_alias=True)


@functools.partial(jax.jit, static_argnames="n")
def called_with_a_static_argument(x, n):
    return x * TABLE * n


@pytest.mark.parametrize(
    ("function", "given", "kwargs", "is_one_jit"),
    [
        (called_before, lambda: TABLE, {}, True),  # JAX keeps its trace
        (donated_and_captured, shared, {}, True),
        (called_with_a_static_argument, lambda: TABLE, {"n": 2}, False),  # traced once more
    ],
)
def test_a_jit_whose_call_may_differ_from_that_of_its_trace_is_one_all_the_same(
    function, given, kwargs, is_one_jit
):
    if function is not donated_and_captured:
        function(TABLE, **kwargs)
    program = Program("p", "p", "p.py:1", "", function, Mark((given(),), kwargs, None, ()))
    found = measure.number(program, "jax-legacy", lowers=False).numbers
    assert (found.is_one_jit, found.calls_may_differ) == (is_one_jit, True)


def test_a_program_that_was_called_is_lowered_for_a_late_write_shows_there_alone():
    table = np.ones(64, "float32")
    function = jax.jit(lambda x: x * table)
    function(TABLE)
    table[:] = 2
    table.flags.writeable = False
    program = Program("p", "p", "p.py:1", "", function, Mark((TABLE,), {}, None, ()))
    assert measure.number(program, "jax-legacy", lowers=False).failure.kind == "written to"
