"""Edits: the ways from a draft to smaller ones. Nothing here runs a program.

An equation that is cut is replaced by the value that it returned when the program was read: by an
argument, or by a captured array where it depended on captured arrays alone, as XLA folds those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
    numbers,
    reads,
)
from parity_tests.reduce.pruning import cleaned, deciding


def with_outputs(draft: Draft, outputs: Collection[Atom]) -> Draft:
    """Return the draft with these outputs alone."""
    return cleaned(replace(draft, body=replace(draft.body, outputs=tuple(outputs))))


def paths(body: Body, here: Path = ()) -> Iterator[Path]:
    """Yield the paths of all bodies, the innermost first."""
    for number, equation in enumerate(body.equations):
        for which, inner in enumerate(equation.bodies):
            yield from paths(inner, (*here, (number, which)))
    yield here


def body_at(body: Body, path: Path) -> Body:
    """Return the body at a path."""
    for number, which in path:
        body = body.equations[number].bodies[which]
    return body


def movable(draft: Draft, path: Path) -> tuple[int, ...]:
    """Return the numbers of the equations at a path that may be cut.

    An equation in a while that decides when the loop ends may not: the loop would not end.
    """
    body = body_at(draft.body, path)
    held: set[int] = set()
    if path:
        (number, which), above = path[-1], body_at(draft.body, path[:-1])
        equation = above.equations[number]
        if equation.primitive == "while":
            if which == 0:
                return ()
            held = deciding(equation)
    return tuple(
        number
        for number, each in enumerate(body.equations)
        if not {var.number for var in each.results} & held
    )


def cut(draft: Draft, path: Path, kept: Collection[int]) -> Draft:
    """Cut the equations at a path that are not `kept`, and return what is left.

    In the outermost body, results that nothing reads any more become outputs, and outputs that were
    cut go.
    """
    body = body_at(draft.body, path)
    equations = tuple(each for n, each in enumerate(body.equations) if n in kept)
    gone = [var for n, each in enumerate(body.equations) if n not in kept for var in each.results]
    outputs = body.outputs
    if not path:
        lost = {var.number for var in gone} | {var.number for var in body.inputs}
        outputs = tuple(atom for atom in outputs if not numbers((atom,)) & lost)
        needed = set().union(*map(reads, equations)) | numbers(outputs) if equations else set()
        sinks = [var for each in equations for var in each.results if var.number not in needed]
        outputs = (*outputs, *sinks)
    cut_body = replace(body, equations=equations, outputs=outputs)
    return supplied(draft, put_body(draft.body, path, cut_body), gone)


def inlined(draft: Draft, path: Path, number: int) -> Iterator[Draft]:
    """Yield the drafts with a body of an equation in its place: one turn of a loop, one branch."""
    equation = body_at(draft.body, path).equations[number]
    for which, inner in enumerate(equation.bodies):
        if equation.primitive != "while" or which != 0:
            yield _with_body_in_place(draft, path, number, inner)


def _with_body_in_place(draft: Draft, path: Path, number: int, inner: Body) -> Draft:
    body = body_at(draft.body, path)
    equation = body.equations[number]
    is_scan, carried = equation.primitive == "scan", equation.carried
    rows = inner.inputs[carried:] if is_scan else ()
    stacked = equation.results[carried:] if is_scan else ()
    operands = zip(inner.inputs, equation.operands, strict=False)
    bound = {var.number: atom for var, atom in operands if var not in rows}
    made = tuple(rename_equation(each, bound) for each in inner.equations)
    returned = {
        var.number: rename_atom(atom, bound)
        for var, atom in zip(equation.results, inner.outputs, strict=True)
    }
    # One turn returns no stack of rows. Only among the outputs of the program may its row stand
    # for the stack; elsewhere the recorded stack is supplied.
    known = {key: atom for key, atom in returned.items() if key not in numbers(stacked)}
    after = tuple(rename_equation(each, known) for each in body.equations[number + 1 :])
    for_outputs = known if path else returned
    flat = replace(
        body,
        equations=(*body.equations[:number], *made, *after),
        outputs=tuple(rename_atom(atom, for_outputs) for atom in body.outputs),
    )
    # The predicate of a loop or the index of a branch may be read by nobody now, and goes.
    return supplied(draft, put_body(draft.body, path, flat), [*rows, *stacked])


def simpler_arrays(draft: Draft) -> Iterator[Draft]:
    """Yield the drafts with one simpler array: of other values, or an argument if captured."""
    for array in (*draft.captured, *draft.arguments):
        if array.values == "recorded" and not array.impl and array.made_by != "scalar":
            for values in ("ones", "random"):
                floating = array.type.dtype.startswith(("float", "bfloat"))
                if values == "ones" or floating or "int" in array.type.dtype:
                    yield with_array(draft, replace(array, values=values))
    for array in draft.captured:
        var = Var(array.number, array.type)
        body = rename_body(draft.body, {array.number: var})
        yield replace(
            draft,
            body=replace(body, inputs=(*body.inputs, var)),
            arguments=(*draft.arguments, array),
            captured=tuple(each for each in draft.captured if each != array),
        )


def merged_arrays(draft: Draft) -> Iterator[Draft]:
    """Yield the drafts in which one array takes the place of another of its type."""
    for arrays, atom in ((draft.captured, CapturedRef), (draft.arguments, Var)):
        for n, array in enumerate(arrays):
            for other in arrays[:n]:
                if other.type == array.type and other.impl == array.impl:
                    bound: dict[int, Atom] = {array.number: atom(other.number, other.type)}
                    yield cleaned(replace(draft, body=rename_body(draft.body, bound)))


def without_unwritable(draft: Draft) -> Draft:
    """Cut every equation that cannot be written, in all bodies."""
    for path in list(paths(draft.body)):
        body = body_at(draft.body, path)
        kept = [n for n, each in enumerate(body.equations) if not each.unwritable]
        if len(kept) < len(body.equations):
            draft = _cut_in_place(draft, path, kept)
    return cleaned(draft)


def _cut_in_place(draft: Draft, path: Path, kept: Collection[int]) -> Draft:
    """Cut without a change to the outputs, nor to the numbers of the equations that stay."""
    body = body_at(draft.body, path)
    gone = [var for n, each in enumerate(body.equations) if n not in kept for var in each.results]
    equations = tuple(
        each if n in kept else Equation("nothing", (), ()) for n, each in enumerate(body.equations)
    )
    whole = put_body(draft.body, path, replace(body, equations=equations))
    return supplied(draft, whole, gone, clean=False)


# -- other atoms, arrays and bodies ----------------------------------------------------------------


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
