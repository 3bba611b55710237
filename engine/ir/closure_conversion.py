"""Closure conversion: rewrite a jaxpr so that every body receives its constants as inputs.

The bodies of a jaxpr have no free variables, so a constant that is an input of the program must be
passed down to every body that uses it. This pass does so, primitive by primitive. Both pipelines
are built on it: *lift* passes constants to the bodies of control flow and stops at constvars;
*hoist* goes on and makes them inputs of each lowered function.

`const_lowering` maps the key of a constant to the Var that stands for it in the function being
rewritten. Each inner function (the body of a jit) and each body of control flow has its own,
smaller map. The pass runs on jaxprs before JAX emits anything, so JAX's lowering rules need to know
nothing about constants. JAX itself threads the map through those rules instead; that depends on
every rule that makes a function, and gives one array several arguments.

When not to use it: on a jaxpr that a user will read. It adds operands, so the result prints
differently from JAX's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from jax.sharding import PartitionSpec

from engine import jax_internals
from engine.ir.contents import contents_of
from engine.ir.jaxprs import Body, JaxprEqn, Literal, Var, bodies_of, consts_of
from engine.jax_internals import is_body, open_part, replaced

B = TypeVar("B", bound=Body)
ConstLowering = Mapping[Hashable, Var]
# Takes bodies that share operands. Returns these bodies with their constants as leading inputs, and
# the operands to pass for the constants.
Close = Callable[[Sequence[Body]], tuple[list[Body], list[Var]]]
Rule = Callable[[JaxprEqn, Close], tuple[list, dict[str, Any]]]


# -- how each primitive passes operands to its bodies ----------------------------------------------


def _scan(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    [body], operands = close([eqn.params["jaxpr"]])
    params = jax_internals.with_scan_consts(eqn.params, len(operands)) | {"jaxpr": body}
    return [*operands, *eqn.invars], params


def _while(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    n = eqn.params["cond_nconsts"]
    [cond], cond_operands = close([eqn.params["cond_jaxpr"]])
    [body], body_operands = close([eqn.params["body_jaxpr"]])
    params = {
        "cond_jaxpr": cond,
        "cond_nconsts": n + len(cond_operands),
        "body_jaxpr": body,
        "body_nconsts": eqn.params["body_nconsts"] + len(body_operands),
    }
    return [*cond_operands, *eqn.invars[:n], *body_operands, *eqn.invars[n:]], params


def _cond(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    branches, operands = close(eqn.params["branches"])
    index, *rest = eqn.invars
    return [index, *operands, *rest], {"branches": tuple(branches)}


def _jit(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    [body], operands = close([eqn.params["jaxpr"]])
    params = jax_internals.const_operands(eqn.params, len(operands)) | {"jaxpr": body}
    return [*operands, *eqn.invars], params


def _call(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    # Found and not named, because JAX renames params: a composite's `jaxpr` became `call_jaxpr`.
    [name] = [name for name, value in eqn.params.items() if is_body(value)]
    [body], operands = close([eqn.params[name]])
    return [*operands, *eqn.invars], {name: body}


def _checkpoint(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    invars, params = _call(eqn, close)
    prevent_cse = eqn.params["prevent_cse"]
    if isinstance(prevent_cse, tuple):  # one entry per operand; constants need no barrier
        params["prevent_cse"] = (False,) * (len(invars) - len(eqn.invars)) + prevent_cse
    return invars, params


def _custom_derivative(eqn: JaxprEqn, close: Close) -> tuple[list, dict[str, Any]]:
    # JAX passes its derivative rules only the operands after the first `num_consts`.
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
    "closed_call": _call,
    "core_call": _call,
    "eval_jaxpr": _call,  # the calls of one body have this name since jax 0.11.1
    "composite": _call,
    "custom_vmap_call": _call,
    "shard_map": _shard_map,
}


# -- the pass --------------------------------------------------------------------------------------


@dataclass
class Conversion:
    """One run of the pass; it converts a shared body once, so the body stays shared.

    `rules` says which primitives it enters. `key_if_wanted` returns None for a constant to leave
    alone and a key for each other one; constants with equal keys become one input. `unconverted`
    collects the names of primitives without a rule whose bodies hold such constants.
    """

    rules: Mapping[str, Rule]
    key_if_wanted: Callable[[Any], Hashable | None]
    unconverted: set[str] = field(default_factory=set)
    _converted: dict[tuple, tuple[Body, Body]] = field(default_factory=dict)
    _needs: dict[int, tuple[Body, dict[Hashable, Any]]] = field(default_factory=dict)
    _keys: dict[int, tuple[Any, Hashable | None]] = field(default_factory=dict)

    def needs(self, body: Body) -> dict[Hashable, Any]:
        """Return the wanted constants of a body and of its inner bodies as far as `rules` reach."""
        if id(body) not in self._needs:
            self._needs[id(body)] = body, self._find_needs(body)  # holding it prevents id reuse
        return self._needs[id(body)][1]

    def _find_needs(self, body: Body) -> dict[Hashable, Any]:
        found = self._needed_constvars(body) if consts_of(body) else {}
        if (jaxpr := open_part(body)) is not body:
            for key, value in self.needs(jaxpr).items():
                found.setdefault(key, value)
            return found
        literals, nested = contents_of(body)
        if not nested:  # then they are in program order, and no equation can hold others
            for literal in literals:
                self._add(literal.val, found)
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

    def _needed_constvars(self, body: Body) -> dict[Hashable, Any]:
        """Return the wanted consts that the body reads.

        JAX leaves constvars in place when it removes the equations that read them.
        """
        read = {id(a) for eqn in body.eqns for a in eqn.invars}
        read |= {id(a) for a in body.outvars}
        found: dict[Hashable, Any] = {}
        for var, const in zip(body.constvars, consts_of(body), strict=True):
            if id(var) in read and (key := self.key_if_wanted(const)) is not None:
                found[key] = const
        return found

    def _add(self, value: Any, found: dict[Hashable, Any]) -> None:
        """Add the value of a Literal if it is wanted, and remember its key."""
        value_id = id(value)
        if value_id not in self._keys:
            self._keys[value_id] = value, self.key_if_wanted(value)  # holding it prevents id reuse
        if (key := self._keys[value_id][1]) is not None:
            found.setdefault(key, value)

    def body(self, body: B, constants: Mapping[Hashable, Any]) -> B:
        """Return the body with `constants` as its leading inputs, in that order."""
        if not constants and not self.needs(body):
            return body
        memo_key = (id(body), tuple(constants))
        if memo_key not in self._converted:
            self._converted[memo_key] = body, self._convert(body, constants)
        return cast(B, self._converted[memo_key][1])

    def _convert(self, body: Body, constants: Mapping[Hashable, Any]) -> Body:
        self.needs(body)  # fills `_keys` for the Literals of the body
        variables = {
            k: jax_internals.new_var(jax_internals.typeof(c)) for k, c in constants.items()
        }
        kept_vars, kept_consts, substitution = [], [], {}
        for var, const in zip(body.constvars, consts_of(body), strict=bool(consts_of(body))):
            key = self.key_if_wanted(const)
            if key is not None:
                if key in variables:  # otherwise nothing reads the constvar
                    substitution[var] = variables[key]
            else:
                kept_vars.append(var)
                kept_consts.append(const)
        if len(kept_vars) < len(consts_of(body)):
            body = replaced(body, constvars=kept_vars, consts=kept_consts)
        return self._rewrite(body, variables, substitution, list(variables.values()))

    def _rewrite(
        self,
        body: Body,
        const_lowering: ConstLowering,
        substitution: Mapping[Var, Var] | None = None,
        leading: Sequence[Var] = (),
    ) -> Body:
        """Replace wanted Literals, and the Vars in `substitution`, with the Vars of constants."""

        keys = self._keys

        def read(atoms: Sequence[Any]) -> list:
            atoms = list(atoms)
            for i, atom in enumerate(atoms):
                if isinstance(atom, Literal):
                    if (key := keys[id(atom.val)][1]) is not None:
                        atoms[i] = const_lowering[key]
                elif substitution:
                    atoms[i] = substitution.get(atom, atom)
            return atoms

        def close(bodies: Sequence[Body]) -> tuple[list[Body], list[Var]]:
            constants: dict[Hashable, Any] = {}
            for body in bodies:
                for key, value in self.needs(body).items():
                    constants.setdefault(key, value)
            closed = [self.body(body, constants) for body in bodies]
            return closed, [const_lowering[key] for key in constants]

        eqns = []
        for eqn in body.eqns:
            invars, params = read(eqn.invars), eqn.params
            rule = self.rules.get(eqn.primitive.name) if params else None
            if rule is not None and any(map(self.needs, bodies_of(eqn))):
                invars, changed = rule(eqn.replace(invars=invars), close)
                params = {**eqn.params, **changed}
            if invars != eqn.invars or params is not eqn.params:
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        debug_info = body.debug_info
        if leading and debug_info.arg_names is not None:
            names = ("",) * len(leading) + tuple(debug_info.arg_names)
            debug_info = debug_info._replace(arg_names=names)
        return replaced(
            body,
            invars=[*leading, *body.invars],
            outvars=read(body.outvars),
            eqns=eqns,
            debug_info=debug_info,
        )
