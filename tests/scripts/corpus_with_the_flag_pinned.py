"""Print what both pipelines make of the built-in corpus, where JAX's flag is pinned to a value.

Arguments: the pin, "left alone", "True" or "False"; what makes the form of a program, "hook",
"passes alone" or "neither"; and the number of the part of the corpus, as in "0/2".

A pin is a flag that nobody can set: JAX reads it, when it is imported, traces and lowers, and
`tried` in the output counts who wanted to set it. With "passes alone" the tracer emits the form
that the flag says, on both sides, and only the pipelines' passes make a side of it. "neither" is
the planted fault.
"""

import contextlib
import hashlib
import json
import os
import re
import sys

pin, how, part = sys.argv[1:]
if pin != "left alone":
    os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] = pin

import jax  # noqa: E402
from jax._src import config, core  # noqa: E402, TID251 - where JAX reads its flag

import engine  # noqa: E402
from engine.ir import lifting  # noqa: E402
from parity_tests import targets  # noqa: E402
from parity_tests.evidence import values  # noqa: E402
from parity_tests.jaxpr import counts  # noqa: E402
from parity_tests.observe import stablehlo  # noqa: E402
from parity_tests.program import Program  # noqa: E402
from simplified_consts import tracing  # noqa: E402


class Pinned:
    """A flag with one value, for good."""

    def __init__(self, value):
        self.value = value
        self.tried = 0

    def __call__(self, _):
        self.tried += 1
        return contextlib.nullcontext()


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+|\b\d{9,}\b", "ADDRESS", text)


def bits(tree):
    leaves = [values.to_host("", leaf)[1].array for leaf in jax.tree.leaves(tree)]
    return digest(repr([(each.shape, str(each.dtype), each.tobytes()) for each in leaves]))


def made(program, side):
    own = program.build_with_jit()
    jitted = engine.jit(own.fun, constants=side, **own.options)
    args, kwargs = own.fresh()
    traced = jitted.trace(*args, **kwargs)
    lowered = traced.lower()
    facts = counts.count(traced.jaxpr, embed_threshold=32)
    counters = facts.equations, facts.constvars, facts.array_literals, facts.digest_of_captured()
    module = stablehlo.count(lowered.compiler_ir(), embed_threshold=32)
    printed = without_addresses(str(traced.jaxpr))
    text = without_addresses(lowered.as_text())
    return {
        "printed jaxpr": digest(printed),
        "StableHLO": digest(text),
        "counters": [*counters, len(lowered.const_args), digest(repr(module))],
        "results": bits(jitted(*args, **kwargs)),
        **({"texts": (printed, text)} if os.environ.get("CONSTPARITY_TEST_TEXTS") else {}),
    }


if how != "hook":
    core.is_literalable = core.is_literalable.__wrapped__
if how == "neither":
    lifting._holds = lambda *_: False
    tracing.bodies_in = lambda _: ()
flag = config.use_simplified_jaxpr_constants
if pin != "left alone":
    flag = config.use_simplified_jaxpr_constants = Pinned(pin == "True")

number, parts = map(int, part.split("/"))
rows = {}
for program in [p for p in targets.load(()) if isinstance(p, Program)][number::parts]:
    for side in ("legacy", "simplified"):
        try:
            rows[f"{program.name}, {side}"] = made(program, side)
        except Exception as error:  # noqa: BLE001 - it is compared, too
            rows[f"{program.name}, {side}"] = {"error": f"{type(error).__name__}: {error}"[:300]}
json.dump({"rows": rows, "tried": getattr(flag, "tried", None)}, sys.stdout)
