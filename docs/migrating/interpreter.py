"""One interpreter of jaxprs for JAX 0.10.2 to 0.12, with the flag off and on.

It evaluates a jaxpr, open or closed, and puts functions of your own in the place of primitives, in
the bodies of jitted functions, loops and branches as well; of other primitives with bodies
(`shard_map`, Pallas) it says so. Four things make it one for all:

- inputs are `[*jaxpr.constvars, *jaxpr.invars]`, in this order, in every release;
- operands and outputs are read alike, for both may be Literals;
- a body is what has `eqns`, and no class is asked for;
- the counts of `scan` are asked for by name, and no operand has a fixed number.

An equation without such a primitive in its bodies is bound as it is, so that custom derivatives
stay. Where a body is changed its own derivative takes the place of the custom one.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.extend.core import Literal, primitives

table = jnp.arange(3.0)


@jax.custom_vjp
def half(x):
    """Return half of it; its derivative is another one, to be told apart."""
    return x * table / 2


half.defvjp(lambda x: (half(x), None), lambda _, cotangent: (7 * cotangent * table,))


def model(x, sin):
    """Capture an array in each kind of body, and return it."""
    x = jax.jit(lambda x: sin(x) + table)(x)
    x, _ = jax.lax.scan(lambda carry, y: (carry + sin(table) * y, None), x, jnp.arange(4.0))
    x = jax.lax.cond(x.sum() > 0, lambda x: sin(x) * table, lambda x: x - table, x)
    start = jax.lax.stop_gradient(x)
    x += jax.lax.while_loop(lambda y: (y + table).sum() < 9, lambda y: y + sin(table) + 1, start)
    return half(x), table


# -- fixed
# Their one body is called with the operands, and its outputs are theirs.
CALLED = {
    primitives.jit_p,
    primitives.remat_p,
    primitives.custom_jvp_call_p,
    primitives.custom_vjp_call_p,
    primitives.closed_call_p,
}


def evaluate(rules, jaxpr, *args):
    """Return the outputs of a jaxpr; `rules` has functions by the primitives they replace."""
    consts = getattr(jaxpr, "consts", [])
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        outputs = evaluate_equation(rules, eqn, [read(atom) for atom in eqn.invars])
        env.update(zip(eqn.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def evaluate_equation(rules, eqn, values):
    """Return the outputs of an equation."""
    primitive, params = eqn.primitive, eqn.params
    if primitive in rules:
        return [rules[primitive](*values)]
    if not any(is_needed(rules, body) for body in bodies(params)):
        outputs = primitive.bind(*values, **primitive.get_bind_params(params))
        return outputs if primitive.multiple_results else [outputs]
    if primitive is primitives.cond_p:
        branches = [partial(evaluate, rules, each) for each in params["branches"]]
        return jax.lax.switch(values[0], branches, *values[1:])
    if primitive is primitives.while_p:
        n, m = params["cond_nconsts"], params["body_nconsts"]
        condition = partial(evaluate, rules, params["cond_jaxpr"], *values[:n])
        body = partial(evaluate, rules, params["body_jaxpr"], *values[n : n + m])
        return jax.lax.while_loop(lambda x: condition(*x)[0], lambda x: body(*x), values[n + m :])
    if primitive is primitives.scan_p:
        n, m = counts_of_scan(params)
        body = partial(evaluate, rules, params["jaxpr"], *values[:n])

        def step(carry, x):
            outputs = body(*carry, *x)
            return outputs[:m], outputs[m:]

        how = {each: params[each] for each in ("length", "reverse", "unroll")}
        carry, ys = jax.lax.scan(step, values[n : n + m], values[n + m :], **how)
        return [*carry, *ys]
    if primitive in CALLED:
        [body] = bodies(params)
        return evaluate(rules, body, *values)
    raise NotImplementedError(f"the body of {primitive} is not known")


def bodies(params):
    """Yield the jaxprs among the parameters of an equation, open or closed."""
    for value in params.values():
        for each in value if isinstance(value, tuple) else [value]:
            if hasattr(each, "eqns"):
                yield each


def is_needed(rules, jaxpr):
    """Say whether a jaxpr, or a body in it, has a primitive to replace."""
    return any(
        eqn.primitive in rules or any(is_needed(rules, body) for body in bodies(eqn.params))
        for eqn in jaxpr.eqns
    )


def counts_of_scan(params):
    """Return how many operands of scan are constants, and how many the carry."""
    if "num_consts" in params:  # until JAX 0.10.2
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)


def changed(x):
    """Return the model, its sines replaced."""
    return evaluate({primitives.sin_p: jnp.cos}, jax.make_jaxpr(partial(model, sin=jnp.sin))(x), x)


def leaves(fun):
    """Return the outputs of a function, and its gradient."""
    both = jax.jit(lambda x: (fun(x), jax.grad(lambda x: fun(x)[0].sum())(x)))
    return jax.tree.leaves(both(jnp.ones(3)))


found, expected = leaves(changed), leaves(partial(model, sin=jnp.cos))
print([bool(jnp.allclose(*each)) for each in zip(found, expected, strict=True)])
print(bool(jnp.abs(found[-1]).sum() > 0))
