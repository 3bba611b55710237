"""Pairs of programs: `reported_NAME` is given the advice NAME, and `followed_NAME` follows it."""

import os
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from parity_tests import program

RNG = np.random.default_rng(0)
X = jnp.ones(16)
WEIGHTS = jnp.asarray(RNG.normal(size=(16, 16)), jnp.float32)
FIRST, SECOND = jax.devices()[:2]
MESH = jax.make_mesh((4,), ("x",), (AxisType.Auto,), devices=jax.devices()[:4])
SHARDED = NamedSharding(MESH, PartitionSpec("x"))
REPLICATED = NamedSharding(MESH, PartitionSpec())


def layer(x):
    return jnp.sin(x) * WEIGHTS[0]


def pair(name, reported, followed, args=(X,), followed_args=None):
    """Declare two programs of one advice; each is a function of the module, which `run` finds."""
    for kind, function, given in (
        ("reported", reported, args),
        ("followed", followed, args if followed_args is None else followed_args),
    ):

        def made(*args, function=function):
            return function(*args)

        made.__name__ = made.__qualname__ = f"{kind}_{name}"
        # A jitted function keeps its own options.
        globals()[made.__name__] = program(args=given, name=made.__name__)(
            function if hasattr(function, "lower") else made
        )


# -- costs -----------------------------------------------------------------------------------------

SUMS = jnp.cumsum(WEIGHTS, axis=0)
pair("compute_once", lambda x: jnp.cumsum(WEIGHTS, axis=0) @ x, lambda x: SUMS @ x)

SQUARE = jnp.ones((128, 128))
MASK = np.ones((128, 128), bool)
pair(
    "computes_more",
    lambda x: jnp.where(MASK, x + 1, jnp.tanh(x @ x @ x)),
    lambda x: x + 1 if MASK.all() else jnp.where(MASK, x + 1, jnp.tanh(x @ x @ x)),
    (SQUARE,),
)

NARROW = jnp.asarray(RNG.normal(size=(640, 640)), jnp.bfloat16)
WIDE = NARROW.astype(jnp.float32)
pair("convert_before", lambda x: NARROW @ x, lambda x: WIDE @ x, (jnp.ones(640),))

pair(
    "pass_once",
    lambda x: WEIGHTS @ (WEIGHTS @ x),
    lambda x, weights: weights @ (weights @ x),
    followed_args=(X, WEIGHTS),
)

# -- rounding: XLA multiplies by the reciprocal of a value that it knows ---------------------------

DIVISOR = jnp.asarray(RNG.uniform(1, 3, size=64), jnp.float32)
RECIPROCAL = 1 / DIVISOR
pair("fused_drift", lambda x: x / DIVISOR, lambda x: x * RECIPROCAL, (jnp.linspace(0.1, 1.0, 64),))

# -- placement -------------------------------------------------------------------------------------

COMMITTED = jax.device_put(X, FIRST)
pair(
    "not_committed",
    lambda x: x * COMMITTED,
    lambda x: x * jnp.asarray(np.asarray(COMMITTED)),
)
pair(
    "not_committed_2", lambda x: x * COMMITTED, lambda x: x * COMMITTED, followed_args=(COMMITTED,)
)
ELSEWHERE = jax.device_put(X, SECOND)
MOVED = jax.device_put(ELSEWHERE, FIRST)
pair(
    "same_devices",
    lambda x: x * ELSEWHERE,
    lambda x: x * MOVED,
    (COMMITTED,),
)
pair("same_devices_2", lambda x: x * ELSEWHERE, lambda x: x * np.asarray(ELSEWHERE), (COMMITTED,))
OVER_FOUR = jax.device_put(X, SHARDED)
pair(
    "sharded_outputs",
    lambda x: x * OVER_FOUR,
    jax.jit(lambda x: x * OVER_FOUR, out_shardings=SHARDED),
)
pair(
    "same_mesh",
    lambda x: x * OVER_FOUR,
    jax.jit(lambda x: x * OVER_FOUR, out_shardings=SHARDED),
    (COMMITTED,),
    (jax.device_put(X, REPLICATED),),
)

# -- captured arrays that change or go -------------------------------------------------------------

WRITEABLE = np.ones(16, np.float32)
COPIED = WRITEABLE.copy()
COPIED.flags.writeable = False
pair("capture_a_copy", lambda x: x * WRITEABLE, lambda x: x * COPIED)
ON_DEVICE = jnp.array(WRITEABLE)
pair("capture_a_copy_2", lambda x: x * WRITEABLE, lambda x: x * ON_DEVICE)
STATE = jnp.ones(16)
COPY = jnp.array(STATE)
pair(
    "donated",
    jax.jit(lambda x: x + STATE, donate_argnums=0),
    jax.jit(lambda x: x + COPY, donate_argnums=0),
    (STATE,),
)
pair(
    "donated_2",
    jax.jit(lambda x: x + STATE, donate_argnums=0),
    jax.jit(lambda x: x + STATE),
    (STATE,),
)

# -- what Python does around a jit -----------------------------------------------------------------

ON_HOST = np.arange(16, dtype=np.float32)
ON_DEVICE = jax.device_put(ON_HOST)


def guarded(jitted):
    def step(x):
        with jax.transfer_guard("disallow"):
            return jitted(x)

    return step


pair(
    "on_the_device",
    guarded(jax.jit(lambda x: x * ON_HOST)),
    guarded(jax.jit(lambda x: x * ON_DEVICE)),
)


def trained(*, copies):
    """Return a step that compares with its first weights, and donates these to an update."""
    state = {"weights": jnp.arange(16.0) + 1}
    first = jnp.array(state["weights"]) if copies else state["weights"]
    baseline = jax.jit(lambda x: x * first)
    update = jax.jit(lambda w: w * 1.5, donate_argnums=0)

    def step(x):
        y = baseline(x)
        if not isinstance(x, jax.core.Tracer):
            state["weights"] = update(state["weights"])
        return y

    return step


pair("between_calls", trained(copies=False), trained(copies=True))

# -- reads of jaxprs, the flag, and modules --------------------------------------------------------


def evaluated(x):
    closed = jax.make_jaxpr(layer)(x)
    return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0]


def looped(x):
    """A loop that captures an array, and its body, whose leading inputs are captured in legacy."""
    closed = jax.make_jaxpr(
        lambda y: lax.while_loop(lambda c: c[0] < 3, lambda c: WEIGHTS @ c + 1, y)
    )(x)
    [loop] = [each for each in closed.jaxpr.eqns if each.primitive.name == "while"]
    body = loop.params["body_jaxpr"]
    return loop, getattr(body, "jaxpr", body)


def carry_by_place(x):
    return x * looped(x)[1].invars[0].aval.ndim


def carry_by_numbers(x):
    body = looped(x)[1]
    return x * body.invars[len(body.invars) - len(body.outvars)].aval.ndim


def operands_as_variables(x):
    closed = jax.make_jaxpr(lambda y: lax.sin(y) * STATE)(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, (x,), strict=True))
    for each in closed.jaxpr.eqns:
        values[each.outvars[0]] = each.primitive.bind(*map(values.get, each.invars), **each.params)
    return values[closed.jaxpr.outvars[0]]


def value_of(values, atom):
    return atom.val if hasattr(atom, "val") else values[atom]


def operands_from_literals(x):
    closed = jax.make_jaxpr(lambda y: lax.sin(y) * STATE)(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, (x,), strict=True))
    for each in closed.jaxpr.eqns:
        operands = [value_of(values, atom) for atom in each.invars]
        values[each.outvars[0]] = each.primitive.bind(*operands, **each.params)
    return value_of(values, closed.jaxpr.outvars[0])


def scaled_by_numpy(x, literal):
    closed = jax.make_jaxpr(lambda y: y * STATE)(x)
    values = {v: np.asarray(c) for v, c in zip(closed.jaxpr.constvars, closed.consts, strict=True)}
    operands = closed.eqns[0].invars
    tables = [literal(v.val) if hasattr(v, "val") else values.get(v) for v in operands]
    return x * sum(each.sum() for each in tables if isinstance(each, np.ndarray))


def output_as_variable(x):
    closed = jax.make_jaxpr(lambda y: (STATE, y))(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    return x * values[closed.jaxpr.outvars[0]]


def output_from_literal(x):
    closed = jax.make_jaxpr(lambda y: (STATE, y))(x)
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    return x * value_of(values, closed.jaxpr.outvars[0])


def arrays_by_params(x):
    return x * (1 + looped(x)[0].params["body_nconsts"])


def literal_arrays(jaxpr):
    atoms = [atom for each in jaxpr.eqns for atom in each.invars]
    return [atom for atom in atoms if hasattr(atom, "val") and np.ndim(atom.val)]


def arrays_by_params_and_literals(x):
    loop, body = looped(x)
    return x * (1 + loop.params["body_nconsts"] + len(literal_arrays(body)))


def by_equations(x):
    def branch(y):
        return lax.cond(y > 0, lambda: y * WEIGHTS.sum(), lambda: y)

    return x * len(jax.make_jaxpr(jax.vmap(branch))(x).jaxpr.eqns)


def by_text(x):
    return x * len(str(jax.make_jaxpr(layer)(x)).splitlines()[0])


def by_equations_and_literals(x):
    closed = jax.make_jaxpr(layer)(x)
    return x * (len(closed.consts) + len(literal_arrays(closed.jaxpr)))


def by_module(x):
    return x * jax.jit(layer).lower(x).as_text().count("jax.const")


def by_module_in_both_forms(x):
    text = jax.jit(layer).lower(x).as_text()
    arrays = re.findall(r"stablehlo.constant dense<.*tensor<16x|jax.const", text)
    return x * bool(arrays)


def by_flag(x):
    return x * (3 if jax.config.jax_use_simplified_jaxpr_constants else 2)


def by_environment(x):
    copied = dict(os.environ)
    return x * (3 if copied.get("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS") == "1" else 2)


pair("evaluate", lambda x: x + jax.make_jaxpr(layer)(x).consts[0].sum(), evaluated)
pair("invars", carry_by_place, carry_by_numbers)
pair("outvars", output_as_variable, output_from_literal)
pair("operands", operands_as_variables, operands_from_literals)
pair(
    "operands_2",
    lambda x: scaled_by_numpy(x, lambda value: value),
    lambda x: scaled_by_numpy(x, np.asarray),
)
pair("params", arrays_by_params, arrays_by_params_and_literals)
pair("equations", by_equations, lambda x: x * 2)
pair("text", by_text, by_equations_and_literals)
pair("module", by_module, by_module_in_both_forms)
pair("flag", by_flag, lambda x, option=True: x * (3 if option else 2))
pair("environment", by_environment, lambda x: x * 2)

# -- an array as a parameter of an operation, which simplified does not see ------------------------


class ByIdentity:
    """An array that can be hashed."""

    def __init__(self, array):
        self.array = array


scaled_p = core.Primitive("scaled")
scaled_p.def_abstract_eval(lambda x, *, table: x)
mlir.register_lowering(
    scaled_p,
    lambda context, x, *, table: [stablehlo.multiply(x, mlir.ir_constant(table.array))],
)
TABLE = np.linspace(0.5, 1.5, 16, dtype=np.float32)
TABLE.flags.writeable = False
FLIPPED = os.environ.get("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS") == "1"
pair(
    "pass_as_argument",
    lambda x: scaled_p.bind(x, table=ByIdentity(TABLE)) if FLIPPED else x * TABLE,
    lambda x, table: x * table,
    followed_args=(X, TABLE),
)


def where_positive(x, table):
    """A branch that vmap takes for each row: in legacy it repeats a captured array for each."""
    return jax.vmap(
        lambda row: lax.cond(row > 0, lambda: row + jnp.sort(table), lambda: 0 * table)
    )(x)


pair(
    "agrees_here",
    lambda x: where_positive(x, TABLE),
    where_positive,
    followed_args=(X, TABLE),
)


def called_back(value):
    """A callback, which may read what it likes."""
    return lambda x: TABLE + jax.pure_callback(value, jax.typeof(X), X) + x


pair(
    "undecided",
    called_back(lambda x: x * eval("2")),
    called_back(lambda x: x * 2),
)


WAVE = jnp.asarray(RNG.normal(size=4096), jnp.float32)
pair(
    "other_arguments",
    lambda x: 2 * x,
    lambda x: 2 * x,
    (jax.jit(lambda: jnp.sin(100 * WAVE))(),),
    (np.sin(100 * np.asarray(WAVE)),),
)
