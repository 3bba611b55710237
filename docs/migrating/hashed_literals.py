"""The value of a `Literal` is hashed, as a key of a cache.

An array has no hash, neither a `jax.Array` nor a NumPy array.

Take a number by its value, and an array by its identity. The cache has to hold the array: once it
is gone, another one may have its `id`. Where equal arrays are to share an entry, take shape, dtype
and bytes instead, which reads all of it.
"""

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np


def operands_of(fun):
    """Return the operands of the equations of a function."""
    return [atom for eqn in jax.make_jaxpr(fun)(1.0).eqns for atom in eqn.invars]


def literals_of(fun):
    """Return the values of the Literals of a function."""
    return [atom.val for atom in operands_of(fun) if isinstance(atom, jax.extend.core.Literal)]


table, scale = jnp.arange(100.0), jnp.array(3.0)
numbers = np.arange(100, dtype=np.float32)
cache = {}

# -- breaks
operands = operands_of(lambda x: 2.0 * x * scale + table)
cache.update({hash(a.val): "seen" for a in operands if isinstance(a, jax.extend.core.Literal)})
print(hash(2.0) in cache)
# -- or
operands = operands_of(lambda x: 2.0 * x + numbers)
cache.update({hash(a.val): "seen" for a in operands if isinstance(a, jax.extend.core.Literal)})
print(hash(2.0) in cache)


# -- fixed
def key(value):
    """Return a key of a value, for a cache that holds the value as well."""
    if isinstance(value, jax.Array) or jnp.ndim(value) > 0:
        return id(value)
    return np.asarray(value).item()


cache.update(
    {key(value): (value, "seen") for value in literals_of(lambda x: 2.0 * x * scale + table)}
)
print(2.0 in cache)
cache.update({key(value): (value, "seen") for value in literals_of(lambda x: 2.0 * x + numbers)})
print(2.0 in cache)
