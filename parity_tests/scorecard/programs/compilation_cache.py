"""The persistent cache compiles a program again for each set of captured values.

kind: cost
off: 2 entries
on: 1 entry
right off: 1 entry
who: training and serving that capture weights: each new checkpoint is compiled anew today
from: measured; the key is a digest of the module, which holds inlined values
way round: nothing for the flip, which fixes it; today pass the weights as arguments
"""

import os
import tempfile

import jax
import jax.numpy as jnp

folder = tempfile.TemporaryDirectory()
jax.config.update("jax_enable_compilation_cache", True)
jax.config.update("jax_compilation_cache_dir", folder.name)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def model(weights):
    """Capture the weights."""
    return jax.jit(lambda x: (x @ weights).sum())


for scale in (1.0, 2.0):
    model(scale * jnp.ones((64, 64)))(jnp.ones(64))
names = [each for each in os.listdir(folder.name) if each.startswith("jit__lambda")]
entries = len([each for each in names if not each.endswith("-atime")])
print(entries, "entry" if entries == 1 else "entries")
