"""Programs whose captured array, arguments, jit options, equations and calls are placed at random.

Run as a script, it prints what stock JAX makes of each, as JSON: the bits and places of its
results, or what it raises. Two devices are enough.
"""

import contextlib
import itertools
import json
import random
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

FIRST, SECOND = jax.devices()[:2]
MESH, REVERSED = (Mesh(np.array(each), ("x",)) for each in ([FIRST, SECOND], [SECOND, FIRST]))
EXPLICIT = Mesh(np.array([FIRST, SECOND]), ("x",), axis_types=(AxisType.Explicit,))
PLACES = {
    "first": SingleDeviceSharding(FIRST),
    "second": SingleDeviceSharding(SECOND),
    "replicated": NamedSharding(MESH, PartitionSpec()),
    "sharded": NamedSharding(MESH, PartitionSpec("x")),
    "reversed": NamedSharding(REVERSED, PartitionSpec()),
    "explicit": NamedSharding(EXPLICIT, PartitionSpec()),
    "explicit_sharded": NamedSharding(EXPLICIT, PartitionSpec("x")),
}


def placed(where, start=0):
    values = np.arange(64, dtype=np.float32) + start
    if where == "numpy":
        values.flags.writeable = False
        return values
    return jnp.asarray(values) if where == "uncommitted" else jax.device_put(values, PLACES[where])


def mapped(value):
    spec = PartitionSpec()
    return jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=spec, out_specs=spec)(value)


FUNCTIONS = {
    "multiplies": lambda x, t: x * t,
    "maps": lambda x, t: mapped(x) * t,
    "maps_captured": lambda x, t: x + mapped(t),
    "constrains": lambda x, t: jax.lax.with_sharding_constraint(x * t, PLACES["replicated"]),
    "moves": lambda x, t: jax.device_put(x, PLACES["first"]) * t,
    "moves_to_device": lambda x, t: jax.device_put(x, SECOND) * t,
    "moves_to_memory": lambda x, t: jax.device_put(x, jax.memory.Space.Device) * t,
    "calls_jit": lambda x, t: jax.jit(lambda y: y * t + 1)(x),
    "calls_placed_jit": lambda x, t: jax.jit(jnp.sin, out_shardings=PLACES["second"])(x) * t,
    "branches": lambda x, t: jax.lax.cond(x.max() > 0, lambda y: y * t, lambda y: y, x),
    "loops": lambda x, t: jax.lax.scan(lambda c, _: (c * t, None), x, None, 2)[0],
    "returns": lambda x, t: (t, x + 1),
    "reads_captured_alone": lambda x, t: t + 1,
    "reads_twice": lambda x, t: x * t + jnp.sin(t),
    "reads_in_dead_code": lambda x, t: (x * t, x + 1)[1],
    "returns_nothing": lambda x, t: jax.debug.callback(lambda _: None, x * t),
    "returns_what_is_not_sharded": lambda x, t: (jax.debug.callback(lambda _: None, t), x + 1)[1],
    "maps_over": lambda x, t: jax.vmap(lambda y: y * t.max())(x),
}
OPTIONS = {
    "plain": {},
    "keeps_unused": {"keep_unused": True},
    "donates": {"donate_argnums": 0},
    **{
        f"{end}_{place}": {f"{end}_shardings": PLACES[place]}
        for end, place in itertools.product(("in", "out"), ("first", "second", "replicated"))
    },
    "out_sharded": {"out_shardings": PLACES["sharded"]},
    "for_first": {"device": FIRST},
    "for_second": {"device": SECOND},
}


# What JAX raises where it refuses a program; types that state shardings may not fit.
REFUSED = (ValueError, TypeError, AssertionError, RuntimeError)
CONTEXTS = {
    "alone": contextlib.nullcontext,
    "in_mesh": lambda: jax.set_mesh(MESH),
    "in_explicit_mesh": lambda: jax.set_mesh(EXPLICIT),
    "in_mesh_of_second": lambda: jax.set_mesh(Mesh(np.array([SECOND]), ("x",))),
    "second_is_default": lambda: jax.default_device(SECOND),
}


class Placed(NamedTuple):
    """Where the parts of a program are, by their names above."""

    captured: str
    argument: str
    unread: str
    options: str
    function: str
    context: str

    @property
    def name(self):
        return "__".join(self)

    def build(self):
        """Return a jitted function, and its arguments."""
        captured, argument = placed(self.captured, 1), placed(self.argument)
        options = dict(OPTIONS[self.options])
        if self.options == "donates" and self.argument == self.captured:
            argument = captured
        if "in_shardings" in options:
            options["in_shardings"] = (options["in_shardings"], None)

        def function(x, _):
            return FUNCTIONS[self.function](x, captured)

        function.__name__ = self.name
        return jax.jit(function, **options), (argument, placed(self.unread, 5))

    def results(self):
        """Return what a call in its context returns."""
        jitted, arguments = self.build()
        with CONTEXTS[self.context]():
            return jax.tree.leaves(jitted(*arguments))


def programs(count, seed=0):
    """Return different programs, the same ones for the same seed."""
    draw = random.Random(seed)
    arrays = ("uncommitted", "numpy", *PLACES)
    found = {}
    while len(found) < count:
        context = draw.choice([*CONTEXTS]) if draw.random() < 0.3 else "alone"
        of_parts = map(draw.choice, (arrays, arrays, arrays, [*OPTIONS], [*FUNCTIONS]))
        made = Placed(*of_parts, context)
        # jaxlib 0.10.2 may crash where an array on two devices is donated and captured.
        if made.options != "donates" or made.argument in (
            "uncommitted",
            "numpy",
            "first",
            "second",
        ):
            found[made.name] = made
    return list(found.values())


def _parts(array):
    """Which part of an array is on which device; one sharding may be written in several ways."""
    return str(array.sharding.devices_indices_map(array.shape))


def outcome(program):
    """Return the bits and the place of each result of a program, or what it raises."""
    try:
        return [
            (np.asarray(each).tobytes().hex(), _parts(each) if each.committed else "")
            for each in program.results()
        ]
    except REFUSED as error:
        return type(error).__name__


def print_outcomes(made):
    """Print the outcome of each program, by its name."""
    print(json.dumps({each.name: outcome(each) for each in made}))


if __name__ == "__main__":
    print_outcomes(programs(int(sys.argv[1])))
