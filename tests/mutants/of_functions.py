"""Mutants of the way of constants to functions and bodies, and of the marks on arguments."""

import dataclasses

from planting import attribute, mutant, replaced, rule, step

from engine import jax_internals
from engine.ir import closures
from engine.ir.jaxprs import ClosedJaxpr
from engine.jax_internals import const_marks
from simplified_consts import const_args
from simplified_consts.hoisting.closure_conversion import Conversion


def _shifted(primitive):
    """Hand the constants of a primitive to its bodies one place on."""
    stock = closures._RULES[primitive]

    def shifted(eqn):
        found = stock(eqn)

        def rebuilt(groups):
            return found.rebuilt([(bodies, _one_place_on(operands)) for bodies, operands in groups])

        return dataclasses.replace(found, rebuilt=rebuilt)

    return rule(closures._RULES, primitive, shifted)


def _one_place_on(operands):
    added = [operand for operand in operands if operand.place is None]
    return [*added[1:], *added[:1], *operands[len(added) :]]


@mutant(
    "two const args of equal type are passed in each other's place",
    program="two_tables",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def const_args_swapped():
    stock = const_args.const_args
    with step("simplified", const_args=lambda plan, request: stock(plan, request)[::-1]):
        yield


@mutant(
    "the operands of a scan are shifted by one",
    program="scanned",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def scan_operands_shifted():
    with _shifted("scan"):
        yield


@mutant(
    "the branches of a cond get each other's constants",
    program="branched",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def branches_with_constants_of_each_other():
    with _shifted("cond"):
        yield


@mutant(
    "the constants of the body of a while are shifted by one",
    program="looped",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def while_operands_shifted():
    with _shifted("while"):
        yield


@mutant(
    "the const args of an inner function are passed in another order than it takes them",
    program="inner_function",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def const_args_of_inner_function_shifted():
    with _shifted("jit"):
        yield


@mutant(
    "no argument of main is marked jax.const",
    program="uses_table",
    side="simplified",
    metric="proof of the side",
    says="0 const args for 1 captured array",
)
def marks_missing():
    with replaced(const_marks.mark_const_args, lambda *_: None):
        yield


@mutant(
    "the argument after the const arg is marked",
    program="uses_table",
    side="simplified",
    metric="order of main's arguments",
    says="argument, const against const, argument",
)
def mark_on_the_wrong_argument():
    stock = const_marks.mark_const_args
    with replaced(stock, lambda module, count, after: stock(module, count, after - 1)):
        yield


@mutant(
    "tokens are taken for const args, as if const args came before them",
    program="with_a_token",
    side="simplified",
    metric="order of main's arguments",
    says="token and const",
)
def const_args_before_tokens():
    stock = const_marks.mark_const_args
    with replaced(stock, lambda module, count, after: stock(module, count, after + 1)):
        yield


@mutant(
    "the const args of inner functions are not marked",
    program="inner_function",
    side="simplified",
    metric="marks lost",
    says="are not marked as main's are",
)
def marks_missing_in_inner_functions():
    mark = const_marks.mark_const_args

    def marked(module, count, after):
        kept = {
            name: const_marks._argument_attributes(function)
            for name, function in const_marks._functions(module).items()
            if name != "main"
        }
        mark(module, count, after)
        for name, attributes in kept.items():
            function = const_marks._functions(module)[name]
            with module.context:
                function.arg_attrs = const_marks._ir.ArrayAttr.get(attributes)

    with replaced(mark, marked):
        yield


@mutant(
    "an effect that no output depends on is dropped",
    program="with_an_effect",
    side="simplified",
    metric="callbacks",
    says="an effect was lost",
)
def effect_dropped():
    def live_part(closed):
        eqns = [eqn for eqn in closed.jaxpr.eqns if not eqn.effects]
        return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)

    with replaced(jax_internals.live_part, live_part):
        yield


@mutant(
    "captured arrays are donated",
    program="uses_table",
    side="simplified",
    metric="exception",
    says="deleted",
)
def captured_array_donated():
    stock = jax_internals.const_operands

    def donated(params, count):
        made = stock(params, count)
        return made | {"donated_invars": (True,) * count + made["donated_invars"][count:]}

    with replaced(stock, donated):
        yield


@mutant(
    "the order of constants is forgotten between a body and its operands",
    program="scanned",
    side="simplified",
    metric="outputs",
    says="mismatch",
)
def bodies_take_constants_in_another_order():
    stock = Conversion.body

    def body(self, one, constants):
        return stock(self, one, dict(reversed(constants.items())))

    with attribute(Conversion, "body", body):
        yield
