"""Closure conversion: rewrite a program so that every body receives its constants as inputs.

The bodies of a jaxpr have no free variables, so a constant that is an input of the program must be
passed down to every body that uses it: to those of control flow, and to inner functions (the body
of a jit). `engine/ir/closures.py` knows how each primitive passes operands to its bodies.

`const_lowering` maps the key of a constant to the Var that stands for it in the body being
rewritten; each body has its own, smaller map. The pass runs on jaxprs before JAX emits anything, so
JAX's lowering rules need to know nothing about constants. JAX itself threads the map through those
rules instead; that depends on every rule that makes a function, and gives one array several
arguments.

When not to use it: on a jaxpr that a user will read. It adds operands, so the result prints
differently from JAX's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from engine import jax_internals
from engine.ir.closures import (
    CLOSING,
    Group,
    NewGroup,
    Operand,
    closures_of,
    constvars_of,
    variables_read,
    with_names,
)
from engine.ir.jaxprs import Body, Literal, Var, bodies_of, consts_of, contents_of
from engine.jax_internals import open_part, replaced

B = TypeVar("B", bound=Body)


@dataclass
class Conversion:
    """One run of the pass; it converts a shared body once, so the body stays shared.

    `key_if_wanted` returns None for a constant to leave alone and a key for each other one;
    constants with equal keys become one input. `unconverted` collects the names of primitives whose
    operands cannot change, and whose bodies hold such constants; `left` has these constants.
    """

    key_if_wanted: Callable[[Any], Hashable | None]
    unconverted: set[str] = field(default_factory=set)
    left: dict[Hashable, Any] = field(default_factory=dict)
    _converted: dict[tuple[Any, ...], tuple[Body, Body]] = field(default_factory=dict)
    _needs: dict[int, tuple[Body, dict[Hashable, Any]]] = field(default_factory=dict)
    _keys: dict[int, tuple[Any, Hashable | None]] = field(default_factory=dict)

    def needs(self, body: Body) -> dict[Hashable, Any]:
        """Return the wanted constants of a body, and of the bodies that it can pass them to."""
        if id(body) not in self._needs:
            self._needs[id(body)] = body, self._find_needs(body)  # holding it prevents id reuse
        return self._needs[id(body)][1]

    def _find_needs(self, body: Body) -> dict[Hashable, Any]:
        found = self._needed_constvars(body) if consts_of(body) else {}
        if (jaxpr := open_part(body)) is not body:
            for key, value in self.needs(jaxpr).items():
                found.setdefault(key, value)
            return found
        literals, nested, _ = contents_of(body)
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
                if eqn.primitive.name in CLOSING:
                    for key, value in needed.items():
                        found.setdefault(key, value)
                elif needed:
                    self.unconverted.add(eqn.primitive.name)
                    self.left.update(needed)
        return found

    def _needed_constvars(self, body: Body) -> dict[Hashable, Any]:
        """Return the wanted consts that the body reads.

        JAX leaves constvars in place when it removes the equations that read them.
        """
        read = variables_read(body)
        found: dict[Hashable, Any] = {}
        for var, const in constvars_of(body):
            if var in read and (key := self.key_if_wanted(const)) is not None:
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
        const_lowering = {
            k: jax_internals.new_var(jax_internals.typeof(c)) for k, c in constants.items()
        }
        kept_vars, kept_consts, substitution = [], [], {}
        for var, const in constvars_of(body):
            key = self.key_if_wanted(const)
            if key is None:
                kept_vars.append(var)
                kept_consts.append(const)
            elif key in const_lowering:  # otherwise nothing reads the constvar
                substitution[var] = const_lowering[key]
        if len(kept_vars) < len(consts_of(body)):
            body = replaced(body, constvars=kept_vars, consts=kept_consts)
        return self._rewrite(body, const_lowering, substitution)

    def _rewrite(
        self, body: Body, const_lowering: Mapping[Hashable, Var], substitution: Mapping[Var, Var]
    ) -> Body:
        """Replace wanted Literals, and the Vars in `substitution`, with the leading inputs."""
        keys = self._keys

        def read(atoms: Sequence[Any]) -> list[Any]:
            atoms = list(atoms)
            for i, atom in enumerate(atoms):
                if isinstance(atom, Literal):
                    if (key := keys[id(atom.val)][1]) is not None:
                        atoms[i] = const_lowering[key]
                elif substitution:
                    atoms[i] = substitution.get(atom, atom)
            return atoms

        def with_constants(group: Group) -> NewGroup:
            constants: dict[Hashable, Any] = {}
            for body in group.bodies:
                for key, value in self.needs(body).items():
                    constants.setdefault(key, value)
            added = [Operand(const_lowering[key], None) for key in constants]
            own = [Operand(atom, i) for i, atom in enumerate(group.operands)]
            return [self.body(body, constants) for body in group.bodies], [*added, *own]

        eqns = []
        for eqn in body.eqns:
            invars, params = read(eqn.invars), eqn.params
            if params and any(map(self.needs, bodies_of(eqn))):
                closures = closures_of(eqn.replace(invars=invars))
                if closures is not None:
                    invars, changed = closures.rebuilt(list(map(with_constants, closures.groups)))
                    params = {**params, **changed}
            if invars != eqn.invars or params is not eqn.params:
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        leading = list(const_lowering.values())
        names = body.debug_info.arg_names
        return replaced(
            body,
            invars=[*leading, *body.invars],
            outvars=read(body.outvars),
            eqns=eqns,
            debug_info=body.debug_info
            if names is None
            else with_names(body, ("",) * len(leading) + tuple(names)),
        )


def sharing(body: B, constants: Mapping[Hashable, Any], left: Mapping[Hashable, Any]) -> B:
    """Return a converted program in which the constants among `left` are no inputs.

    `constants` are its leading inputs. JAX hoists those that are `left` in other bodies, and an
    equation reads these const args.
    """
    leading = dict(zip(constants, body.invars, strict=False))
    shared = {leading[key]: left[key] for key in constants if key in left}
    if not shared:
        return body
    names = body.debug_info.arg_names
    kept = [i for i, var in enumerate(body.invars) if var not in shared]
    return replaced(
        body,
        invars=[body.invars[i] for i in kept],
        eqns=[jax_internals.shared_constants(list(shared), list(shared.values())), *body.eqns],
        debug_info=body.debug_info
        if names is None
        else with_names(body, tuple(names[i] for i in kept)),
    )
