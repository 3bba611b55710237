"""A batch of typed PRNG keys stays in the module, as every array did before.

kind: cost
off: 0 const args, 1 array inlined
on: 0 const args, 1 array inlined
right on: 1 const arg, 0 arrays inlined
who: programs that capture many keys, made by jax.random.split
from: "Handling of closed-over constants": every array that is no scalar becomes a Literal
way round: capture jax.random.key_data(keys), and wrap it inside; or pass the keys
"""

import jax

keys = jax.random.split(jax.random.key(0), 1000)
text = jax.jit(lambda i: jax.random.key_data(keys[i])).lower(0).as_text()
args, inlined = text.count("jax.const = true"), text.count('stablehlo.constant dense<"0x')
print(args, "const arg," if args == 1 else "const args,", end=" ")
print(inlined, "array inlined" if inlined == 1 else "arrays inlined")
