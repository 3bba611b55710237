"""Stock JAX's third pipeline is refused: its flag makes it when it is set at run time.

JAX reads the flag at import, for the literals that it allows and for whether it hoists, and again
when it traces. A process in which these disagree is neither side, and no observation of it passes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program_files import script_file

import parity_tests
from parity_tests.processes.side_environment import JAX_FLAG, environment_of


def measured(environment_flag, then):
    """What becomes of programs on both stock sides, in a process with the flag in this state."""
    environment = environment_of("jax-legacy") | {JAX_FLAG: environment_flag}
    root = str(Path(parity_tests.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, str(script_file("flag_set_at_run_time")), then],
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
