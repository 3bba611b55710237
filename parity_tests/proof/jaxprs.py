"""Value numbering of jaxprs: a number for each value, the same in both forms of a program.

A captured array has the number of its contents, whether it is a constvar or stands as a Literal. A
call is expanded, so what a body computes has the number that it would have outside. A loop's carry
is a symbol that is made of its start and of what each turn makes of it, so neither the order of
carried values nor dead ones count (`_loop`). Only what an output or an effect needs is numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from parity_tests.jaxpr.bodies import (
    HAVE_BODIES,
    Call,
    Cond,
    Held,
    LinearSolve,
    Scan,
    While,
    constants_of,
    inner,
    is_body,
    structure_of,
)
from parity_tests.jaxpr.captured import words_of
from parity_tests.proof.contents import content, odd_bits_of
from parity_tests.proof.encodings import (
    digest_of_type,
    encoded,
    is_primitive_of_jax,
    is_replicated,
    with_digests,
)
from parity_tests.proof.functions import may_write
from parity_tests.proof.laws import Repeated, before_repeating, repeated_by, value_of
from parity_tests.proof.liveness import STAND_ALONE, Live, Used, is_effectful, live, live_in_loop
from parity_tests.proof.numbers import Number, Numbered, Step, UndecidedError, number
from parity_tests.proof.rules import (
    COMBINES,
    COMBINING,
    OF_ONE_OBJECT,
    asked_by,
    check_left_out,
    expanded_alone,
    lowered_alone,
    params_of,
)

# Calls are expanded while the program is at most so many times as large as it is written. Near the
# bound both digests are made, so the forms of a program have one in common.
MOST_EXPANDED = 8
_NEAR = 2

_NONE = b""  # stands for a value that nothing needs


def number_jaxpr(closed: Any) -> Numbered:
    """Return the numbers of a closed_jaxpr.

    Raises `UndecidedError` for what has no rule, by its name.

    Example::

        number_jaxpr(jax.jit(f).trace(x).jaxpr).digest
    """
    size, written = _sizes(closed)
    if size > MOST_EXPANDED * written:
        return _numbered(closed, expands=False)
    found = _numbered(closed, expands=True)
    if size * _NEAR <= MOST_EXPANDED * written:
        return found
    return replace(found, by_calls=_numbered(closed, expands=False).digest)


def _numbered(closed: Any, *, expands: bool) -> Numbered:
    walk = _Walk(expands=expands)
    jaxpr = inner(closed)
    avals = [digest_of_type(var.aval) for var in jaxpr.invars]
    arguments = [number("argument", n, aval) for n, aval in enumerate(avals)]
    outputs = walk.body(closed, arguments, (True,) * len(jaxpr.outvars))
    results = [digest_of_type(var.aval) for var in jaxpr.outvars]
    how = "expanded" if expands else "calls"
    digest = number(how, *avals, "|", *results, "|", *outputs, "|", *walk.effects)
    steps = tuple(walk.steps.values())
    callbacks = [each.source.params["callback"] for each in steps if "callback" in each.name]
    return Numbered(
        digest=digest,
        outputs=tuple(outputs),
        effects=tuple(walk.effects),
        steps=steps,
        constants=frozenset(walk.constants),
        bodies=walk.bodies,
        by_calls=b"" if expands else digest,
        writers=walk.writers + sum(map(may_write, callbacks)),
        is_native=walk.is_native or any(each.name == "ffi_call" for each in steps),
        odd_bits=walk.odd_bits,
    )


def _sizes(closed: Any) -> tuple[int, int]:
    """Count the equations of a program with its calls expanded, and as it is written."""
    known: dict[int, tuple[int, int]] = {}
    size = _size(closed, known)
    return size, sum(written for _, written in known.values())


def _size(body: Any, known: dict[int, tuple[int, int]]) -> int:
    jaxpr = inner(body)
    if id(jaxpr) not in known:
        written = len(jaxpr.eqns)
        holding = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in _NUMBERED_INSIDE]
        inside = sum(_size(each, known) for eqn in holding for each in _walked(eqn))
        known[id(jaxpr)] = written + inside, written
    return known[id(jaxpr)][0]


_NUMBERED_INSIDE = COMBINES | STAND_ALONE | HAVE_BODIES


def _walked(equation: Any) -> list[Any]:
    structure = structure_of(equation)
    if structure is not None:
        return [body.jaxpr for body in structure.bodies()]
    found: list[Any] = []

    def noted(body: Any) -> Number:
        found.append(body)
        return _NONE

    with_digests(tuple(equation.params.values()), noted)
    return found


@dataclass
class _Walk:
    """One walk over a program.

    `level` is how many loops are around what is being numbered, `depth` how many bodies with
    effects of their own.
    """

    expands: bool
    effects: list[Number] = field(default_factory=list)
    steps: dict[Number, Step] = field(default_factory=dict)
    constants: set[Number] = field(default_factory=set)
    bodies: int = 0
    is_native: bool = False  # by a primitive that is not JAX's
    writers: int = 0  # of such primitives
    odd_bits: str = ""
    level: int = 0
    depth: int = 0
    _results: dict[Any, tuple[Any, list[Number]]] = field(default_factory=dict)
    _live: dict[Any, tuple[Any, Live]] = field(default_factory=dict)
    _known: dict[Any, tuple[Any, Number]] = field(default_factory=dict)
    _by_itself: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    # Constvars of bodies that stand alone: operands of the equation around them.
    _free: dict[Any, Number] = field(default_factory=dict)
    # Results of a cond: its index, and what each branch gave.
    _repeated: dict[Number, Repeated] = field(default_factory=dict)
    _cases: dict[Number, tuple[Number, tuple[Number, ...]]] = field(default_factory=dict)

    # -- bodies ------------------------------------------------------------------------------------

    def body(self, body: Any, inputs: Sequence[Number], used: Used) -> list[Number]:
        """Return the numbers of the outputs of a body that are used."""
        jaxpr = inner(body)
        constants = constants_of(body)
        bound = [self.constant(constants[var], var.aval) if var in constants else self._unbound(var)
                 for var in jaxpr.constvars]  # fmt: skip
        key = id(jaxpr), tuple(bound), tuple(inputs), used, self.level
        known = self._results.get(key)
        if known is not None:
            return known[1]
        self.bodies += 1
        values: dict[Any, Number] = dict(zip(jaxpr.constvars, bound, strict=True))
        values.update(zip(jaxpr.invars, inputs, strict=True))
        before = len(self.effects)
        for equation, outs in self.live(jaxpr, used).equations:
            operands = [
                self.constant(atom.val, atom.aval) if isinstance(atom, Literal)
                else values[atom]
                for atom in equation.invars
            ]  # fmt: skip
            results = self.equation(equation, operands, outs)
            values.update(zip(equation.outvars, results, strict=True))
        outputs = [
            _NONE if not is_used
            else self.constant(atom.val, atom.aval) if isinstance(atom, Literal)
            else values[atom]
            for atom, is_used in zip(jaxpr.outvars, used, strict=True)
        ]  # fmt: skip
        if len(self.effects) == before:
            self._results[key] = (jaxpr, outputs)
        return outputs

    def live(self, jaxpr: Any, used: Used) -> Live:
        """Return what of a body is needed for the outputs that are used, and for its effects."""
        known = self._live.get((id(jaxpr), used))
        if known is None:
            known = self._live[id(jaxpr), used] = (jaxpr, live(jaxpr, used))
        return known[1]

    def _unbound(self, var: Any) -> Number:
        if var not in self._free:
            raise UndecidedError(f"a constvar without a value, {var.aval.str_short()}")
        return self._free[var]

    def constant(self, value: Any, aval: Any) -> Number:
        """Return the number of a captured array or a scalar: its type and its bytes."""
        # A Python scalar is its own identity: an id may be another scalar's later.
        key = id(value), id(aval)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = ((value, aval), self._constant(value, aval))
            self.constants.add(known[1])
        return known[1]

    def _constant(self, value: Any, aval: Any) -> Number:
        if type(aval).__name__ != "ShapedArray":
            raise UndecidedError(f"a captured {type(aval).__name__}")
        words = words_of(value)
        if isinstance(words, (bool, int, float, complex)):
            words = np.asarray(words, aval.dtype)
        # Most constants are scalars, whose bytes are all that they say.
        is_scalar = isinstance(words, (np.generic, np.ndarray)) and not words.shape
        is_short = is_scalar and words.dtype.kind in "fiuc" and words.dtype.isnative
        if is_short:
            return number("constant", digest_of_type(aval), words.tobytes())
        self.odd_bits = self.odd_bits or odd_bits_of(words)
        return number("constant", digest_of_type(aval), content(words))

    # -- equations ---------------------------------------------------------------------------------

    def equation(self, equation: Any, operands: list[Number], used: Used) -> list[Number]:
        """Return the numbers of the results of an equation."""
        if not is_primitive_of_jax(equation.primitive):
            return self._foreign(equation, operands)
        name, structure = equation.primitive.name, structure_of(equation)
        if name in OF_ONE_OBJECT:
            return self.body(self._alone_of(equation, expanded_alone), operands, used)
        if structure is None or isinstance(structure, Held):
            by_law = value_of(equation, operands)
            if by_law is not None:
                return [by_law]
            return self._simple(equation, operands)
        if isinstance(structure, Scan):
            return self._scan(equation, structure, operands, used)
        if isinstance(structure, While):
            return self._while(equation, structure, operands, used)
        if isinstance(structure, Cond):
            return self._cond(equation, structure, operands, used)
        if isinstance(structure, LinearSolve):
            check_left_out(equation)
            solve, of_solve = structure.solver(operands)
            outputs = self.body(solve, of_solve, used)
            return [number(name, each) if each else _NONE for each in outputs]
        if name == "shard_map":
            return self._shard_map(equation, operands, used)
        return self._call(equation, structure, operands, used)

    def _simple(self, equation: Any, operands: list[Number]) -> list[Number]:
        """Return the numbers of an equation without bodies that are called."""
        name = equation.primitive.name
        if name == "broadcast_in_dim":
            repeated = repeated_by(equation, operands, self._repeated)
            if repeated is not None:
                return [self._repeat(equation, repeated)]
        elif self._repeated and not self._repeated.keys().isdisjoint(operands):
            before = before_repeating(equation, operands, self._repeated)
            if before is not None:
                repeated, own_params, bases, aval = before
                base = self._one(equation, own_params, bases, aval)
                return [self._repeat(equation, replace(repeated, base=base, aval=aval))]
        has_bodies = name in COMBINES or name in STAND_ALONE
        params_of_it = self._params_with_bodies if has_bodies else params_of
        params = self._alone_of(equation, params_of_it) if self.level else params_of_it(equation)
        return self._made(equation, params, operands)

    def _foreign(self, equation: Any, operands: list[Number]) -> list[Number]:
        """Return the numbers of an equation whose primitive is not JAX's: it is its module."""
        found = self._alone_of(equation, lowered_alone)
        self.is_native |= any(each.name == "stablehlo.custom_call" for each in found.steps)
        self.writers += found.writers
        params = [digest_of_type(equation.ctx), found.digest]
        return self._made(equation, params, operands)

    def _alone_of(self, equation: Any, make: Callable[[Any], Any]) -> Any:
        """Return what an equation is by itself; the body of a loop asks for it again and again."""
        known = self._by_itself.get(id(equation))
        if known is None:
            known = self._by_itself[id(equation)] = equation, make(equation)
        return known[1]

    def _one(self, equation: Any, params: Any, operands: list[Number], aval: Any) -> Number:
        """Return the number of an equation with other params and another type of its result."""
        encoded_params = params_of(equation, params)
        own = number(
            equation.primitive.name,
            b"".join(encoded_params),
            digest_of_type(aval),
            b"".join(operands),
        )
        self._step(own, equation, operands)
        return own

    def _repeat(self, equation: Any, repeated: Repeated) -> Number:
        """Return the number of a repeated value, and note what it repeats."""
        [result] = equation.outvars
        own = number("repeated", digest_of_type(result.aval), *repeated.axes, repeated.base)
        self._step(own, equation, [repeated.base])
        self._repeated[own] = repeated
        return own

    def _made(self, equation: Any, params: list[bytes], operands: list[Number]) -> list[Number]:
        """Return numbers of results that are made of a name, params, types and operands."""
        results = [digest_of_type(var.aval) for var in equation.outvars]
        own = number(
            equation.primitive.name, b"".join(params), b"".join(results), b"".join(operands)
        )
        self._step(own, equation, operands)
        if is_effectful(equation):
            kinds = sorted(type(effect).__name__ for effect in equation.effects)
            own = self._after(number("effect", *kinds, own), own)
        # The number of an equation covers how many results it has.
        return [own] if len(results) == 1 else [number(own, n) for n in range(len(results))]

    @contextmanager
    def _own_effects(self) -> Iterator[list[Number]]:
        """Give a body effects of its own: their results are others than those around it."""
        around, self.effects = self.effects, []
        self.depth += 1
        yield self.effects
        self.effects = around
        self.depth -= 1

    def _after(self, effect: Number, own: Number) -> Number:
        """Note an effect, and return the number of what it gives, which has its place in it."""
        self.effects.append(effect)
        return number(own, "after", self.depth, len(self.effects))

    def _step(self, own: Number, equation: Any, operands: Sequence[Number]) -> None:
        if own not in self.steps:
            name = equation.primitive.name
            self.steps[own] = Step(own, name, tuple(operands), equation.params, equation)

    def _params_with_bodies(self, equation: Any) -> list[bytes]:
        """Encode the params of an equation with bodies that stand alone, these by their digests."""
        params, name = dict(equation.params), equation.primitive.name
        for body, consts in COMBINING.items():
            if is_body(params.get(body)) and (held := params.pop(consts, ())):
                if len(held) != len(inner(params[body]).constvars):
                    raise UndecidedError("a body whose constants are no constvars")
                params[body] = ClosedJaxpr(inner(params[body]), list(held))
        if not equation.effects and any(
            type(atom.aval).__name__ == "AbstractRef" for atom in equation.invars
        ):
            raise UndecidedError(f"{name} of a reference, without an effect on it")
        return params_of(equation, {k: with_digests(v, self._alone) for k, v in params.items()})

    def _alone(self, body: Any) -> Number:
        """Return the digest of a body whose inputs, and constvars without a value, are symbols."""
        jaxpr, constants = inner(body), constants_of(body)
        free = [var for var in jaxpr.constvars if var not in constants]
        avals = [digest_of_type(var.aval) for var in (*free, *jaxpr.invars)]
        symbols = [number("parameter", n, aval) for n, aval in enumerate(avals)]
        self._free.update(zip(free, symbols, strict=False))
        around = self.level, self.depth
        self.level = self.depth = 0
        with self._own_effects() as effects:
            outputs = self.body(body, symbols[len(free) :], (True,) * len(jaxpr.outvars))
        self.level, self.depth = around
        return number("body", *avals, "|", *outputs, "|", *effects)

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, equation: Any, call: Call, operands: list[Number], used: Used) -> list[Number]:
        asked = asked_by(equation)
        inputs = [
            asked.into(n, each, is_constant=each in self.constants)
            for n, each in enumerate(operands)
        ]
        if self.expands:
            outputs = self.body(call.body, inputs, used)
        else:
            outputs = self._opaque(call.body, inputs)
        found = [asked.out(n, each) if each else _NONE for n, each in enumerate(outputs)]
        if found != outputs:
            self._step(number(equation.primitive.name, *found), equation, operands)
        return found

    def _opaque(self, body: Any, inputs: Sequence[Number]) -> list[Number]:
        """Return numbers of a call's results by its body, of which constants alone are bound."""
        jaxpr = inner(body)
        passed = [each for each in inputs if each not in self.constants]
        symbols = iter(range(len(passed)))
        bound = [
            each
            if each in self.constants
            else number("parameter", next(symbols), digest_of_type(v.aval))
            for each, v in zip(inputs, jaxpr.invars, strict=True)
        ]
        level, self.level = self.level, 0
        with self._own_effects() as inside:
            outputs = self.body(body, bound, (True,) * len(jaxpr.outvars))
        self.level = level
        called = number("call", *outputs, "|", *inside, "|", *passed)
        if inside:
            called = self._after(number("effect", "call", called), called)
        return [number(called, n) for n in range(len(outputs))]

    def _shard_map(self, equation: Any, operands: list[Number], used: Used) -> list[Number]:
        """Return numbers of what a body gives that runs on each device, on parts of operands."""
        params = equation.params
        tag = number("shard_map", *params_of(equation))
        inputs = [
            each if each in self.constants and is_replicated(spec)
            else number("part", tag, encoded(spec), each)
            for each, spec in zip(operands, params["in_specs"], strict=True)
        ]  # fmt: skip
        outputs = self.body(params["jaxpr"], inputs, used)
        return [
            number("whole", tag, encoded(spec), digest_of_type(var.aval), each) if each else each
            for each, spec, var in zip(outputs, params["out_specs"], equation.outvars, strict=True)
        ]

    # -- branches and loops ------------------------------------------------------------------------

    def _cond(self, equation: Any, cond: Cond, operands: list[Number], used: Used) -> list[Number]:
        """Return numbers of what each branch makes of the operands; each has effects of its own.

        In a branch, what an earlier cond of the same index gave is what its branch of that place
        gave: the derivative of a cond hands residuals on so.
        """
        params, index = params_of(equation), operands[0]
        outputs, effects = [], []
        for n, branch in enumerate(cond.branches):
            inputs = [self._in_branch(index, n, len(cond.branches), each) for each in operands[1:]]
            with self._own_effects() as inside:
                outputs.append(self.body(branch, inputs, used))
            effects.append(tuple(inside))
        signature = number("cond", *params, index)
        if any(effects):
            of_branches = (number("branch", *each) for each in effects)
            signature = self._after(number("effect", signature, *of_branches), signature)
        results = [_NONE] * len(used)
        for n, is_used in enumerate(used):
            if is_used:
                cases = tuple(branch[n] for branch in outputs)
                if len(set(cases)) == 1 and not any(effects):
                    results[n] = cases[0]  # whichever branch is taken
                    continue
                results[n] = number(signature, *cases)
                if not any(effects):
                    self._cases[results[n]] = (index, cases)
        self._step(number(signature, *results), equation, operands)
        return results

    def _in_branch(self, index: Number, branch: int, branches: int, value: Number) -> Number:
        known_index, cases = self._cases.get(value, (_NONE, ()))
        return cases[branch] if known_index == index and len(cases) == branches else value

    def _scan(self, equation: Any, scan: Scan, operands: list[Number], used: Used) -> list[Number]:
        consts, starts, rows = scan.split(operands)
        jaxpr, carry = inner(scan.body), len(starts)
        live_outs = live_in_loop(partial(self.live, jaxpr), scan.consts, carry, used)
        avals = [digest_of_type(v.aval) for v in jaxpr.invars[scan.consts :]]
        self.level += 1
        row_symbols = [
            number("row", self.level, each, aval)
            for each, aval in zip(rows, avals[carry:], strict=True)
        ]

        def turn(symbols: Sequence[Number]) -> tuple[list[Number], list[Number]]:
            outputs = self.body(scan.body, [*consts, *symbols, *row_symbols], live_outs)
            return outputs[:carry], outputs[carry:]

        loop = self._loop(starts, avals[:carry], live_outs[:carry], turn)
        self.level -= 1
        signature = self._loop_number(equation, loop)
        return [
            _NONE if not is_used
            else loop.out(n, signature) if n < carry
            else number("rows", signature, loop.others[n - carry])
            for n, is_used in enumerate(used)
        ]  # fmt: skip

    def _while(
        self, equation: Any, loop: While, operands: list[Number], used: Used
    ) -> list[Number]:
        of_cond, of_body, starts = loop.split(operands)
        jaxpr, cond = inner(loop.body), inner(loop.cond)
        needed = self.live(cond, (True,)).inputs[loop.cond_consts :]
        wanted = tuple(a or b for a, b in zip(used, needed, strict=True))
        live_outs = live_in_loop(partial(self.live, jaxpr), loop.body_consts, len(starts), wanted)
        avals = [digest_of_type(v.aval) for v in jaxpr.invars[loop.body_consts :]]
        self.level += 1

        def turn(symbols: Sequence[Number]) -> tuple[list[Number], list[Number]]:
            goes_on = self.body(loop.cond, [*of_cond, *symbols], (True,))
            of_cond_alone = [*self.effects]
            outputs = self.body(loop.body, [*of_body, *symbols], live_outs)
            return outputs, [number("cond", *goes_on, *of_cond_alone)]

        made = self._loop(starts, avals, live_outs, turn)
        self.level -= 1
        signature = self._loop_number(equation, made, *made.others)
        return [made.out(n, signature) if is_used else _NONE for n, is_used in enumerate(used)]

    def _loop(
        self,
        starts: Sequence[Number],
        avals: Sequence[bytes],
        live: Used,
        turn: Callable[[Sequence[Number]], tuple[list[Number], list[Number]]],
    ) -> _Loop:
        """Return the symbols of carried values by what they are, not by where they stand.

        A carried value is first its start, then, again and again, itself with what one turn makes
        of it, until no two values part any more: then values with one symbol are equal in every
        turn. A symbol determines the ones before it. So two loops whose sets of symbols are equal
        when they part no more are one loop (partition refinement, as Hopcroft's of automata). The
        level keeps the symbols of a loop apart from those of the loops around it.

        A value that no turn changes is its start, and no carried value.
        """
        carried = [n for n, is_live in enumerate(live) if is_live]
        values: list[Number] = [_NONE] * len(starts)
        while True:
            for n in carried:
                values[n] = number("carry", self.level, starts[n], avals[n])
            while True:
                before = len({values[n] for n in carried})
                with self._own_effects() as inside:
                    after, others = turn(values)
                unchanged = [n for n in carried if after[n] == values[n]]
                refined = {n: number("turn", values[n], after[n]) for n in carried}
                is_stable = len(set(refined.values())) == before
                if is_stable:
                    break
                for n in carried:
                    values[n] = refined[n]
            if not unchanged:
                break
            for n in unchanged:
                values[n] = starts[n]
            carried = [n for n in carried if n not in unchanged]
        return _Loop(refined, values, others, tuple(inside))

    def _loop_number(self, equation: Any, loop: _Loop, *others: Number) -> Number:
        """Return the number of a loop as a whole, and note its effects."""
        symbols = sorted(set(loop.symbols.values()))
        name = equation.primitive.name
        own = number(name, *params_of(equation), "|", *symbols, "|", *others, "|", *loop.effects)
        self._step(own, equation, symbols)
        if loop.effects:
            own = self._after(number("effect", own), own)
        return own


@dataclass(frozen=True)
class _Loop:
    """The carried values of a loop by position: symbols of those that change, all at the start.

    `others` are the numbers of what a turn gives beside them.
    """

    symbols: Mapping[int, Number]
    values: Sequence[Number]
    others: Sequence[Number]
    effects: tuple[Number, ...]

    def out(self, n: int, signature: Number) -> Number:
        """Return the number of a carried value after the last turn."""
        return (
            number("carried", signature, self.symbols[n]) if n in self.symbols else self.values[n]
        )
