"""Programs that change their process, each before one that must not notice.

A program writes beside this file what it sees, so tests copy the file to a folder of theirs.
"""

import os
import signal
import sys

import jax
import numpy as np

from parity_tests import program

TABLE = np.arange(77, dtype=np.float32)
X = (np.float32(2.0),)


@program
def patches_jit():
    jax.jit = lambda fun, **options: fun
    return lambda x: x * TABLE, X


@program(args=X)
def after_patches_jit(x):
    assert "lambda" not in jax.jit.__name__, "jax.jit is patched"
    return x * TABLE


@program
def sets_the_configuration():
    jax.config.update("jax_numpy_rank_promotion", "raise")
    return lambda x: x * TABLE, X


@program(args=X)
def after_sets_the_configuration(x):
    assert jax.config.jax_numpy_rank_promotion == "allow"
    return x * TABLE


@program
def flips_the_flag():
    flag = "jax_use_simplified_jaxpr_constants"
    jax.config.update(flag, not jax.config.jax_use_simplified_jaxpr_constants)
    return lambda x: x * TABLE, X


@program(args=X)
def after_flips_the_flag(x):
    return x * TABLE


@program
def closes_stdout():
    sys.stdout.close()
    return lambda x: x * TABLE, X


@program(args=X)
def after_closes_stdout(x):
    print("still here")
    return x * TABLE


@program
def changes_the_rest():
    os.chdir("/")
    os.environ["CHANGED"] = "secret"
    sys.path.insert(0, "/nowhere")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    return lambda x: x * TABLE, X


@program(args=X)
def after_changes_the_rest(x):
    assert os.getcwd() != "/"
    assert "CHANGED" not in os.environ
    assert "/nowhere" not in sys.path
    return x * TABLE


@program
def restores():
    """A look-alike: what it changes, it restores."""
    before = jax.jit
    jax.jit = None
    jax.jit = before
    with jax.enable_x64(True):
        table = TABLE.copy()
    return lambda x: x * table, X
