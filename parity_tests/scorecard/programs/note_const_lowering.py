"""The note says that const_lowering goes by the id of a constant; JAX's goes by id and aval.

kind: note
off: const_lowering: dict[tuple[int, core.AbstractValue], IrValues]
on: const_lowering: dict[tuple[int, core.AbstractValue], IrValues]
right off: const_lowering: dict[int, IrValues]
who: authors of lowering rules who follow the note
from: "Handling of closed-over constants": "const_lowering: dict[int, mlir.IrValues]"
way round: read jax.interpreters.mlir.LoweringRuleContext
"""

import dataclasses

from jax.interpreters import mlir

for field in dataclasses.fields(mlir.LoweringRuleContext):
    if field.name == "const_lowering":
        print(f"{field.name}: {field.type}")
