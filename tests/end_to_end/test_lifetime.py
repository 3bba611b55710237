"""Memory and threads: dropped functions free everything, and many threads may jit at once."""

import concurrent.futures
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from program_files import script_file

import engine


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.parametrize("flag", ["0", "1"])
def test_closures_over_a_mebibyte_each_leave_memory_flat(flag):
    """150 of them hold 150 MiB of captured arrays; what stays is a fraction of that.

    CONSTPARITY_TEST_CLOSURES=1000 takes minutes and stays below the same bound.
    """
    environment = os.environ | {
        "CONSTPARITY_USE_SIMPLIFIED_CONSTANTS": flag,
        "MALLOC_ARENA_MAX": "2",  # glibc has several for each core by default
    }
    command = [
        sys.executable,
        str(script_file("memory_after_closures")),
        os.environ.get("CONSTPARITY_TEST_CLOSURES", "200"),
    ]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    assert float(done.stdout) < 60


def test_many_threads_jit_at_once(side):
    """Each thread jits functions of its own and one shared function, on both sides at a time."""
    shared_table = jnp.arange(64.0)
    shared = engine.jit(lambda x: x + shared_table, constants=side)

    def work(i):
        with engine.use_simplified_constants(i % 2 == 0):
            table = np.full(64, i, np.float32)
            own = engine.jit(lambda x: jax.lax.fori_loop(0, 2, lambda _, c: c + table, x) * table)
            results = [own(np.float32(1) + np.zeros(64, np.float32)) for _ in range(2)]
            assert own.trace(jnp.ones(64)).side == ("simplified" if i % 2 == 0 else "legacy")
            return results, shared(np.float32(i)), jax.grad(lambda x: shared(x).sum())(float(i))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for i, (results, from_shared, derivative) in enumerate(pool.map(work, range(48))):
            for result in results:
                np.testing.assert_array_equal(result, np.full(64, (1 + 2 * i) * i))
            np.testing.assert_array_equal(from_shared, np.arange(64) + i)
            assert derivative == 64


def test_a_finalizer_may_call_a_program_wherever_garbage_is_collected():
    """Here while a module is marked, under a lock."""
    done = subprocess.run(
        [sys.executable, str(script_file("finalizer_calls_a_program"))],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["3.0", "[2.0]"]
