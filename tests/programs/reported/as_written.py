"""Programs that are not one jitted function: what their Python does around their jits counts."""

import os
import types

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

X = jnp.ones(64)
ON_HOST = np.arange(64, dtype=np.float32)


def aligned(value, *, beside=0):
    """Return a NumPy array whose memory stock JAX may compute in: it is 64-byte aligned.

    It is not, so many bytes `beside`.
    """
    memory = np.empty(64 * 4 + 64 + beside, np.uint8)
    start = -memory.ctypes.data % 64 + beside
    array = memory[start : start + 64 * 4].view(np.float32)
    array[:] = value
    return array


def counting(offset, add):
    """Return a step that writes into an array when it is called, and not while it is traced."""

    def step(x):
        y = jax.block_until_ready(add(x))
        if not isinstance(x, jax.core.Tracer):
            jax.effects_barrier()
            offset[:] += 1
        return y

    return step


@program
def writes_between_calls():
    offset = aligned(1.0)
    return counting(offset, jax.jit(lambda x: x + offset)), (X,)


@program
def written_after_a_warm_up():
    offset = aligned(1.0)
    add = jax.jit(lambda x: x + offset)
    add(X).block_until_ready()
    offset[:] = 5.0
    return add, (X,)


@program
def written_after_a_warm_up_in_memory_that_is_copied():
    """Both forms keep what the array held, in this run: where NumPy puts an array is chance."""
    offset = aligned(1.0, beside=4)
    add = jax.jit(lambda x: x + offset)
    add(X).block_until_ready()
    offset[:] = 5.0
    return add, (X,)


@program
def donates_what_another_captured():
    first = jnp.arange(64.0)
    state = {"weights": first}
    baseline = jax.jit(lambda x: x @ first)
    update = jax.jit(lambda w: w * 1.5, donate_argnums=0)

    def step(x):
        y = baseline(x)
        if not isinstance(x, jax.core.Tracer):
            state["weights"] = update(state["weights"])
        return y

    return step, (X,)


@program
def donates_its_argument():
    """As train steps do: each call is given arguments that no call before has consumed."""
    weights = jnp.arange(64.0)
    update = jax.jit(lambda s, x: s * 0.5 + x * weights, donate_argnums=0)
    return lambda s, x: update(s, x), (jnp.ones(64), X)


@program
def donates_what_it_is_passed_twice():
    """XLA refuses it in both forms; a call with a copy of the donated argument works."""
    state = jnp.arange(64.0)
    return jax.jit(lambda s, x: s * 0.5 + x, donate_argnums=0), (state, state)


@program
def donates_what_an_alias_passes_too():
    state = jnp.arange(64.0)
    alias = jax.device_put(state, jax.devices()[0])
    return jax.jit(lambda s, x: s["w"] + x, donate_argnums=0), ({"w": state}, alias)


@program
def is_passed_an_array_twice_and_donates_another():
    state = jnp.arange(64.0)
    return jax.jit(lambda s, x, y: s + x + y, donate_argnums=0), (jnp.ones(64), state, state)


@program
def hands_an_alias_to_a_donating_jit():
    weights = jnp.arange(64.0)
    add = jax.jit(lambda w, x: w + x * weights, donate_argnums=0)
    return lambda x: add(jax.device_put(weights), x), (X,)


@program
def holds_a_guard():
    scale = jax.jit(lambda x: x * ON_HOST)

    def step(x):
        with jax.transfer_guard("disallow"):
            return scale(x)

    return step, (X,)


@program
def puts_its_result_somewhere():
    """Within the tester's jit the result is committed after the flip alone."""
    weights = jax.device_put(X, jax.devices()[0])
    scale = jax.jit(lambda x: x * weights)
    return lambda x: jax.device_put(scale(x), jax.devices()[0]), (X,)


@program
def gives_a_number():
    weights = jnp.arange(64.0)
    dot = jax.jit(lambda x: x @ weights)
    return lambda x: float(dot(x)), (X,)


@program
def counts_its_calls():
    """Gives another result at each call, alike in both forms."""
    weights, calls = jnp.arange(64.0), []
    scale = jax.jit(lambda x, n: x * weights + n)

    def step(x):
        calls.append(None)
        return scale(x, len(calls))

    return step, (X,)


@program
def draws_at_each_call():
    """Does not repeat itself, and is not traced otherwise: the numbers are arguments of its jit."""
    weights = jnp.arange(64.0)
    scale = jax.jit(lambda x, n: x * weights + n)
    return lambda x: scale(x, float(np.random.default_rng().integers(2**40))), (X,)


CALIBRATED: set[str] = set()
STATUS = types.SimpleNamespace(ready=False)


def once(is_done, done):
    """Return a step whose first trace uses up what happens once, so later calls do not do it."""
    weights = jnp.arange(64.0)
    scale = jax.jit(lambda x: x * weights)
    consume = jax.jit(lambda w: w + 1, donate_argnums=0)

    def step(x):
        y = scale(x)
        if not is_done():
            done()
            consume(weights)
        return y

    return step, (X,)


@program
def calibrates_once_by_a_set():
    return once(lambda: CALIBRATED, lambda: CALIBRATED.add("weights"))


@program
def calibrates_once_by_an_attribute():
    return once(lambda: STATUS.ready, lambda: setattr(STATUS, "ready", True))


@program
def calibrates_once_by_the_environment():
    done = {"CALIBRATED_WEIGHTS": "1"}
    return once(lambda: "CALIBRATED_WEIGHTS" in os.environ, lambda: os.environ.update(done))


@program
def prints_what_it_has_written():
    total = aligned(1.0)
    show = jax.jit(lambda x: (jax.debug.print("total {}", jnp.sum(total)), x + 1)[1])
    return counting(total, show), (X,)


@program
def writes_less_than_a_rounding():
    rate = aligned(1e-7)
    shift = jax.jit(lambda x: x + rate)

    def step(x):
        y = jax.block_until_ready(shift(x))
        if not isinstance(x, jax.core.Tracer):
            rate[:] = 0.0
        return y

    return step, (X,)


@program
def pmapped_and_written():
    offset = aligned(1.0)
    return counting(offset, jax.pmap(lambda x: x + offset)), (X[None],)


@program
def gives_an_object():
    weights = jnp.arange(64.0)
    dot = jax.jit(lambda x: x @ weights)
    return lambda x: np.array([dot(x) is not None, "a", None], object), (X,)


@program
def writes_where_memory_may_be_shared():
    """Its array is where NumPy puts it: stock simplified computes with its memory in some runs."""
    offset = np.ones(64, np.float32)
    add = jax.jit(lambda x: x + offset)

    def step(x):
        y = jax.block_until_ready(add(x))
        offset[:] = 5.0
        return y + add(x)

    return step, (X,)


@program
def fills_a_buffer_that_it_passes():
    """Its buffer is an argument of its jit, and captured by the tester's alone."""
    buffer, add = aligned(0.0), jax.jit(lambda x, y: x + y)

    def step(x):
        buffer[:] += 1
        return jax.block_until_ready(add(x, buffer))

    return step, (X,)


@program
def writes_and_traces_anew():
    """Each call has a jit of its own, which captures what the array holds then."""
    offset = aligned(1.0)

    def step(x):
        y = jax.block_until_ready(jax.jit(lambda x: x + offset)(x))
        offset[:] += 1
        return y

    return step, (X,)


@program
def sets_another_array():
    """Nothing is written into an array: the attribute is another one after each call."""

    class Model:
        def __init__(self):
            self.weights, self.version = aligned(1.0), 0
            self.scale = jax.jit(lambda version, x: x * self.weights, static_argnums=0)

        def __call__(self, x):
            y = jax.block_until_ready(self.scale(self.version, x))
            self.weights, self.version = self.weights * 2, self.version + 1
            return y

    return Model(), (X,)


@program
def writes_into_an_array_that_is_copied():
    """JAX copies a strided array before it computes with it."""
    offset = np.ones(128, np.float32)[::2]
    return counting(offset, jax.jit(lambda x: x + offset)), (X,)


@program
def works_once():
    """Its second call is of another type, so it is traced again, without the array it captured."""
    first = jnp.arange(64.0)
    state = {"weights": first}
    distance = jax.jit(lambda w: jnp.sum((w - first) ** 2))
    narrow = jax.jit(lambda w: w.astype(jnp.bfloat16), donate_argnums=0)

    def step():
        y = distance(state["weights"])
        if not isinstance(y, jax.core.Tracer):
            state["weights"] = narrow(state["weights"])
            first.delete()
        return y

    return step, ()


@program
def alternates_the_width():
    """JAX cannot lower what the trace of the first call has kept of the array, under 64 bits."""
    table, calls = np.arange(64) * 0.1, []
    scale = jax.jit(lambda x: x * table)

    def step(x):
        calls.append(None)
        with jax.enable_x64(len(calls) % 2 == 0):
            return scale(x)

    return step, (X,)


@program
def names_an_object_when_it_fails():
    calls = []
    scale = jax.jit(lambda x: x * 2)

    def step(x):
        calls.append(None)
        if len(calls) > 2 and not isinstance(x, jax.core.Tracer):
            raise RuntimeError(f"closed: {object()}")
        return scale(x)

    return step, (X,)


@program
def fails_with_an_object_in_its_message():
    def refuses(x):
        raise RuntimeError(f"closed: {object()}")

    scale = jax.jit(lambda x: x * 2)
    return lambda x: refuses(scale(x)), (X,)


@program
def writes_into_what_an_inlined_jit_captured():
    """JAX inlines its jit into the trace of the tester, and not into the calls of its user."""
    offset = np.ones(64, np.float32)
    add = jax.jit(lambda x: x + offset, inline=True)

    def step(x):
        y = jax.block_until_ready(add(x)) * 2
        offset[:] += 1
        return y

    return step, (X,)


@program
def writes_into_an_array_that_came_later():
    """What it captured is not the array that it held when it was built."""
    held = {"offset": np.zeros(64, np.float32)}
    scale = jax.jit(lambda x: x * held["offset"])

    def step(x):
        if not held["offset"].any():
            held["offset"] = np.arange(1, 65, dtype=np.float32)
        y = jax.block_until_ready(scale(x))
        held["offset"][:] += 1
        return y

    return step, (X,)
