"""Pruning: a draft without the equations that no output depends on, in every body."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from parity_tests.reduce.draft import CALLS, Body, Draft, Equation, free, numbers, reads

T = TypeVar("T")


def cleaned(draft: Draft) -> Draft:
    """Leave out equations, operands of bodies, arguments and arrays that no output depends on."""
    body = _pruned(draft.body)
    needed = free(replace(body, inputs=()))
    pairs = zip(body.inputs, draft.arguments, strict=True)
    kept = [(var, array) for var, array in pairs if var.number in needed]
    return replace(
        draft,
        body=replace(body, inputs=tuple(var for var, _ in kept)),
        arguments=tuple(array for _, array in kept),
        captured=tuple(array for array in draft.captured if array.number in needed),
    )


def deciding(equation: Equation) -> set[int]:
    """Return the numbers of the variables in a while's body that decide when the loop ends."""
    body = equation.bodies[1]
    carry = sorted(_carry_of_while(equation, set()))
    inner = _pruned(replace(body, outputs=_chosen(body.outputs, carry)))
    return {var.number for each in inner.equations for var in each.results}


def _pruned(body: Body) -> Body:
    needed = numbers(body.outputs)
    kept = []
    for equation in reversed(body.equations):
        if not any(var.number in needed for var in equation.results):
            continue
        if equation.unwritable:
            pass  # it has no bodies in the draft
        elif equation.primitive in CALLS:
            equation = _pruned_call(equation, needed)
        elif equation.primitive == "cond":
            equation = _pruned_cond(equation, needed)
        elif equation.primitive == "scan":
            equation = _pruned_scan(equation, needed)
        elif equation.primitive == "while":
            equation = _pruned_while(equation, needed)
        kept.append(equation)
        needed |= reads(equation)
    return replace(body, equations=tuple(kept[::-1]))


def _pruned_call(equation: Equation, needed: set[int]) -> Equation:
    [body] = equation.bodies
    which = [n for n, var in enumerate(equation.results) if var.number in needed]
    body = _pruned(replace(body, outputs=_chosen(body.outputs, which)))
    read = free(replace(body, inputs=()))
    inputs = [n for n, var in enumerate(body.inputs) if var.number in read]
    return replace(
        equation,
        operands=_chosen(equation.operands, inputs),
        results=_chosen(equation.results, which),
        barriers=_chosen(equation.barriers, inputs) if equation.barriers else (),
        bodies=(replace(body, inputs=_chosen(body.inputs, inputs)),),
    )


def _pruned_cond(equation: Equation, needed: set[int]) -> Equation:
    which = [n for n, var in enumerate(equation.results) if var.number in needed]
    bodies = tuple(
        _pruned(replace(body, outputs=_chosen(body.outputs, which))) for body in equation.bodies
    )
    return replace(equation, results=_chosen(equation.results, which), bodies=bodies)


def _pruned_scan(equation: Equation, needed: set[int]) -> Equation:
    [body] = equation.bodies
    n = equation.carried
    stacked = [i for i in range(n, len(body.outputs)) if equation.results[i].number in needed]
    carry = {i for i in range(n) if equation.results[i].number in needed}
    while True:
        outputs = [*sorted(carry), *stacked]
        inner = _pruned(replace(body, outputs=_chosen(body.outputs, outputs)))
        read = free(replace(inner, inputs=()))
        more = {i for i in range(n) if body.inputs[i].number in read} - carry
        if not more:
            break
        carry |= more
    xs = [i for i in range(n, len(body.inputs)) if body.inputs[i].number in read]
    inputs = [*sorted(carry), *xs]
    return replace(
        equation,
        operands=_chosen(equation.operands, inputs),
        results=_chosen(equation.results, outputs),
        bodies=(replace(inner, inputs=_chosen(body.inputs, inputs)),),
        carried=len(carry),
    )


def _pruned_while(equation: Equation, needed: set[int]) -> Equation:
    carry = _carry_of_while(
        equation, {i for i, var in enumerate(equation.results) if var.number in needed}
    )
    which = sorted(carry)
    cond, body = equation.bodies
    bodies = (
        _pruned(replace(cond, inputs=_chosen(cond.inputs, which))),
        _pruned(
            replace(body, inputs=_chosen(body.inputs, which), outputs=_chosen(body.outputs, which))
        ),
    )
    return replace(
        equation,
        operands=_chosen(equation.operands, which),
        results=_chosen(equation.results, which),
        bodies=bodies,
        carried=len(which),
    )


def _carry_of_while(equation: Equation, wanted: set[int]) -> set[int]:
    """Return the places of the carry that the condition and the `wanted` places depend on."""
    cond, body = equation.bodies
    read = free(replace(cond, inputs=()))
    carry = wanted | {i for i, var in enumerate(cond.inputs) if var.number in read}
    while True:
        inner = _pruned(replace(body, outputs=_chosen(body.outputs, sorted(carry))))
        read = free(replace(inner, inputs=()))
        more = {i for i, var in enumerate(body.inputs) if var.number in read} - carry
        if not more:
            return carry
        carry |= more


def _chosen(items: tuple[T, ...], which: Collection[int]) -> tuple[T, ...]:
    return tuple(items[n] for n in which)
