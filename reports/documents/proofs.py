"""Proofs of programs as a document: how many are proved, what may break, and where forms part."""

from __future__ import annotations

from collections.abc import Iterator

from reports.document import (
    Cell,
    Document,
    Items,
    Line,
    Section,
    Sections,
    Table,
    Tone,
    cells,
    columns,
)
from reports.rows.claims import ANSWERS, MEANINGS, Answer, Claim, Evaluated
from reports.rows.proofs import Proof, Proofs, ProvedProgram
from reports.views.texts import counted

TONES: dict[Answer, Tone] = {
    "refuted": "bad", "parted": "warn", "undecided": "warn", "failed": "warn", "proved": "good",
}  # fmt: skip


def document(proofs: Proofs) -> Document:
    """Make the document of proofs: every program that is not proved, then what may still break."""
    counts = tuple(
        (Cell(answer, tone=TONES[answer]), Cell(f"{count:,}"), Cell(MEANINGS[answer]))
        for answer in ANSWERS
        if (count := sum(each.answer == answer for each in proofs.programs))
    )
    return Document(
        question="Are both forms of each program one computation?",
        answer=proofs.headline,
        tone=_tone(proofs),
        lines=(
            f"The forms are {proofs.sides[0]} and {proofs.sides[1]}, on JAX "
            f"{proofs.environment.jax}. Nothing was compiled or called: a proof holds for all "
            "arguments, and says nothing of bits, which XLA decides",
        ),
        parts=(
            Table("Programs", columns(("answer", "programs", "what it says")), counts),
            Sections(tuple(map(_section, _told(proofs))), "programs"),
            Table(
                "Digests",
                columns(("program", "captures", *_DIGESTS)),
                tuple(map(_digests, proofs.programs)),
                what="programs",
                is_folded=True,
            ),
        ),
    )


def _tone(proofs: Proofs) -> Tone:
    answers = {each.answer for each in proofs.programs}
    if answers - {"proved"}:
        return next(TONES[each] for each in ANSWERS if each in answers)
    return "note" if any(each.may_break for each in proofs.programs) else "good"


def _told(proofs: Proofs) -> list[ProvedProgram]:
    told = [each for each in proofs.programs if is_told(each)]
    return sorted(told, key=lambda each: ANSWERS.index(each.answer))


def is_told(program: Proof) -> bool:
    """Say whether there is more to say of a program than that it is proved."""
    return program.answer != "proved" or program.may_break or bool(program.folded)


def state_of(program: Proof) -> str:
    """Say in a few words what a program comes to."""
    if program.answer != "proved":
        return program.answer
    parts = ["proved"]
    if program.folded:
        parts.append(f"folds {', '.join(dict.fromkeys(each.gist for each in program.folded))}")
    if program.may_break:
        parts.append("may still break")
    return ", ".join(parts)


def reasons_of(program: Proof) -> Iterator[str]:
    """Yield a sentence for each reason why a program is not proved, or may break all the same."""
    if program.failure:
        yield program.failure
    for claim in program.claims:
        if claim.answer != "proved":
            of = f"{claim.of} for {claim.platform}" if claim.platform else claim.of
            yield f"{of}: {claim.answer}: {reason_of(claim)}"
        if claim.evaluated is not None:
            yield f"{of}: {evaluated_to(claim.evaluated)}"
    for fold in program.folded:
        where = f" ({fold.file}:{fold.line})" if fold.file else ""
        yield f"XLA folds {fold.gist} before the flip alone, so bits may differ{where}"
    alike: dict[tuple[str, str, str], list[str]] = {}
    for hazard in program.hazards:
        where = f"{hazard.file}:{hazard.line}" if hazard.file else ""
        alike.setdefault((hazard.kind, hazard.what, hazard.fix), []).append(where)
    for (kind, what, fix), places in alike.items():
        where = ", ".join(each for each in dict.fromkeys(places) if each)
        yield f"{kind}: {what}; {fix}" + (f" ({where})" if where else "")
    yield from program.reservations


def reason_of(claim: Claim) -> str:
    """Say why a claim is not proved, with the place where the forms part."""
    place = claim.place
    if place is None:
        return claim.reason
    where = f"{place.file}:{place.line}: " if place.file else ""
    before, after = place.before or "nothing in its place", place.after or "nothing in its place"
    return f"{where}{before} before the flip, {after} after it"


def evaluated_to(found: Evaluated) -> str:
    """Say what the reference interpreter made of both modules, or why it made nothing of them."""
    if other := found.other:
        index = f"[{', '.join(map(str, other.index))}] of " if other.index else ""
        more = f", the first of {other.elements:,} that differ" if other.elements > 1 else ""
        return (
            f"the reference interpreter gives other bits on {other.inputs}: {other.before} before "
            f"the flip and {other.after} after it, at {index}result{other.result}{more}"
        )
    said = []
    if found.equal_on:
        inputs = f"{counted(len(found.equal_on), 'input')} ({', '.join(found.equal_on)})"
        said.append(
            "the reference interpreter gives the same bits, up to NaNs and signs of zeros, on "
            f"{inputs}; this proves nothing of others"
        )
    if found.why_not:
        said.append(f"not evaluated{' on more' if said else ''}: {found.why_not}")
    return "; ".join(said)


def place_of(program: ProvedProgram) -> tuple[str, int]:
    """Return the line where the forms of a program part, or the one that declares it."""
    places = [each.place for each in program.claims if each.place is not None]
    for place in places:
        if place.file:
            return place.file, place.line
    file, _, line = program.source.rpartition(":")
    return (file, int(line)) if file and line.isdecimal() else (program.source, 0)


def _section(program: ProvedProgram) -> Section:
    tone = TONES[program.answer] if program.answer != "proved" else "note"
    lines = tuple(map(Line, reasons_of(program)))
    return Section(program.name, (Items(lines),), state=state_of(program), tone=tone)


_DIGESTS = ("jaxpr before", "jaxpr after", "module before", "module after")


def _digests(program: ProvedProgram) -> tuple[Cell, ...]:
    here = [each for each in program.claims if not each.platform]
    by_kind = {each.of: (each.before, each.after) for each in here}
    jaxpr, module = by_kind.get("jaxpr", ("", "")), by_kind.get("module", ("", ""))
    return cells(program.name, str(program.captured), *jaxpr, *module)
