"""Under a JAX that the engine refuses, the tester works, and says why our own sides do not."""

import os
import subprocess
import sys

import pytest

# Every process of Python takes this JAX for one that does not exist yet.
NEWER_JAX = 'import jax\njax.__version__, jax.__version_info__ = "0.99.0", (0, 99, 0)\n'
PROGRAM = """
import jax.numpy as jnp
import numpy as np
import parity_tests

table = np.arange(64, dtype=np.float32)
table.flags.writeable = False


@parity_tests.program(args=(jnp.ones(64),))
def scaled(x):
    return x * table
"""


@pytest.fixture
def constparity(tmp_path):
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / "sitecustomize.py").write_text(NEWER_JAX)
    (tmp_path / "my_programs.py").write_text(PROGRAM)
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, [str(fake), os.getcwd(), before]))

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "parity_tests.cli", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_a_run_without_sides_compares_stock_jax(constparity):
    done = constparity("run", "my_programs.py")
    assert done.returncode == 0, done.stderr
    assert "legacy and simplified are left out: constparity's engine" in done.stderr
    assert "jax-legacy, jax-simplified on jax 0.99.0" in done.stdout
    assert "1 program: 1 parity" in done.stdout


def test_own_sides_are_refused_with_the_reason(constparity):
    done = constparity("run", "my_programs.py", "--sides", "legacy,jax-legacy")
    assert done.returncode == 4
    assert "cannot run legacy: constparity's engine" in done.stderr
    assert "`constparity doctor`" in done.stderr
    assert done.stdout == ""
