"""Stock JAX's third pipeline, which its flag makes when it is set at run time, is refused.

JAX reads the flag at import for the literals it allows and for whether it hoists, and when it
traces; a process in which these disagree is neither side, and no observation of it may pass.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import parity_tests
from parity_tests.processes.side_environment import JAX_FLAG, environment_of

SCRIPT = """
import json
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

if sys.argv[1] == "set at run time":
    jax.config.update("jax_use_simplified_jaxpr_constants", True)

from parity_tests.observe import measure
from parity_tests.program import from_function, program

CAPTURED = {
    "a jax.Array": jnp.arange(77.0),
    "a NumPy array": np.arange(77, dtype=np.float32),
    "an array that MLIR cannot read back": np.arange(77, dtype=ml_dtypes.bfloat16),
}


def programs(table):
    yield "used", lambda x: x * table
    yield "returned", lambda x: table
    yield "in a branch", lambda x: lax.cond(x > 0, lambda: table + table, lambda: table)
    yield "in a jit", lambda x: jax.jit(lambda y: y + table)(x)


found = {}
for kind, table in CAPTURED.items():
    for use, fun in programs(table):
        marked = from_function(program(args=(np.float32(2.0),))(fun), "here:fun")
        for side in ("jax-legacy", "jax-simplified"):
            failure = measure.measure(marked, side).observation.failure
            found[f"{kind}, {use}, {side}"] = failure.kind if failure else "accepted"
print(json.dumps(found))
"""


def measured(environment_flag, then):
    """What becomes of programs on both stock sides, in a process with the flag in this state."""
    environment = environment_of("jax-legacy") | {JAX_FLAG: environment_flag}
    root = str(Path(parity_tests.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, then],
        env=environment | {"PYTHONPATH": root + os.pathsep + environment["PYTHONPATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_flag_set_at_run_time_makes_neither_side():
    found = measured("0", "set at run time")
    assert len(found) == 24
    assert set(found.values()) == {"wrong side"}, found


@pytest.mark.parametrize(
    ("environment_flag", "accepted"), [("0", "jax-legacy"), ("1", "jax-simplified")]
)
def test_a_flag_in_the_environment_makes_one_side(environment_flag, accepted):
    found = measured(environment_flag, "left alone")
    assert {key for key, what in found.items() if what == "accepted"} == {
        key for key in found if key.endswith(accepted)
    }
