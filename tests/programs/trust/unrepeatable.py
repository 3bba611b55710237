"""Programs that do not repeat themselves, each for another reason, and programs that do."""

import os
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
# A file that the first failure makes; without a name for it, nothing fails.
MARK = Path(os.environ.get("CONSTPARITY_TEST_MARK", os.devnull))
X = np.ones(64, np.float32)
UNSEEDED = np.random.rand(64).astype(np.float32)
SEEDED = np.random.default_rng(0).random(64, np.float32)
BEFORE = []


@program(args=(X,))
def unseeded_at_import(x):
    return x * UNSEEDED


@program
def unseeded_in_the_factory():
    noise = np.random.normal(size=64).astype(np.float32)
    return (lambda x: x + noise), (X,)


@program
def unseeded_argument():
    return (lambda x, scale: x * scale["by"]), (X, {"by": np.random.rand(64).astype(np.float32)})


@program(args=(X,))
def drawn_while_tracing(x):
    y = x + 1
    return y * np.random.rand()


@program(args=(X,))
def clock_while_tracing(x):
    return x + (time.time() * 1000 % 1000)


@program(args=(X,))
def within_rounding_by_chance(x):
    return jnp.stack([x[n] * (1 + 2e-7 * np.random.rand()) for n in range(32)])


@program(args=(X,))
def chance_in_a_callback(x):
    def noise(y):
        return y + np.random.rand(64).astype(np.float32)

    return jax.pure_callback(noise, jax.ShapeDtypeStruct((64,), jnp.float32), x)


@program(args=(X,))
def made_by_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return x * found[0]


@program(args=(X,))
def walks_over_a_set(x):
    for name in {*"abcdefgh"}:
        x = 2 * x + ord(name)
    return x


@program(args=(X,))
def fails_once(x):
    if SIMPLIFIED and not MARK.exists():
        MARK.touch()
        raise LookupError("not there yet")
    return x


@program(args=(X,))
def noise_beside_a_difference(x):
    return {"noise": x * UNSEEDED, "value": x * (1.5 if SIMPLIFIED else 1.0)}


@program(args=(X,))
def seeded(x):
    return x * SEEDED + jax.random.normal(jax.random.key(0), (64,))


@program(args=(X,))
def differs_in_every_run(x):
    return x * (1.5 if SIMPLIFIED else 1.0)


@program(args=(X,))
def leaves_state(x):
    BEFORE.append(1)
    if SIMPLIFIED:
        os._exit(3)
    return x


@program(args=(X,))
def reads_what_is_left(x):
    return x + len(BEFORE)
