"""Set while JAX runs, the flag makes a third form: Literals that are inlined once for each use.

kind: cost
off: a mixture: Literals in the jaxpr, 3 arrays inlined
on: one form: ...
right off: one form: ...
who: code that sets the flag after `import jax`, as with jax.config.update in a test or a notebook
from: jax-ml/jax#30180; JAX reads the flag when it traces, and latches it for its lowering
code: jax/_src/interpreters/mlir.py, LoweringParameters.hoist_constants_as_args: a default that is
    read at import
way round: set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS in the environment before JAX is imported
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_use_simplified_jaxpr_constants", True)
table = jnp.sin(jnp.arange(1000.0))
traced = jax.jit(lambda x: (x + table) * table - table).trace(table)
form = "constvars" if traced.jaxpr.consts else "Literals"
text = traced.lower().as_text()
inlined = text.count('stablehlo.constant dense<"0x')
what = f"{inlined} arrays inlined" if inlined > 1 else "const args" if not inlined else "inlined"
is_one = (form, what) in (("constvars", "inlined"), ("Literals", "const args"))
print("one form:" if is_one else "a mixture:", f"{form} in the jaxpr, {what}")
