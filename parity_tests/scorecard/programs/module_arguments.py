"""The lowered module has arguments whose values no public method returns.

kind: tools
off: main takes 1 argument
on: main takes 2 arguments, and Lowered has no const_args
right on: main takes 2 arguments, and Lowered has const_args
who: tools that hand lowered modules to a compiler of their own
from: jax-ml/jax#30180; the note says that Lowered keeps const_args
code: jax/_src/stages.py: Lowering.const_args is private
way round: jax.export, which inlines; or pass the arrays as arguments
"""

import re

import jax
import jax.numpy as jnp

table = jnp.arange(1000.0)
lowered = jax.jit(lambda x: x + table).lower(table)
[signature] = re.findall(r"@main\((.*?)\) ->", lowered.as_text())
count = signature.count("%arg")
known = "has const_args" if hasattr(lowered, "const_args") else "has no const_args"
print(
    "main takes 1 argument" if count == 1 else f"main takes {count} arguments, and Lowered {known}"
)
