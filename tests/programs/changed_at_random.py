"""Programs that are called twice, and whose captured array or settings change before a call.

What changes and when, how the array is captured and how it is called is random. Run as a script,
it prints what stock JAX makes of each, as `placed_at_random` does.
"""

import contextlib
import random
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from placed_at_random import print_outcomes

X = jnp.arange(64.0)
SHAPE = jax.ShapeDtypeStruct(X.shape, X.dtype)


def aligned():
    """An array that stock simplified on a CPU takes without a copy."""
    memory = np.zeros(64 * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + 64 * 4].view(np.float32)
    array[:] = np.arange(64) + 1
    return array


def read_only_view(array):
    view = array.view()
    view.flags.writeable = False
    return view


# What is captured, of an array that somebody may write to.
CAPTURED = {
    "writeable": lambda array: array,
    "writeable_by_another": read_only_view,
    "read_only": lambda array: np.frombuffer(array.tobytes(), np.float32),
    "of_jax": jnp.array,
    "sharing_memory": jax.device_put,
}


def calls_python(x, t):
    return jax.pure_callback(lambda x: np.array(x), SHAPE, x) * t


def tells_python(x, t):
    jax.debug.callback(lambda x: None, x)
    return x * t


def converts_closure(x, t):
    converted, hoisted = jax.closure_convert(lambda y: y * t, x)
    return converted(x, *hoisted)


FUNCTIONS = {
    "multiplies": lambda x, t: x * t,
    "returns": lambda x, t: (x, t),
    "calls_python": calls_python,
    "tells_python": tells_python,
    "calls_jit": lambda x, t: jax.jit(lambda y: y * t + 1)(x),
    "branches": lambda x, t: jax.lax.cond(x[0] < 1, lambda y: y * t, lambda y: y, x),
    "loops": lambda x, t: jax.lax.scan(lambda c, _: (c * t, None), x, None, 2)[0],
    "checkpoints": lambda x, t: jax.grad(lambda y: jax.checkpoint(jnp.sin)(y * t).sum())(x),
    "converts_closure": converts_closure,
    "adds_to_reference": lambda x, t: jax.freeze(jax.new_ref(x * t)),
}


def lowered_and_called(function):
    jitted = jax.jit(function)
    jitted.lower(X)
    return jitted


WAYS = {
    "called": jax.jit,
    "called_again_jitted": lambda f: lambda x: jax.jit(f)(x),
    "lowered_and_called": lowered_and_called,
    "stage_called": lambda f: jax.jit(f).lower(X).compile(),
}


class Changes(NamedTuple):
    """What is captured, how it is read and called, and what changes before which call."""

    captured: str
    function: str
    way: str
    change: str
    before: str

    @property
    def name(self):
        return "__".join(self)

    def results(self):
        """Return what two calls return."""
        array = aligned()
        captured = CAPTURED[self.captured](array)

        def function(x):
            return FUNCTIONS[self.function](x, captured)

        function.__name__ = self.name
        called = WAYS[self.way](function)
        results = []
        for number in ("first", "second"):
            with contextlib.ExitStack() as stack:
                if number == self.before:
                    CHANGES[self.change](stack, array, captured)
                results.append(called(X))
        return jax.tree.leaves(results)


def writes(stack, array, captured):
    array[:] = 7


def deletes(stack, array, captured):
    if isinstance(captured, jax.Array):
        captured.delete()


def donates(stack, array, captured):
    jax.jit(lambda y: y + 1, donate_argnums=0)(captured)


def guards(stack, array, captured):
    stack.enter_context(jax.transfer_guard_host_to_device("disallow"))


def clears(stack, array, captured):
    jax.clear_caches()


CHANGES = {
    "nothing": lambda *_: None,
    **{each.__name__: each for each in (writes, deletes, donates, guards, clears)},
}


def programs(count, seed=0):
    """Return different programs, the same ones for the same seed."""
    draw = random.Random(seed)
    parts = CAPTURED, FUNCTIONS, WAYS, CHANGES, ("first", "second")
    found = {}
    while len(found) < count:
        made = Changes(*(draw.choice([*each]) for each in parts))
        found[made.name] = made
    return list(found.values())


if __name__ == "__main__":
    print_outcomes(programs(int(sys.argv[1])))
