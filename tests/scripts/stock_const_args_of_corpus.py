"""Lower programs of the corpus on stock simplified; print where our reading of them is not JAX's.

A line for each program with another number of const args than expected, and for each primitive with
bodies of which nothing is known.
"""

import importlib
import json
import sys

import jax

from parity_tests import targets
from parity_tests.jaxpr.bodies import bodies_of, inner, structure_of
from parity_tests.jaxpr.captured_uses import stock_const_args
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.observe import stablehlo
from parity_tests.observe.jit_on_side import stock_embed_threshold

unknown, apart = set(), {}


def walk(body):
    for equation in inner(body).eqns:
        found = bodies_of(equation)
        if found and structure_of(equation) is None:
            unknown.add(equation.primitive.name)
        for each in found:
            walk(each.jaxpr)


threshold, programs = stock_embed_threshold(), 0
for module in sys.argv[1:]:
    for name in vars(importlib.import_module(module)):
        target = f"{module}:{name}"
        if targets.mark_of(getattr(sys.modules[module], name)) is None:
            continue
        own = targets.load_one(target).build_with_jit()
        traced = jax.jit(own.fun, **own.options).trace(*own.args, **own.kwargs)
        walk(traced.jaxpr)
        expected = stock_const_args(live_part(traced.jaxpr).jaxpr, embed_threshold=threshold)
        lowered = traced.lower().compiler_ir()
        passed = stablehlo.count(lowered, embed_threshold=threshold).const_args
        programs += 1
        if len(expected) != passed:
            apart[target] = (len(expected), passed)
print(json.dumps({"programs": programs, "apart": apart, "unknown": sorted(unknown)}))
