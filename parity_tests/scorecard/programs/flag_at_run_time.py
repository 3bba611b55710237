"""Set while JAX runs, the flag makes a third form: neither constvars nor const args.

kind: cost
off: 0 const args, 3 arrays inlined
on: 3 const args, 0 arrays inlined
right off: 3 const args, 0 arrays inlined
who: code that sets the flag after `import jax`, as with jax.config.update in a test or a notebook
from: jax-ml/jax#30180; the flag is read again when arrays become Literals, and not when JAX lowers
way round: set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS in the environment before JAX is imported
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_use_simplified_jaxpr_constants", True)
table = jnp.sin(jnp.arange(1000.0))
text = jax.jit(lambda x: (x + table) * table - table).lower(table).as_text()
args, inlined = text.count("jax.const = true"), text.count("stablehlo.constant dense")
print(f"{args} const args, {inlined} arrays inlined")
