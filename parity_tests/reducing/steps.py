"""Steps: a draft to smaller ones. Nothing here runs a program; whether one still shows is asked.

What is cut is replaced by what it returned when the program was read: by an argument, or by a
captured array where it depended on captured arrays alone, since that is what XLA folds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from parity_tests.reducing.draft import (
    CALLS,
    Array,
    Atom,
    Body,
    Captured,
    Draft,
    Equation,
    Scalar,
    Var,
    free,
    numbers,
    reads,
    walk,
)

# Which body, from the outermost: pairs of the number of an equation and the number of its body.
Path = tuple[tuple[int, int], ...]


def cleaned(draft: Draft) -> Draft:
    """Leave out what no output depends on: equations, operands of bodies, arguments, arrays."""
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

    In the bodies of a while those that decide when it ends may not: it would not end.
    """
    body = body_at(draft.body, path)
    held: set[int] = set()
    if path:
        (number, which), above = path[-1], body_at(draft.body, path[:-1])
        equation = above.equations[number]
        if equation.primitive == "while":
            if which == 0:
                return ()
            held = _deciding(equation)
    return tuple(
        number
        for number, each in enumerate(body.equations)
        if not {var.number for var in each.results} & held
    )


def cut(draft: Draft, path: Path, kept: Collection[int]) -> Draft:
    """Cut the equations at a path that are not `kept`, and return what is left.

    Of the outermost body, the results that nothing reads any more become outputs, and outputs that
    were cut go.
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
    return _with_values(draft, _put(draft.body, path, cut_body), gone)


def inlined(draft: Draft, path: Path, number: int) -> Iterator[Draft]:
    """Yield the drafts with a body of an equation in its place: one turn of a loop, one branch."""
    body = body_at(draft.body, path)
    equation = body.equations[number]
    for which, inner in enumerate(equation.bodies):
        if equation.primitive == "while" and which == 0:
            continue
        bound = dict(zip((var.number for var in inner.inputs), equation.operands, strict=False))
        turns: list[Var] = []
        if equation.primitive == "scan":
            turns = list(inner.inputs[equation.carried :])
            for var in turns:
                del bound[var.number]
        returned = inner.outputs
        stacked: list[Var] = []
        if equation.primitive == "scan":
            stacked = list(equation.results[equation.carried :])
        bound_out = {
            var.number: _renamed(atom, bound)
            for var, atom in zip(equation.results, returned, strict=True)
            if var not in stacked
        }
        renamed = tuple(_rename(each, bound) for each in inner.equations)
        after = tuple(_rename(each, bound_out) for each in body.equations[number + 1 :])
        outputs = tuple(_renamed(atom, bound_out) for atom in body.outputs)
        if not path and stacked:
            # What one turn returns stands for what all turns returned, where it is an output.
            turn = {
                var.number: _renamed(atom, bound)
                for var, atom in zip(stacked, returned[equation.carried :], strict=True)
            }
            outputs = tuple(_renamed(atom, turn) for atom in outputs)
        equations = (*body.equations[:number], *renamed, *after)
        flat = replace(body, equations=equations, outputs=outputs)
        whole = _put(draft.body, path, flat)
        # The predicate of a loop or the index of a branch may be read by nobody now, and goes.
        yield _with_values(draft, whole, [*turns, *stacked])


def simpler_arrays(draft: Draft) -> Iterator[Draft]:
    """Yield the drafts in which one array is simpler: any values, or an argument for a captured."""
    for array in (*draft.captured, *draft.arguments):
        if array.values == "recorded" and not array.impl and array.made_by != "scalar":
            for values in ("ones", "random"):
                floating = array.type.dtype.startswith(("float", "bfloat"))
                if values == "ones" or floating or "int" in array.type.dtype:
                    yield _with_array(draft, replace(array, values=values))  # type: ignore[arg-type]
    for array in draft.captured:
        var = Var(array.number, array.type)
        body = _rename_body(draft.body, {array.number: var})
        yield replace(
            draft,
            body=replace(body, inputs=(*body.inputs, var)),
            arguments=(*draft.arguments, array),
            captured=tuple(each for each in draft.captured if each != array),
        )


def merged_arrays(draft: Draft) -> Iterator[Draft]:
    """Yield the drafts in which one captured array stands for another of its type."""
    for n, array in enumerate(draft.captured):
        for other in draft.captured[:n]:
            if other.type == array.type and other.impl == array.impl:
                atom = Captured(other.number, other.type)
                yield cleaned(
                    replace(draft, body=_rename_body(draft.body, {array.number: atom}))
                )


def unwritable(draft: Draft) -> tuple[str, ...]:
    """Say which equations cannot be written, and why: "pure_callback: its parameter ..."."""
    return tuple(
        dict.fromkeys(
            f"{each.primitive}: {each.unwritable}" for each in walk(draft.body) if each.unwritable
        )
    )


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
    whole = _put(draft.body, path, replace(body, equations=equations))
    return _with_values(draft, whole, gone, clean=False)


# -- values in the place of variables --------------------------------------------------------------


def _with_values(draft: Draft, body: Body, gone: Collection[Var], *, clean: bool = True) -> Draft:
    """Let variables that nothing makes any more be arguments, or captured arrays."""
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
            bound[var.number] = Captured(var.number, var.type)
        else:
            added.append((var, array))
    body = _rename_body(body, bound)
    found = replace(
        draft,
        body=replace(body, inputs=(*body.inputs, *(var for var, _ in added))),
        arguments=(*draft.arguments, *(array for _, array in added)),
        captured=tuple(captured),
    )
    return cleaned(found) if clean else found


def _impl_of(var: Var) -> str:
    """Return the implementation of PRNG keys: that of "key<fry>" is "threefry2x32"."""
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


def _with_array(draft: Draft, array: Array) -> Draft:
    def changed(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(array if each.number == array.number else each for each in arrays)

    return replace(draft, arguments=changed(draft.arguments), captured=changed(draft.captured))


# -- dead code -------------------------------------------------------------------------------------


def _pruned(body: Body) -> Body:
    needed = numbers(body.outputs)
    kept = []
    for equation in reversed(body.equations):
        if not any(var.number in needed for var in equation.results):
            continue
        if equation.primitive in CALLS:
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
            replace(
                body, inputs=_chosen(body.inputs, which), outputs=_chosen(body.outputs, which)
            )
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


def _deciding(equation: Equation) -> set[int]:
    """Return the numbers of what a while's body makes that decides when it ends."""
    body = equation.bodies[1]
    carry = sorted(_carry_of_while(equation, set()))
    inner = _pruned(replace(body, outputs=_chosen(body.outputs, carry)))
    return {var.number for each in inner.equations for var in each.results}


def _chosen(items: tuple, which: Collection[int]) -> tuple:
    return tuple(items[n] for n in which)


# -- renaming and putting in place -----------------------------------------------------------------


def _put(body: Body, path: Path, new: Body) -> Body:
    if not path:
        return new
    (number, which), *rest = path
    equation = body.equations[number]
    inner = _put(equation.bodies[which], tuple(rest), new)
    bodies = (*equation.bodies[:which], inner, *equation.bodies[which + 1 :])
    changed = replace(equation, bodies=bodies)
    equations = (*body.equations[:number], changed, *body.equations[number + 1 :])
    return replace(body, equations=equations)


def _renamed(atom: Atom, bound: dict[int, Atom]) -> Atom:
    return atom if isinstance(atom, Scalar) else bound.get(atom.number, atom)


def _rename(equation: Equation, bound: dict[int, Atom]) -> Equation:
    return replace(
        equation,
        operands=tuple(_renamed(atom, bound) for atom in equation.operands),
        bodies=tuple(_rename_body(body, bound) for body in equation.bodies),
    )


def _rename_body(body: Body, bound: dict[int, Atom]) -> Body:
    if not bound:
        return body
    return replace(
        body,
        equations=tuple(_rename(each, bound) for each in body.equations),
        outputs=tuple(_renamed(atom, bound) for atom in body.outputs),
    )
