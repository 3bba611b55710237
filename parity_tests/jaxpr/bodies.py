"""The bodies in an equation's parameters, and what the inputs of each stand for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from jax.extend import core
from jax.interpreters import partial_eval

Operands: TypeAlias = tuple[Any, ...] | None

# Their bodies take the operands of the equation one by one.
CALLS = frozenset(
    {
        "jit", "closed_call", "core_call", "checkpoint", "remat2", "custom_jvp_call",
        "custom_vjp_call", "custom_vmap_call", "composite", "shard_map",
    }
)  # fmt: skip


def bodies_of(equation: Any) -> Iterator[tuple[Any, Operands]]:
    """Yield each body of an equation with the operands that its inputs stand for.

    None in the place of an operand is an input that changes from call to call, such as a carry;
    None in the place of all says that nothing is known of the inputs.

        [(body, operands)] = bodies_of(equation_of_a_scan)
    """
    params, invars = equation.params, tuple(equation.invars)
    name = equation.primitive.name
    if name == "scan":
        yield _leading(params["jaxpr"], invars[: params["num_consts"]])
    elif name == "while":
        cond, body = params["cond_nconsts"], params["body_nconsts"]
        yield _leading(params["cond_jaxpr"], invars[:cond])
        yield _leading(params["body_jaxpr"], invars[cond : cond + body])
    elif name == "cond":
        for branch in params["branches"]:
            yield branch, invars[1:]
    elif name == "custom_linear_solve":
        start = 0
        for body, length in zip(params["jaxprs"], params["const_lengths"], strict=True):
            if body is not None:
                yield _leading(body, invars[start : start + length])
            start += length
    else:
        for body in bodies_in(params.values()):
            one_by_one = name in CALLS and len(inner(body).invars) == len(invars)
            yield body, invars if one_by_one else None


def inner(body: Any) -> Any:
    """Return the jaxpr of a body, which may be closed."""
    return body.jaxpr if isinstance(body, core.ClosedJaxpr) else body


def constants_of(body: Any) -> dict[Any, Any]:
    """Return the captured values that the constvars of a body stand for."""
    if not isinstance(body, core.ClosedJaxpr):
        return {}
    return dict(zip(body.jaxpr.constvars, body.consts, strict=True))


def bodies_in(values: Any) -> Iterator[Any]:
    """Yield every jaxpr and closed_jaxpr in values of parameters."""
    for value in values:
        if isinstance(value, (core.Jaxpr, core.ClosedJaxpr)):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from bodies_in(value)
        elif isinstance(value, dict):
            yield from bodies_in(value.values())


def live_part(closed: Any) -> Any:
    """Return a closed_jaxpr without its dead code and without the constvars that only that read."""
    live, _ = partial_eval.dce_jaxpr(
        closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True
    )
    atoms = {id(atom) for eqn in live.eqns for atom in eqn.invars} | set(map(id, live.outvars))
    kept = [
        (var, const)
        for var, const in zip(live.constvars, closed.consts, strict=True)
        if id(var) in atoms
    ]
    read = live.replace(constvars=[var for var, _ in kept], debug_info=live.debug_info)
    return closed.replace(jaxpr=read, consts=[const for _, const in kept])


def _leading(body: Any, operands: tuple[Any, ...]) -> tuple[Any, Operands]:
    rest = len(inner(body).invars) - len(operands)
    return body, (*operands, *[None] * rest)
