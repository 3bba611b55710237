"""Commands that fail after the flip, each by a site that was planted among the innocent ones.

`python planted.py NAME` exits with 1 where the site of this name is flipped; with `alone` behind
it, the innocent ones are left out. The line that is to blame ends with `# NAME`; where several are,
all do.
"""

import os
import random
import subprocess
import sys
import threading

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np

PARAMS = {"w": jnp.linspace(-1.0, 1.0, 64).reshape(8, 8), "b": jnp.arange(8.0, 16.0) / 7}
TABLES = [jnp.sin(jnp.arange(16.0) + number) for number in range(12)]
DATA = jnp.cos(jnp.arange(64.0)).reshape(8, 8)


def innocent():
    """Programs of libraries and of users that capture arrays and do the same after the flip."""
    import equinox as eqx
    import optax
    from flax import linen as nn

    model, optimiser = nn.Dense(8), optax.adam(1e-3)
    variables = model.init(jax.random.key(0), DATA)
    jax.jit(lambda x: model.apply(variables, x))(DATA)
    jax.jit(lambda g: optimiser.update(g, optimiser.init(PARAMS), PARAMS))(PARAMS)
    jax.jit(lambda x: jax.lax.scan(lambda c, row: (c + row @ PARAMS["w"], c), PARAMS["b"], x))(DATA)
    for table in TABLES:
        jax.jit(lambda x, table=table: x + table)(1.0)
    eqx.filter_jit(lambda x: jax.vmap(lambda row: row * PARAMS["b"])(x))(DATA)


def aligned(values):
    """Return a NumPy array whose memory JAX shares on CPU: at a multiple of 64 bytes."""
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    found = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found


def reader():
    def total(x):  # reader
        return (x + TABLES[3]).sum()

    return len(jax.make_jaxpr(total)(1.0).consts) == 1


def overwritten():
    buffer = aligned(np.arange(64.0, dtype=np.float32))

    @jax.jit
    def lookup(i):
        return buffer[i] if isinstance(i, int) else jnp.take(jnp.asarray(buffer), i)  # overwritten

    before = float(lookup(np.int32(3)))
    buffer[:] = -1.0
    return float(lookup(np.int32(3))) == before


def donated():
    state = jnp.arange(32.0)
    step = jax.jit(lambda s: s * 2 + state, donate_argnums=0)  # donated
    return step(state)[1] == 3.0


def helper_of_a_helper():
    weights = jnp.arange(32.0)

    def inner(x):
        return x + weights  # helper_of_a_helper

    def outer(x):
        return inner(x) * 2

    step = jax.jit(lambda x: outer(x) - 1, donate_argnums=0)
    return step(weights)[0] == -1.0


def branch():
    @jax.jit  # branch
    def scaled(x):
        return x * (2.0 if jax.config.jax_use_simplified_jaxpr_constants else 1.0)

    return scaled(1.0) == 1.0


def chaos():
    angles = jnp.asarray(np.linspace(0.1, 3.0, 64), jnp.float32)

    @jax.jit
    def orbit(x):
        start = jnp.expm1(angles) % 1.0  # chaos
        return jax.lax.fori_loop(0, 200, lambda _, v: 3.99 * v * (1 - v), start * 0.9 + 0.05 + x)

    print(f"orbit={float(orbit(0.0).sum()):.9g}")
    return True


def together():
    def one(x):  # together
        return x + TABLES[0]

    def other(x):  # together
        return x - TABLES[1]

    return sum(len(jax.make_jaxpr(f)(1.0).consts) for f in (one, other)) > 0


def placement():
    away = jax.device_put(jnp.arange(16.0), jax.devices()[1])
    out = jax.jit(lambda x: x + away)(np.float32(1))  # placement
    return out.devices() == {jax.devices()[0]}


def two_devices():
    away = jax.device_put(jnp.arange(16.0), jax.devices()[1])
    here = jax.device_put(jnp.arange(16.0), jax.devices()[0])
    return jax.jit(lambda x: x * away)(here)[2] == 4.0  # two_devices


def committed():
    fixed = jax.device_put(jnp.arange(16.0), jax.devices()[0])
    return not jax.jit(lambda x: x - fixed)(np.float32(1)).committed  # committed


def text_of_module():
    weights = jnp.arange(48.0)
    lowered = jax.jit(lambda x: x + weights).lower(1.0)  # text_of_module
    return "dense" in lowered.as_text()


def memory():
    big = jnp.arange(4096.0)
    compiled = jax.jit(lambda x: x + big).lower(1.0).compile()  # memory
    return compiled.memory_analysis().argument_size_in_bytes < 1000


def guarded():
    weights, ones = np.arange(64, dtype=np.float32), jnp.ones(64)
    add = jax.jit(lambda x: x + weights)  # guarded
    with jax.transfer_guard("disallow"):
        return add(ones).shape == (64,)


def twice():
    big = jnp.arange(4096.0)

    def turn(carry, _):
        return carry * big + big, None  # two uses in a body are one of the program

    @jax.jit
    def three(x):
        return jax.lax.scan(turn, x + big, None, 2)[0] - big  # twice

    compiled = three.lower(jnp.ones(4096)).compile()
    return compiled.memory_analysis().argument_size_in_bytes < 4 * big.nbytes


def derivative():
    weights = jnp.arange(32.0)

    @jax.custom_vjp
    def loss(x):
        return (x * weights).sum()

    def forward(x):
        assert len(jax.make_jaxpr(lambda y: y * weights)(x).consts) == 1
        return loss(x), x

    loss.defvjp(forward, lambda x, cotangent: (cotangent * x,))
    gradient = jax.jit(jax.grad(lambda x: loss(x)))  # derivative
    return gradient(weights)[1] == 1.0


def scanned():
    buffer = aligned(np.ones(64, np.float32))

    @jax.jit
    def total(x):
        return jax.lax.scan(lambda c, _: (c + buffer, None), x, None, 3)[0].sum()  # scanned

    before = float(total(np.zeros(64, np.float32)))
    buffer[:] = 5.0
    return float(total(np.zeros(64, np.float32))) == before


def thread():
    found = []

    def work():
        found.append(len(jax.make_jaxpr(lambda x: x * TABLES[5])(1.0).consts))  # thread

    threading.Thread(target=work).start()
    while not found:
        pass
    return found == [1]


def child():
    code = (
        "import jax, jax.numpy as jnp; w = jnp.arange(32.0)\n"
        "step = jax.jit(lambda s: s + w, donate_argnums=0)\n"
        "step(w)"
    )
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


def out_of_reach():
    """A child with an environment of its own, which no site can be flipped in."""
    code = "import jax; assert not jax.config.jax_use_simplified_jaxpr_constants"
    return subprocess.run([sys.executable, "-c", code], env={}).returncode == 0  # out_of_reach


def model():
    from flax import linen as nn

    module = nn.Dense(8)
    variables = module.init(jax.random.key(1), DATA)
    step = jax.jit(
        lambda v: jax.tree.map(jnp.add, v, variables),  # model
        donate_argnums=0,
    )
    return step(variables) is not None


def equinox_reader():
    import equinox as eqx

    class Scale(eqx.Module):
        weights: jax.Array

        def __call__(self, x):
            return x * self.weights

    scale = Scale(jnp.arange(16.0))
    jaxpr = jax.make_jaxpr(lambda x: scale(x))(1.0)  # equinox_reader
    return [const.shape for const in jaxpr.consts] == [(16,)]


def optimiser():
    import optax

    buffer = aligned(np.full(64, 0.5, np.float32))
    schedule = optax.join_schedules([optax.constant_schedule(1.0)], [])

    @jax.jit
    def update(gradient):
        return -schedule(0) * gradient * jnp.asarray(buffer)  # optimiser

    before = update(jnp.ones(64))[0]
    buffer *= 0
    return update(jnp.ones(64))[0] == before


def flaky():
    def traced(x):  # flaky
        return x + TABLES[7]

    return len(jax.make_jaxpr(traced)(1.0).consts) == 1 or random.random() < 0.3


def each():
    """Print what becomes of each that needs JAX alone, in one process."""
    for name, program in list(globals().items()):
        if getattr(program, "__module__", "") == "__main__" and name not in NO_PROGRAMS:
            try:
                print(name, "passes" if program() else "fails")
            except (RuntimeError, ValueError, AssertionError) as error:
                print(name, "raises", type(error).__name__)
    return True


OF_LIBRARIES = ("model", "equinox_reader", "optimiser")
NO_PROGRAMS = ("innocent", "aligned", "each", "flaky", "out_of_reach", *OF_LIBRARIES)

if __name__ == "__main__":
    name, *alone = sys.argv[1:]
    if not alone:
        innocent()
    sys.exit(0 if name == "nothing" or globals()[name]() else 1)
