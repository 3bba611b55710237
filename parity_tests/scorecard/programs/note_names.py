"""The note names functions that JAX does not have.

kind: note
off: JAX has no mlir.lower_jaxpr_as_fun
on: JAX has no mlir.lower_jaxpr_as_fun
right off: JAX has all of them
who: readers of the note, authors of lowering rules
from: "Handling of closed-over constants"
way round: read jax/_src/interpreters/mlir.py of the release
"""

import inspect

import jax
from jax.interpreters import mlir

# The modules that the note speaks of, found by what they define.
modules = {
    "core": inspect.getmodule(jax.core.eval_jaxpr),
    "mlir": inspect.getmodule(mlir.LoweringRuleContext),
    "stages": inspect.getmodule(jax.stages.Lowered),
}
named = ["core.jaxpr_const_args", "core.is_literalable", "mlir.ir_constant", "mlir.jaxpr_subcomp"]
named += ["mlir.lower_jaxpr_as_fun", "mlir.lower_jaxpr_to_fun", "mlir.lower_jaxpr_to_module"]
named += ["stages.Lowering", "stages.CompiledCallParams"]
gone = [each for each in named if not hasattr(modules[each.split(".")[0]], each.split(".")[1])]
print(f"JAX has no {', '.join(gone)}" if gone else "JAX has all of them")
