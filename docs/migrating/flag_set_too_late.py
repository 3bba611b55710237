"""`jax.config.update` turns the flag on after JAX was imported.

No error, and neither form. Parts of JAX read the flag when they are imported. What is traced is
simplified, what is lowered is not: each use of a captured array is inlined once more, and the
module is larger than in either form.

Set `JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS` in the environment of the process, before Python starts.
"""

import os
import subprocess
import sys

program = """
import sys
import jax
import jax.numpy as jnp
if "late" in sys.argv:
    jax.config.update("jax_use_simplified_jaxpr_constants", True)
table = jnp.arange(1000.0)
text = jax.jit(lambda x: x + table).lower(1.0).as_text()
print("jax.const = true" in text, "stablehlo.constant dense<\\"0x" in text)
"""
FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"

# -- breaks
command = [sys.executable, "-c", program, "late"]
out = subprocess.run(
    command, env={**os.environ, FLAG: "0"}, text=True, capture_output=True, check=True
)
print(f"hoisted {out.stdout.split()[0]}, inlined {out.stdout.split()[1]}")

# -- fixed
command = [sys.executable, "-c", program]
out = subprocess.run(
    command, env={**os.environ, FLAG: "1"}, text=True, capture_output=True, check=True
)
print(f"hoisted {out.stdout.split()[0]}, inlined {out.stdout.split()[1]}")
