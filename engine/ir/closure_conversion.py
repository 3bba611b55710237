"""Make constants explicit: rewrite a jaxpr so that no body refers to an array by itself.

A jaxpr is first-order and its bodies have no free variables, so a constant that is an input of the
whole must be handed down to every body that needs it. This pass does that, primitive by primitive;
it is what both pipelines are built on: *lift* hands constants to the bodies of control flow and
stops at constvars, *hoist* goes on and makes them inputs of each lowered function.

`const_lowering` maps the key of a constant to the Var that stands for it in the function being
rewritten. An inner function (the body of a jit) gets its own, smaller, mapping, and so does a body
of control flow; since the pass runs on jaxprs and before JAX emits anything, JAX's lowering rules
need to know nothing of constants. Threading the map through those rules, as JAX does itself, was
the alternative: it depends on every rule that makes a function, and gives one array several
arguments.

When not to use it: on a jaxpr that a user will read. Operands are added, so the result prints
differently from what JAX prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from jax.sharding import PartitionSpec

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, bodies_of

Body = Jaxpr | ClosedJaxpr
B = TypeVar("B", bound=Body)
ConstLowering = Mapping[Hashable, Var]
# Given the bodies that share operands: the bodies taking their constants as leading inputs, and the
# operands to pass for those.
Close = Callable[[Sequence[Body]], tuple[list[Body], list[Var]]]
Rule = Callable[[JaxprEqn, Close], tuple[list, dict[str, Any]]]


# -- how each primitive hands operands to its bodies -----------------------------------------------


def _scan(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    [body], operands = close([eqn.params["jaxpr"]])
    params = {"jaxpr": body, "num_consts": eqn.params["num_consts"] + len(operands)}
    return [*operands, *eqn.invars], params


def _while(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    n = eqn.params["cond_nconsts"]
    [cond], of_cond = close([eqn.params["cond_jaxpr"]])
    [body], of_body = close([eqn.params["body_jaxpr"]])
    params = {
        "cond_jaxpr": cond,
        "cond_nconsts": n + len(of_cond),
        "body_jaxpr": body,
        "body_nconsts": eqn.params["body_nconsts"] + len(of_body),
    }
    return [*of_cond, *eqn.invars[:n], *of_body, *eqn.invars[n:]], params


def _cond(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    branches, operands = close(eqn.params["branches"])
    index, *rest = eqn.invars
    return [index, *operands, *rest], {"branches": tuple(branches)}


def _jit(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    [body], operands = close([eqn.params["jaxpr"]])
    params = jax_internals.const_operands(eqn.params, len(operands)) | {"jaxpr": body}
    return [*operands, *eqn.invars], params


def _call(param: str) -> Rule:
    def rule(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
        [body], operands = close([eqn.params[param]])
        return [*operands, *eqn.invars], {param: body}

    return rule


def _checkpoint(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    invars, params = _call("jaxpr")(eqn, close)
    of_operands = eqn.params["prevent_cse"]
    if isinstance(of_operands, tuple):  # one entry for each; what is captured is not set apart
        params["prevent_cse"] = (False,) * (len(invars) - len(eqn.invars)) + of_operands
    return invars, params


def _custom_derivative(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    # `num_consts` is what keeps the derivative rules right: JAX passes them the rest alone.
    [body], operands = close([eqn.params["call_jaxpr"]])
    params = {"call_jaxpr": body, "num_consts": eqn.params["num_consts"] + len(operands)}
    return [*operands, *eqn.invars], params


def _linear_solve(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    invars, start, new_lengths, new_jaxprs = [], 0, [], []
    for length, body in zip(lengths, jaxprs, strict=True):
        operands: list[Var] = []
        if body is not None:
            [body], operands = close([body])
        invars += [*operands, *eqn.invars[start : start + length]]
        start += length
        new_lengths.append(length + len(operands))
        new_jaxprs.append(body)
    params = {
        "const_lengths": type(lengths)(*new_lengths),
        "jaxprs": type(jaxprs)(*new_jaxprs),
    }
    return [*invars, *eqn.invars[start:]], params


def _shard_map(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    # Every shard uses the whole array, so its operand is replicated.
    [body], operands = close([eqn.params["jaxpr"]])
    in_specs = (PartitionSpec(),) * len(operands) + tuple(eqn.params["in_specs"])
    return [*operands, *eqn.invars], {"jaxpr": body, "in_specs": in_specs}


CONTROL_FLOW: dict[str, Rule] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "remat2": _checkpoint,
    "checkpoint": _checkpoint,
    "custom_jvp_call": _custom_derivative,
    "custom_vjp_call": _custom_derivative,
    "custom_linear_solve": _linear_solve,
}
FUNCTIONS: dict[str, Rule] = {
    "jit": _jit,
    "closed_call": _call("call_jaxpr"),
    "core_call": _call("call_jaxpr"),
    "composite": _call("jaxpr"),
    "custom_vmap_call": _call("call"),
    "shard_map": _shard_map,
}


# -- the pass --------------------------------------------------------------------------------------


@dataclass
class Conversion:
    """One run of the pass; shared bodies are converted once, so they stay shared.

    `rules` says which primitives are entered. `key_if_wanted` gives the constants that are made
    explicit a key, by which it says which of them are one and the same, and None to all others.
    `unconverted` collects the names of the primitives without a rule that hold such constants.
    """

    rules: Mapping[str, Rule]
    key_if_wanted: Callable[[Any], Hashable | None]
    unconverted: set[str] = field(default_factory=set)
    _bodies: dict[tuple, tuple[Body, Body]] = field(default_factory=dict)
    _needs: dict[int, tuple[Body, dict[Hashable, Any]]] = field(default_factory=dict)
    _keys: dict[int, tuple[Any, Hashable | None]] = field(default_factory=dict)

    def needs(self, body: Body) -> dict[Hashable, Any]:
        """The wanted constants in a body and, through known primitives, in the bodies within."""
        if id(body) not in self._needs:
            self._needs[id(body)] = body, self._scan(body)  # holding it keeps the id its own
        return self._needs[id(body)][1]

    def _scan(self, body: Body) -> dict[Hashable, Any]:
        found: dict[Hashable, Any] = {}
        if isinstance(body, ClosedJaxpr):
            if not body.consts:
                return self.needs(body.jaxpr)
            # JAX leaves constvars in place when it removes the equations that read them.
            read = {id(a) for eqn in body.jaxpr.eqns for a in eqn.invars}
            read |= {id(a) for a in body.jaxpr.outvars}
            for var, const in zip(body.jaxpr.constvars, body.consts, strict=True):
                if id(var) in read and (key := self.key_if_wanted(const)) is not None:
                    found[key] = const
            for key, value in self.needs(body.jaxpr).items():
                found.setdefault(key, value)
            return found
        for atom in body.outvars:
            if isinstance(atom, Literal):
                self._add(atom.val, found)
        for eqn in body.eqns:
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    self._add(atom.val, found)
            for inner in bodies_of(eqn) if eqn.params else ():
                needed = self.needs(inner)
                if eqn.primitive.name in self.rules:
                    for key, value in needed.items():
                        found.setdefault(key, value)
                elif needed:
                    self.unconverted.add(eqn.primitive.name)
        return found

    def _add(self, value: Any, found: dict[Hashable, Any]) -> None:
        """Add a constant that stands as a Literal if it is wanted; remember the answer."""
        own = id(value)
        if own not in self._keys:
            self._keys[own] = value, self.key_if_wanted(value)  # holding it keeps the id its own
        if (key := self._keys[own][1]) is not None:
            found.setdefault(key, value)

    def body(self, body: B, constants: Mapping[Hashable, Any]) -> B:
        """The body taking `constants` as leading inputs, in that order."""
        if not constants and not self.needs(body):
            return body
        memo_key = (id(body), tuple(constants))
        if memo_key not in self._bodies:
            self._bodies[memo_key] = body, self._convert(body, constants)
        return cast(B, self._bodies[memo_key][1])

    def _convert(self, body: Body, constants: Mapping[Hashable, Any]) -> Body:
        self.needs(body)  # which finds the keys of its Literals
        variables = {
            k: jax_internals.new_var(jax_internals.typeof(c)) for k, c in constants.items()
        }
        if isinstance(body, Jaxpr):
            return self._rewrite(body, variables, leading=list(variables.values()))
        kept_vars, kept, substitution = [], [], {}
        for var, const in zip(body.jaxpr.constvars, body.consts, strict=True):
            key = self.key_if_wanted(const)
            if key is not None:
                if key in variables:  # it is not where nothing reads it
                    substitution[var] = variables[key]
            else:
                kept_vars.append(var)
                kept.append(const)
        jaxpr = body.jaxpr
        if kept_vars != jaxpr.constvars:
            jaxpr = jaxpr.replace(constvars=kept_vars, debug_info=jaxpr.debug_info)
        rewritten = self._rewrite(jaxpr, variables, substitution, list(variables.values()))
        return ClosedJaxpr(rewritten, kept)

    def _rewrite(
        self,
        jaxpr: Jaxpr,
        const_lowering: ConstLowering,
        substitution: Mapping[Var, Var] | None = None,
        leading: Sequence[Var] = (),
    ) -> Jaxpr:
        """Replace wanted Literals, and the Vars in `substitution`, by the Vars of constants."""

        def read(atoms: Sequence[Any]) -> list:
            atoms = list(atoms)
            for i, atom in enumerate(atoms):
                if not isinstance(atom, Literal):
                    if substitution:
                        atoms[i] = substitution.get(atom, atom)
                elif (key := self._keys[id(atom.val)][1]) is not None:
                    atoms[i] = const_lowering[key]
            return atoms

        def close(bodies: Sequence[Body]) -> tuple[list[Body], list[Var]]:
            constants: dict[Hashable, Any] = {}
            for body in bodies:
                for key, value in self.needs(body).items():
                    constants.setdefault(key, value)
            closed = [self.body(body, constants) for body in bodies]
            return closed, [const_lowering[key] for key in constants]

        eqns = []
        for eqn in jaxpr.eqns:
            invars, params = read(eqn.invars), eqn.params
            rule = self.rules.get(eqn.primitive.name)
            if rule is not None and any(map(self.needs, bodies_of(eqn))):
                invars, changed = rule(eqn.replace(invars=invars), close)
                params = {**eqn.params, **changed}
            if invars != eqn.invars or params is not eqn.params:
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        debug_info = jaxpr.debug_info
        if leading and debug_info.arg_names is not None:
            names = ("",) * len(leading) + tuple(debug_info.arg_names)
            debug_info = debug_info._replace(arg_names=names)
        return jaxpr.replace(
            invars=[*leading, *jaxpr.invars],
            outvars=read(jaxpr.outvars),
            eqns=eqns,
            debug_info=debug_info,
        )
