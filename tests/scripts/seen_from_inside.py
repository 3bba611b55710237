"""Print what a function and a lowering rule see of the jit that the argument names, as JSON.

- depths: of the Python stack in a function while it is traced, from the frame of the call on
- hoisting: `hoist_constants_as_args` in the parameters that a primitive's lowering rule reads
- warnings: of large captured constants, by `jax_captured_constants_report_frames`
- arrays: what becomes of a captured array, by who evaluates the function
- flags: what reads of JAX's flag give inside of traces, and what they give outside
"""

import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.config import use_simplified_jaxpr_constants as flag  # noqa: TID251 - users read it
from jax.extend.core import Primitive
from jax.interpreters import mlir

NAME = sys.argv[1]
X, TABLE = np.ones(64, np.float32), np.arange(64, dtype=np.float32)
BIG, BIGGER = jnp.ones(300), np.ones(400, np.float32)


def jit(fun, **options):
    if NAME == "jax.jit":
        return jax.jit(fun, **options)
    import engine  # here: a process of stock JAX has no hooks

    return engine.jit(fun, constants=NAME, **options)


def depth():
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def traced_by(way):
    depths = []

    def fun(x):
        depths.append(depth())
        return x + 1.0

    way(jit(fun))
    return depths[-1] - depth()


def depths():
    return {
        "call": traced_by(lambda jitted: jitted(1.0)),
        "lower": traced_by(lambda jitted: jitted.lower(1.0)),
        "trace": traced_by(lambda jitted: jitted.trace(1.0)),
        "eval_shape": traced_by(lambda jitted: jitted.eval_shape(1.0)),
        "inner call": traced_by(lambda jitted: jit(lambda x: jitted(x))(1.0)),
        "grad": traced_by(lambda jitted: jax.grad(jitted)(1.0)),
        "vmap": traced_by(lambda jitted: jax.vmap(jitted)(jnp.ones(2))),
    }


def hoisting():
    told = []

    def lowering(ctx, x):
        told.append(ctx.module_context.lowering_parameters.hoist_constants_as_args)
        return [x]

    same_p = Primitive("same")
    same_p.def_abstract_eval(lambda aval: aval)
    mlir.register_lowering(same_p, lowering)
    jit(lambda x: same_p.bind(x))(X)
    jit(lambda x: same_p.bind(x + TABLE))(X)
    jit(lambda x: jax.lax.fori_loop(0, 2, lambda _, c: same_p.bind(c * TABLE), x))(X)
    return told


def warned(frames):
    jax.config.update("jax_captured_constants_warn_bytes", 1000)
    jax.config.update("jax_captured_constants_report_frames", frames)

    def fun(x):
        return (x + BIG).sum() * (x - BIGGER).sum()

    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        jit(fun).lower(1.0)
    return [str(warning.message) for warning in record]


def converted(fun):
    closed, consts = jax.closure_convert(fun, X)
    return lambda x: closed(x, *consts)


def evaluated(fun):
    closed_jaxpr = jax.make_jaxpr(fun)(X)
    return lambda x: jax.core.eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, x)[0]


def with_own_vjp(fun):
    own = jax.custom_vjp(fun)
    own.defvjp(lambda x: (fun(x), x), lambda x, cotangent: (fun(x) * cotangent,))
    return own


def of_sum(derivative):
    return lambda fun: derivative(lambda x: fun(x).sum())


def along_itself(fun):
    return lambda x: jax.linearize(fun, x)[1](x)


def rooted(fun):
    return lambda x: jax.lax.custom_root(
        lambda y: y - x, x, lambda _, guess: fun(guess), lambda g, y: y / g(y)
    )


EVALUATED_BY = {
    "nobody else": lambda fun: fun,
    "plain jit": lambda fun: jax.jit(lambda x: fun(x)),
    "checkpoint": jax.checkpoint,
    "checkpoint of an inlined jit": lambda fun: jax.checkpoint(jit(lambda x: fun(x), inline=True)),
    "custom_vmap": jax.custom_batching.sequential_vmap,
    "closure_convert": converted,
    "eval_jaxpr": evaluated,
    "custom_root": rooted,
    "linearize of closure_convert": lambda fun: along_itself(converted(fun)),
    "grad of checkpoint": lambda fun: of_sum(jax.grad)(jax.checkpoint(fun)),
    "vmap of grad of checkpoint": lambda fun: (
        lambda x: jax.vmap(of_sum(jax.grad)(jax.checkpoint(fun)))(x[None])
    ),
    "grad of checkpoint of custom_vjp": lambda fun: of_sum(jax.grad)(
        jax.checkpoint(with_own_vjp(fun))
    ),
}


def becomes(way):
    """Whether the modules that JAX compiles have the captured array inlined or hoisted."""
    fun = way(jit(lambda x: x * TABLE))
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_dump_ir_to", folder)
        fun(X)
        jax.config.update("jax_dump_ir_to", "")
        texts = " ".join(each.read_text() for each in Path(folder).iterdir())
    shape = r"tensor<(1x)?64xf32>"
    patterns = {
        "inlined": rf"dense<[^>]{{99,}}> : {shape}",
        "hoisted": rf"{shape} {{[^}}]*jax.const = true",
    }
    return [name for name, pattern in patterns.items() if re.search(pattern, texts)]


def read():
    name = "jax_use_simplified_jaxpr_constants"
    by_name = getattr(jax.config, name), jax.config._read(name), jax.config.values[name]
    return [*by_name, flag.value]


def flags():
    inside, outside = {}, {"before": read()}

    def note(where, value):
        inside.setdefault(where, read())
        return value

    own = jax.custom_vjp(lambda x: x * TABLE)
    own.defvjp(
        lambda x: note("forward rule", (own(x), x)), lambda x, ct: note("backward rule", (ct,))
    )

    def fun(x):
        jax.debug.callback(lambda _: outside.setdefault("callback", read()), x)
        nested = jit(lambda x: note("nested jit", x + 1))(x)
        looped = jax.lax.fori_loop(0, 2, lambda _, c: note("body of a loop", c * TABLE), nested)
        plain = jax.jit(lambda x: note("nested plain jit", x - 1))(looped)
        return note("function", own(plain).sum())

    jitted = jit(fun)
    jax.block_until_ready(jax.grad(jitted)(X))
    jax.effects_barrier()
    outside["after"] = read()
    jax.jit(lambda x: outside.setdefault("plain jit", read()) and x)(X)
    return inside, outside


found = {
    "depths": depths(),
    "hoisting": hoisting(),
    "arrays": {name: becomes(way) for name, way in EVALUATED_BY.items()},
    "flags": flags(),
    "warnings": {frames: warned(frames) for frames in (0, 1, 3)},
}
print(json.dumps(found))
