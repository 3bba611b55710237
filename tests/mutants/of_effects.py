"""Mutants of effects and of later calls: how often, with which values, in which order."""

import jax.numpy as jnp
from planting import PIPELINES, attribute, mutant, replaced, step

from engine.ir.jaxprs import ClosedJaxpr
from engine.runtime import execution as engine_execution
from simplified_consts import const_args
from simplified_consts.hoisting.closure_conversion import Conversion


@mutant(
    "the first call runs the executable twice, as if to warm it up",
    program="with_an_effect",
    side="simplified",
    metric="effects",
    says="2 times against 1 time",
)
def program_run_twice():
    stock = engine_execution.run

    def run(*args, **kwargs):
        stock(*args, **kwargs)
        return stock(*args, **kwargs)

    with replaced(stock, run):
        yield


@mutant(
    "two const args of equal type are swapped, and a callback alone tells them apart",
    program="told_one_of_two",
    side="simplified",
    metric="values of effects",
    says="is given other values",
)
def callback_given_another_array():
    stock = const_args.const_args
    with step("simplified", const_args=lambda plan, request: stock(plan, request)[::-1]):
        yield


@mutant(
    "ordered effects are lowered in the other order",
    program="two_ordered_effects",
    side="simplified",
    metric="effects",
    says="ordered effects are",
)
def ordered_effects_in_the_other_order():
    stock = PIPELINES["simplified"].PIPELINE.plan

    def plan(closed, *rest):
        effects = iter([eqn for eqn in closed.jaxpr.eqns if eqn.effects][::-1])
        eqns = [next(effects) if eqn.effects else eqn for eqn in closed.jaxpr.eqns]
        return stock(ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts), *rest)

    with step("simplified", plan=plan):
        yield


@mutant(
    "a branch loses its print when it gets its constants as operands",
    program="print_in_a_branch",
    side="simplified",
    metric="effects",
    says="0 times against 1 time",
)
def print_lost():
    stock = Conversion.body

    def body(self, one, constants):
        done = stock(self, one, constants)
        eqns = [eqn for eqn in done.eqns if eqn.primitive.name != "debug_print"]
        return ClosedJaxpr(done.jaxpr.replace(eqns=eqns), done.consts)

    with attribute(Conversion, "body", body):
        yield


@mutant(
    "from the fourth call in Python on, const args are passed in another order",
    program="two_tables_and_an_effect",
    side="simplified",
    metric="calls agree",
    says="call 5 of simplified",
)
def fifth_call_with_other_const_args():
    stock, calls = engine_execution._placed_before, []

    def placed_before(*args):
        calls.append(None)
        found = stock(*args)
        return found[::-1] if found and len(calls) >= 4 else found

    with replaced(stock, placed_before):
        yield


@mutant(
    "each call in Python passes copies of the const args, and keeps them",
    program="slow_callback",
    side="simplified",
    metric="calls leave nothing",
    says="1 array on devices, of 308 B",
)
def const_args_kept_by_each_call():
    stock, kept = engine_execution._placed_before, []

    def placed_before(executable, const_args, plan):
        kept.append([jnp.copy(each) for each in const_args])
        return kept[-1]

    with replaced(stock, placed_before):
        yield
