"""Mutants of caches, of the ways to call a program, and of the placement of constants."""

import contextlib

import jax
import jax.numpy as jnp
import mutant_programs
from planting import PIPELINES, attribute, mutant, replaced, step

import engine
from engine import jax_internals, stages, tracing
from engine.configuration import settings
from engine.ir.lifting import lift
from engine.jax_internals import lowering
from engine.runtime import executable_cache, program_equality
from engine.runtime import lowering as engine_lowering
from simplified_consts import const_args

FLAG = "jax_use_simplified_jaxpr_constants"


@mutant(
    "the flag is a variable of Python, which no cache of JAX has in its key",
    program="uses_table",
    side="legacy",
    metric="flag flips",
    says="simplified: its first call was answered from the cache of legacy",
)
def cache_key_without_the_flag():
    class Variable:
        value = False

        def get_local(self):
            return self.value

        def set_local(self, value):
            self.value = value

        def swap_local(self, value):
            before, self.value = self.value, value
            return before

        def local(self, value):
            return jax_internals.held((self, value))

    with attribute(settings.use_simplified_constants, "_state", Variable()):
        yield


@mutant(
    "a function without a side of its own keeps the side that it was traced for first",
    program="uses_table",
    side="legacy",
    metric="flag flips",
    says="not simplified",
)
def stale_side_after_a_flip():
    stock, first = tracing.side_now, []

    def side_now(constants):
        if constants is None:
            first.append(stock(constants))
            return first[0]
        return stock(constants)

    with replaced(stock, side_now):
        yield


@mutant(
    "tracing leaves JAX's flag as it was for the last program",
    program="uses_table",
    side="legacy",
    metric="settings left alone",
)
def flag_not_put_back():
    stock = jax_internals.form_of_jaxprs

    def leaking(simplified):
        jax.config.update(FLAG, simplified)
        return stock(simplified)

    try:
        with replaced(stock, leaking):
            yield
    finally:
        jax.config.update(FLAG, False)


@mutant(
    "the dispatcher in C++ gets the const args in another order than the executable",
    program="two_tables",
    side="simplified",
    metric="calls agree",
    says="a later call differs",
)
def steady_call_with_other_const_args():
    stock = jax_internals.fastpath_data
    with replaced(stock, lambda *args: stock(*args[:-1], args[-1][::-1])):
        yield


@mutant(
    "the compiled stage gets the const args in another order than the executable",
    program="two_tables",
    side="simplified",
    metric="calls agree",
    says="the call of the compiled stage differs",
)
def compiled_stage_with_other_const_args():
    stock = stages.Compiled.__init__

    def init(self, executable, const_args, *rest, **named):
        stock(self, executable, const_args[::-1], *rest, **named)

    with attribute(stages.Compiled, "__init__", init):
        yield


@mutant(
    "the dispatcher in C++ is told nothing, so each call runs Python",
    program="uses_table",
    side="legacy",
    metric="dispatch in C++",
    says="went through Python",
)
def calls_left_in_python():
    with replaced(jax_internals.fastpath_data, lambda *_: None):
        yield


@mutant(
    "a program is planned anew for each call, so that JAX lowers it anew",
    program="uses_table",
    side="simplified",
    metric="recompiles",
    says="1 lowering",
)
def plan_not_remembered():
    def plan_of(pipeline, closed_jaxpr, choices, *, hoist=True):
        embed_threshold = settings.embedded_constants_max_bytes.value
        return pipeline.plan(closed_jaxpr, embed_threshold, hoist, choices)

    # Alone, or the plan would be lowered as the equal one before it, which hides the fault.
    with replaced(engine_lowering.plan_of, plan_of), executable_cache.unshared():
        yield


@mutant(
    "const args are copies of the captured arrays",
    program="uses_table",
    side="simplified",
    metric="const arg buffers",
    says="1 of 1 captured buffer are copied",
)
def const_args_copied():
    stock = const_args._view
    with replaced(stock, lambda c, donatable: stock(jnp.copy(c), donatable)):
        yield


@mutant(
    "an array over several devices is gathered to one",
    program="sharded",
    side="simplified",
    metric="const arg shardings",
    says="1 sharding of captured arrays",
)
def sharding_lost():
    with replaced(jax_internals.uncommitted, lambda value: jax.device_put(value, jax.devices()[0])):
        yield


@mutant(
    "lowering is told nothing of the shardings of const args",
    program="sharded",
    side="simplified",
    metric="output shardings",
)
def sharding_not_lowered():
    stock = lowering._const_types
    with replaced(
        stock,
        lambda *args: [
            each.replace(sharding=None, format=None, committed=False) for each in stock(*args)
        ],
    ):
        yield


@mutant(
    "const args are passed as committed to their device",
    program="uses_table",
    side="simplified",
    metric="output committed",
    says="True against False",
)
def const_arg_committed():
    with replaced(
        jax_internals.uncommitted,
        lambda value: jax.device_put(value, next(iter(value.devices()))),
    ):
        yield


@mutant(
    "a captured array decides on which device a program runs",
    program="on_another_device",
    side="simplified",
    metric="output shardings",
    says="cpu:0 against cpu:1",
)
def device_of_the_captured_array():
    with replaced(jax_internals.uncommitted, lambda value: value):
        yield


@mutant(
    "the program's own jax.jit donates an argument, and the lowering forgets it",
    program="donates",
    side="simplified",
    metric="types of main's arguments",
    says="tensor<77xf32> against tensor<77xf32> donated",
)
def donation_lost():
    stock = jax_internals.const_operands

    def undonated(params, count):
        made = stock(params, count)
        return made | {"donated_invars": (False,) * len(made["donated_invars"])}

    with replaced(stock, undonated):
        yield


@mutant(
    "the program's own jax.jit keeps an argument that is not used, and the lowering drops it",
    program="keeps_unused",
    side="simplified",
    metric="types of main's arguments",
    says="tensor<f32> against tensor<f32>, tensor<f32>",
)
def unused_argument_dropped():
    stock = jax_internals.const_operands

    with replaced(stock, lambda *args: stock(*args) | {"keep_unused": False}):
        yield


@mutant(
    "an export inlines the captured arrays in each other's place",
    program="exported",
    side="simplified",
    metric="export, read back",
    says="other values",
)
def export_with_other_constants():
    stock = PIPELINES["simplified"].PIPELINE.plan

    def plan(closed, embed_threshold, hoist_constants_as_args, *rest):
        if not hoist_constants_as_args:
            lifted = lift(closed)
            closed = jax_internals.replaced(lifted, consts=lifted.consts[::-1])
        return stock(closed, embed_threshold, hoist_constants_as_args, *rest)

    with step("simplified", plan=plan):
        yield


@contextlib.contextmanager
def _body_found_to_be_its_own_partner(make):
    """Compare bodies as if one class were two: a body's partner is noted, and then looked up.

    A program that differs in one param is lowered before, and stays. The tester would lower each
    program alone, so that no count depends on another program; here it shares, as users do.
    """
    stock = program_equality._Comparison.same_body

    def same_body(self, one, other):
        self.other_body.setdefault(id(one), other)
        self.one_body.setdefault(id(other), one)
        return stock(self, one, other)

    fun, args = make(1)
    with (
        attribute(program_equality._Comparison, "same_body", same_body),
        attribute(executable_cache, "unshared", contextlib.nullcontext),
    ):
        before = engine.jit(fun, constants="simplified")
        before(*args)
        yield


@mutant(
    "two programs that differ in a param are one program, because a body is found to be its own "
    "partner",
    program="reversed_rows",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def param_ignored():
    with _body_found_to_be_its_own_partner(mutant_programs.reversed_along):
        yield


@mutant(
    "two programs whose scans differ in a param are one program, because a body is found to be its "
    "own partner",
    program="reversed_rows_in_a_loop",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def param_in_a_body_ignored():
    with _body_found_to_be_its_own_partner(mutant_programs.reversed_in_a_loop):
        yield
