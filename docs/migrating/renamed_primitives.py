"""A primitive has another name, or two are one.

From JAX 0.11.1 on `call_p` and `closed_call_p` are the primitive `eval_jaxpr`. A table by names
does not know it, and of two entries the later one stands.

Key by the primitive, and give both one entry.
"""

from jax.extend.core.primitives import call_p, closed_call_p

# -- breaks
rules = {"call": "inline", "closed_call": "inline"}
print(rules[closed_call_p.name])
# -- or
rules = {call_p: "inline", closed_call_p: "keep"}
print(rules[call_p])

# -- fixed
rules = dict.fromkeys((call_p, closed_call_p), "inline")
print(rules[closed_call_p])
print(rules[call_p])
