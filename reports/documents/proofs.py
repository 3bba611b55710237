"""Proofs of programs as a document: how many are proved, what may break, and where forms part."""

from __future__ import annotations

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
from reports.rows.claims import ANSWERS, MEANINGS, Answer
from reports.rows.proofs import ProgramProof, Proofs, ProvedProgram, reasons_of

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


def is_told(program: ProgramProof) -> bool:
    """Say whether there is more to say of a program than that it is proved."""
    return program.answer != "proved" or program.may_break or bool(program.folded)


def state_of(program: ProgramProof) -> str:
    """Say in a few words what a program comes to."""
    if program.answer != "proved":
        return program.answer
    parts = ["proved in part" if program.reservations else "proved"]
    if program.folded:
        parts.append(f"folds {', '.join(dict.fromkeys(each.gist for each in program.folded))}")
    if program.hazards:
        parts.append("may still break")
    return ", ".join(parts)


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
