"""`closed_jaxpr.consts` is looked up by number, or summed up.

After the flip captured arrays are `Literal`s, among the operands of the equations and the outputs.
What stays in the list: tracers of an outer function, and typed keys (`jax.random.key`).

Collect the Literals as well, in bodies, too. Numbers are Literals in both forms; a `jax.Array`
without dimensions is one after the flip alone. An array that is used twice is two Literals.
"""

import jax
import jax.extend.core
import jax.numpy as jnp

table, scale, other = jnp.arange(100.0), jnp.array(3.0), jnp.ones(10)


def scaled(x):
    """Capture an array in a body, one without dimensions, and one that is returned."""
    return jax.lax.fori_loop(0, 9, lambda _, y: y * table - table, x * scale), other


closed_jaxpr = jax.make_jaxpr(scaled)(jnp.ones(100))

# -- breaks
print(closed_jaxpr.consts[0].dtype)
# -- or
print(sum(each.nbytes for each in closed_jaxpr.consts))


# -- fixed
def captured(jaxpr):
    """Return what a jaxpr and its bodies capture, each array once."""
    found = {id(each): each for each in getattr(jaxpr, "consts", [])}
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    atoms = [*(atom for eqn in jaxpr.eqns for atom in eqn.invars), *jaxpr.outvars]
    literals = [atom.val for atom in atoms if isinstance(atom, jax.extend.core.Literal)]
    arrays = [each for each in literals if isinstance(each, jax.Array) or jnp.ndim(each) > 0]
    found |= {id(each): each for each in arrays}
    for value in (each for eqn in jaxpr.eqns for each in eqn.params.values()):
        for body in value if isinstance(value, tuple) else [value]:
            if hasattr(body, "eqns"):
                found |= {id(each): each for each in captured(body)}
    return list(found.values())


print(captured(closed_jaxpr)[0].dtype)
print(sum(each.nbytes for each in captured(closed_jaxpr)))
