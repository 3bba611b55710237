"""Substitution: put other atoms, arrays and bodies into a draft."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from parity_tests.reduce.draft import (
    CALLS,
    Array,
    Atom,
    Body,
    CapturedRef,
    Draft,
    Equation,
    Path,
    Scalar,
    Var,
    free,
    reads,
)
from parity_tests.reduce.pruning import cleaned


def supplied(draft: Draft, body: Body, gone: Collection[Var], *, clean: bool = True) -> Draft:
    """Return a draft with a body; variables that are `gone` become arguments or captured arrays.

    Of the variables that nothing makes any more, only those that something reads are supplied.
    """
    constant = _constant(draft)
    captured, added = list(draft.captured), []
    bound: dict[int, Atom] = {}
    read = free(replace(body, inputs=()))
    for var in gone:
        if var.number not in read:
            continue
        array = Array(var.number, var.type, impl=_impl_of(var))
        if var.number in constant:
            captured.append(array)
            bound[var.number] = CapturedRef(var.number, var.type)
        else:
            added.append((var, array))
    body = rename_body(body, bound)
    found = replace(
        draft,
        body=replace(body, inputs=(*body.inputs, *(var for var, _ in added))),
        arguments=(*draft.arguments, *(array for _, array in added)),
        captured=tuple(captured),
    )
    return cleaned(found) if clean else found


def _impl_of(var: Var) -> str:
    """Return the implementation of PRNG keys; of "key<fry>" it is "threefry2x32"."""
    names = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}
    return names.get(var.type.dtype, "")


def _constant(draft: Draft) -> set[int]:
    """Return the numbers of the variables that depend on captured arrays and scalars alone."""
    found = {array.number for array in draft.captured}

    def of(body: Body) -> None:
        for each in body.equations:
            for inner in each.bodies:
                bound = zip(inner.inputs, each.operands, strict=False)
                if each.primitive in CALLS:
                    found.update(
                        var.number
                        for var, atom in bound
                        if isinstance(atom, Scalar) or atom.number in found
                    )
                of(inner)
            if reads(each) and reads(each) <= found:
                found.update(var.number for var in each.results)

    of(draft.body)
    return found


def with_array(draft: Draft, array: Array) -> Draft:
    """Put an array in the place of the one with its number."""

    def changed(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(array if each.number == array.number else each for each in arrays)

    return replace(draft, arguments=changed(draft.arguments), captured=changed(draft.captured))


# -- putting in place and renaming -----------------------------------------------------------------


def put_body(body: Body, path: Path, new: Body) -> Body:
    """Put a new body in the place of the one at a path."""
    if not path:
        return new
    (number, which), *rest = path
    equation = body.equations[number]
    inner = put_body(equation.bodies[which], tuple(rest), new)
    bodies = (*equation.bodies[:which], inner, *equation.bodies[which + 1 :])
    changed = replace(equation, bodies=bodies)
    equations = (*body.equations[:number], changed, *body.equations[number + 1 :])
    return replace(body, equations=equations)


def rename_atom(atom: Atom, bound: dict[int, Atom]) -> Atom:
    """Return the atom that a number is bound to, else the atom itself."""
    return atom if isinstance(atom, Scalar) else bound.get(atom.number, atom)


def rename_equation(equation: Equation, bound: dict[int, Atom]) -> Equation:
    """Rename what an equation and its bodies read."""
    return replace(
        equation,
        operands=tuple(rename_atom(atom, bound) for atom in equation.operands),
        bodies=tuple(rename_body(body, bound) for body in equation.bodies),
    )


def rename_body(body: Body, bound: dict[int, Atom]) -> Body:
    """Rename what a body reads and returns."""
    if not bound:
        return body
    return replace(
        body,
        equations=tuple(rename_equation(each, bound) for each in body.equations),
        outputs=tuple(rename_atom(atom, bound) for atom in body.outputs),
    )
